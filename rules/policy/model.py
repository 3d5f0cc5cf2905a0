"""The policy of a board: `.github/cardinal.yml` read strictly, and the board that applies without a file."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Literal

from pydantic import Field, TypeAdapter, ValidationError

from ledger.events.policy import WorkflowFile
from ledger.model.column_names import same_column
from ledger.model.policy_settings import PolicyModel, setting
from rules.errors import PolicyError
from rules.policy.board import BoardLimits, BoardRules
from rules.policy.column import ColumnPolicy
from rules.policy.locations import PATH, WORKFLOWS_FOLDER
from rules.policy.messages import cap, locate, sentences
from rules.policy.repository import RepositoryRules
from rules.policy.stages import Workflow, WorkflowName
from rules.policy.validate import (
    Installed,
    Names,
    board_problems,
    repository_problems,
    tool_problems,
    workflow_problems,
)
from rules.policy.yaml_reader import Written, read
from rules.registry import ARCHETYPES, UNNAMED, Archetype
from rules.text import plain

MAX_WORKFLOWS = 50
WORKFLOW_SUFFIX = ".yml"
_NAME: TypeAdapter[str] = TypeAdapter(WorkflowName)
DEFAULT_TEXT = """\
version: 1
board:
  columns:
    Tasks: {archetype: inbox}
    Planning:
      archetype: planning
      model: small
      instructions: Drive to clear acceptance criteria and a bounded scope.
    In Progress: {archetype: execution}
    Review: {archetype: review}
    QA: {archetype: review, on_entry: [{action: ready}]}
    Done: {archetype: terminal, on_entry: [{action: merge, method: squash}, {action: delete_branch}]}
"""


class Policy(PolicyModel):
    """A whole policy file."""

    version: Literal[1] = Field(description="The version of this format: 1.")
    board: BoardRules = Field(description="Columns, limits and roles; read from the board's home repository.")
    repository: RepositoryRules = setting(
        RepositoryRules(), "Set-up, checks and guardrails; read from each card's repository."
    )

    def column(self, name: str | None) -> ColumnPolicy | None:
        """Return the column's rules; its name may differ in case, spaces and emoji. None: it has none."""
        if name is None:
            return None
        exact = self.board.columns.get(name)
        alike = (column for key, column in self.board.columns.items() if same_column(key, name))
        return exact or next(alike, None)

    def archetype(self, name: str | None) -> Archetype:
        """Return the column's archetype; a column that the policy does not name is like an inbox."""
        column = self.column(name)
        return ARCHETYPES.load(column.archetype if column else UNNAMED)

    @property
    def limits(self) -> BoardLimits:
        return self.board.limits


class RepositoryFile(PolicyModel):
    """A policy file as a card's own repository may have it: `board:` may be absent."""

    version: Literal[1]
    board: BoardRules | None = None
    repository: RepositoryRules = Field(default=RepositoryRules())


def parse(
    text: str,
    *,
    home: str | None,
    installed: Installed | None = None,
    profiles: Names | None = None,
    workflows: tuple[WorkflowFile, ...] | None = (),
) -> Policy:
    """Return the policy in `text`, the file of the repository `home`; without `board:` the default applies.

    `profiles` are those that the repository has of its own, `workflows` its files of them. None: unknown.

    Raises PolicyError with one sentence for each problem.
    """
    parsed = _read(text, installed, profiles, workflows)
    board = parsed.board or _add_workflows(default_policy(home or "").board, workflows or ())
    if home and board.home is not None and board.home.lower() != home.lower():
        raise PolicyError((f"board.home: is {board.home}, but this file is in {home}: remove the key",))
    return Policy(
        version=1, board=board.model_copy(update={"home": home or board.home}), repository=parsed.repository
    )


def parse_repository(
    text: str, profiles: Names | None = None, *, guards: Names | None = None
) -> RepositoryRules:
    """Return the `repository:` part of a card's own repository; PolicyError when the file is not valid.

    `guards` are those that are installed; `profiles` as for `parse`.
    """
    return _read(text, Installed(guards=guards), profiles, None).repository


