"""The modes of runs, which say what the agent gets to work on and what becomes of it; names of workspaces."""

import re
from hashlib import sha256

FIX = "fix"  # a clone of the repository; the work ends in a pull request
INVESTIGATE = "investigate"  # a clone that is only read; the run ends with findings
SCRATCH = "scratch"  # a place that is empty at first; report and files are the result
FOLDER = "folder"  # files that outlive the card; report and files are the result
PLACES = (SCRATCH, FOLDER)  # without a repository: no branch, no pull request, no CI

SCRATCH_BEGINS = "scratch/"  # the name of files that belong to one card, or one rerun, as in RunQueued.folder
LOOK = "look-"  # begins the name of the workspace in which a card is investigated
_PREFIX = re.compile(rf"{LOOK}|scratch-|folder-[0-9a-f]{{8}}-")


def workspace_name(mode: str, card_id: str, folder: str) -> str:
    """Return the name of the card's workspace for such a run; `folder` as in RunQueued.

    What is kept for one mode or folder never comes into another's.
    """
    if mode == INVESTIGATE:
        return f"{LOOK}{card_id}"
    if mode == SCRATCH:
        return f"scratch-{card_id}"
    return f"folder-{sha256(folder.encode()).hexdigest()[:8]}-{card_id}" if mode == FOLDER else card_id


def key_of_folder(board_id: str, repository: str, name: str) -> str:
    """Return the name of a folder in the ledger; of the whole board with an empty `repository`."""
    return f"{board_id}:{repository}:{name}"


def parts_of_folder(key: str) -> tuple[str, str, str]:
    """Return board, repository and name, as `key_of_folder` took them."""
    board_id, repository, name = key.split(":", 2)
    return board_id, repository, name


def card_of_workspace(name: str) -> str:
    """Return the id of the card that the workspace is of."""
    return _PREFIX.sub("", name, count=1) if _PREFIX.match(name) else name
