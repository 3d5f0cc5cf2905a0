"""Workflows in files of the board's home, as they stand there at one commit."""

from bot.github.client import Hub
from bot.repo_config.policy_file import NOT_TEXT
from bot.repo_config.skill_sources import Shelf, repository_shelf
from ledger.events.policy import WorkflowFile
from rules.policy.locations import WORKFLOWS_FOLDER
from rules.policy.model import MAX_WORKFLOWS, WORKFLOW_SUFFIX
from rules.policy.yaml_reader import MAX_BYTES


def read_workflows(hub: Hub, repository: str, commit: str) -> tuple[WorkflowFile, ...]:
    """Return the repository's workflow files at a commit. Raises a GithubError."""
    return list_workflows(repository_shelf(hub, repository, commit, WORKFLOWS_FOLDER, repository))


def list_workflows(shelf: Shelf) -> tuple[WorkflowFile, ...]:
    """Return the workflow files of a folder, by name; other files, folders and links are none.

    One that is too large, or no text, has a text that no policy may have.
    """
    files = (entry.name for entry in shelf.listing("") if entry.kind == "file")
    names = [name.removesuffix(WORKFLOW_SUFFIX) for name in files if name.endswith(WORKFLOW_SUFFIX)]
    return tuple(WorkflowFile(name, _read(shelf, name)) for name in names[: MAX_WORKFLOWS + 1])


def _read(shelf: Shelf, name: str) -> str:
    raw = shelf.read(f"{name}{WORKFLOW_SUFFIX}", MAX_BYTES)
    try:
        return NOT_TEXT if raw is None else raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return NOT_TEXT
