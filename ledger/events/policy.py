"""Changes of the policy file."""

from dataclasses import dataclass

from ledger.events.board import BoardEvent


@dataclass(frozen=True, slots=True)
class PolicyLoaded(BoardEvent):
    """A policy is in force; `text` is the file, empty for the built-in default; `commit` names where from."""

    digest: str
    text: str
    commit: str


@dataclass(frozen=True, slots=True)
class PolicyRejected(BoardEvent):
    """The file is not a policy; the last good one stays in force."""

    digest: str
    commit: str
    problems: tuple[str, ...]
