"""Workflows in files of their own beside the policy file, read as strictly."""

from collections.abc import Iterable, Iterator

from pydantic import TypeAdapter, ValidationError

from ledger.events.policy import WorkflowFile
from rules.errors import PolicyError
from rules.policy.board import BoardRules
from rules.policy.locations import PATH, WORKFLOWS_FOLDER
from rules.policy.messages import cap, sentences
from rules.policy.stages import Workflow, WorkflowName
from rules.policy.validate import workflow_problems
from rules.policy.yaml_reader import Written, read
from rules.text import plain

MAX_FILES = 50
SUFFIX = ".yml"
_NAME: TypeAdapter[str] = TypeAdapter(WorkflowName)


def add_workflows(board: BoardRules, files: Iterable[WorkflowFile]) -> BoardRules:
    """Return the rules with the workflows of the files. Raises PolicyError, each sentence with its file."""
    workflows, written, problems = dict(board.workflows), dict[str, Written](), list[str]()
    for file in files:
        try:
            if file.name in board.workflows:
                said = f"{PATH} has a workflow of that name as well: remove it there, or remove this file"
                raise PolicyError((said,))
            workflows[file.name], written[file.name] = _read(file)
        except PolicyError as error:
            problems += _place(file.name, error.problems)
    if len(workflows) > MAX_FILES:
        problems.append(f"{WORKFLOWS_FOLDER}: a board has at most {MAX_FILES} workflows: remove some")
    whole = board.model_copy(update={"workflows": workflows})
    for name, tree in written.items():
        problems += _place(name, workflow_problems(whole, workflows[name], tree))
    if problems:
        raise PolicyError(cap(tuple(problems)))
    return whole


def _read(file: WorkflowFile) -> tuple[Workflow, Written]:
    try:
        _NAME.validate_python(file.name)
    except ValidationError as error:
        said = "rename it: a workflow's name has up to 40 small letters, digits and dashes, and is not `none`"
        raise PolicyError((said,)) from error
    tree = read(file.text, first="stages:")
    try:
        return Workflow.model_validate(tree.tree), tree
    except ValidationError as error:
        raise PolicyError(sentences(error, Workflow, tree)) from error


def _place(name: str, problems: Iterable[str]) -> Iterator[str]:
    """Yield the sentences with the file that each is about."""
    return (f"{WORKFLOWS_FOLDER}/{plain(name, 60)}{SUFFIX}: {problem}" for problem in problems)
