"""Changes of the policy file."""

import hashlib
from dataclasses import dataclass

from ledger.events.board import BoardEvent


@dataclass(frozen=True, slots=True)
class WorkflowFile:
    """A file of the board's home with one workflow, which has the file's `name` without its `.yml`."""

    name: str
    text: str


def digest_of_policy(text: str, workflows: tuple[WorkflowFile, ...]) -> str:
    """Return the SHA-256 of a policy file and the workflows beside it; without any, of the file alone."""
    whole = hashlib.sha256(text.encode())
    for file in workflows:
        whole.update(f"\0{file.name}\0{file.text}".encode("utf-8", "replace"))
    return whole.hexdigest()


@dataclass(frozen=True, slots=True)
class PolicyLoaded(BoardEvent):
    """A policy is in force; `text` is the file, empty for the built-in default; `commit` names where from.

    `workflows` are in files of their own beside it; `digest` is of them all.
    """

    digest: str
    text: str
    commit: str
    workflows: tuple[WorkflowFile, ...] = ()


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A setting that another policy has otherwise, with both values in words; `column` is empty for one that
    is no column's.
    """

    column: str
    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """The effect of a drag into `column` now, and by another policy; empty where the policy has no such
    column. `cards` stand there.
    """

    column: str
    before: str
    after: str
    cards: int


@dataclass(frozen=True, slots=True)
class PolicyProposed(BoardEvent):
    """A branch has another policy file at `commit`: its problems, or the columns and settings that it would
    change, and the number of settings that are not named.
    """

    digest: str
    commit: str
    problems: tuple[str, ...]
    changes: tuple[ColumnChange, ...]
    settings: tuple[SettingChange, ...] = ()
    more_settings: int = 0


@dataclass(frozen=True, slots=True)
class PolicyRejected(BoardEvent):
    """The file is not a policy; the last good one stays in force."""

    digest: str
    commit: str
    problems: tuple[str, ...]