def default_policy(home: str) -> Policy:
    """Return the six-column board that applies without a file."""
    return parse(DEFAULT_TEXT, home=home)


def _read(
    text: str,
    installed: Installed | None,
    profiles: Names | None,
    workflows: tuple[WorkflowFile, ...] | None,
) -> RepositoryFile:
    written = read(text)
    try:
        parsed = RepositoryFile.model_validate(written.tree)
    except ValidationError as error:
        raise PolicyError(cap(sentences(error, RepositoryFile, written))) from error
    installed = replace(installed or Installed(), all_workflows=workflows is not None)
    if parsed.board is not None and workflows:
        parsed = parsed.model_copy(update={"board": _add_workflows(parsed.board, workflows)})
    problems = _cross_checks(parsed, written, installed, profiles)
    if problems:
        raise PolicyError(cap(problems))
    if parsed.board is None:
        return parsed
    return parsed.model_copy(update={"board": parsed.board.with_workflows()})


def _add_workflows(board: BoardRules, files: Iterable[WorkflowFile]) -> BoardRules:
    """Return the rules with the workflows of the files. Raises PolicyError, each sentence with its file."""
    workflows, written, problems = dict(board.workflows), dict[str, Written](), list[str]()
    for file in files:
        try:
            if file.name in board.workflows:
                said = f"{PATH} has a workflow of that name as well: remove it there, or remove this file"
                raise PolicyError((said,))
            workflows[file.name], written[file.name] = _read_workflow(file)
        except PolicyError as error:
            problems += _place_in_file(file.name, error.problems)
    if len(workflows) > MAX_WORKFLOWS:
        problems.append(f"{WORKFLOWS_FOLDER}: a board has at most {MAX_WORKFLOWS} workflows: remove some")
    whole = board.model_copy(update={"workflows": workflows})
    for name, tree in written.items():
        problems += _place_in_file(name, workflow_problems(whole, workflows[name], tree))
    if problems:
        raise PolicyError(cap(tuple(problems)))
    return whole


def _read_workflow(file: WorkflowFile) -> tuple[Workflow, Written]:
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


def _place_in_file(name: str, problems: Iterable[str]) -> Iterator[str]:
    """Yield the sentences with the file that each is about."""
    return (f"{WORKFLOWS_FOLDER}/{plain(name, 60)}{WORKFLOW_SUFFIX}: {problem}" for problem in problems)


def _cross_checks(
    parsed: RepositoryFile, written: Written, installed: Installed, profiles: Names | None
) -> tuple[str, ...]:
    if "board" in written.tree and parsed.board is None:
        return (locate(written, ("board",), "is empty: name its columns, or remove the key"),)
    of_board = tuple(board_problems(parsed.board, written, installed)) if parsed.board else ()
    of_tools = tuple(tool_problems(parsed.board, parsed.repository, written)) if parsed.board else ()
    return (*of_board, *of_tools, *repository_problems(parsed.repository, written, installed, profiles))


def agents_of(policy: Policy) -> dict[str, set[str]]:
    """Return the models by agent, of columns that start runs and of those with an assistant."""
    wanted: dict[str, set[str]] = {}
    for name in working_columns(policy):
        column = policy.board.columns[name]
        for choice in ("", *column.agents):
            played = column.played_by(choice, policy.board.specialists)
            wanted.setdefault(played.agent, set()).add(played.model)
    return wanted


def personas_of(policy: Policy) -> set[str]:
    """Return the personas of all stages and specialists."""
    board = policy.board
    staged = [column.stages for column in board.columns.values()]
    staged += [workflow.stages for workflow in board.workflows.values()]
    wanted = {stage.persona for stages in staged for stage in stages}
    return wanted | {it.persona for it in board.specialists.values() if it.persona}


def working_columns(policy: Policy) -> tuple[str, ...]:
    kinds = ((name, policy.archetype(name)) for name in policy.board.columns)
    return tuple(name for name, kind in kinds if kind.STARTS_RUNS or kind.HAS_ASSISTANT)
