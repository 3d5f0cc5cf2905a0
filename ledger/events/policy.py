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
