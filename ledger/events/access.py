"""Cardinal's access to GitHub: lost and regained, and repositories under another name."""

from dataclasses import dataclass

from ledger.events.board import BoardEvent


@dataclass(frozen=True, slots=True)
class AccessLost(BoardEvent):
    """Cardinal cannot work there any more. `target`: an organisation, or a repository as owner/name.

    `reason`: uninstalled, suspended, core_permissions, permissions (without which only some things wait),
    archived or removed; `detail` names the permissions.
    """

    target: str
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class AccessRegained(BoardEvent):
    """Cardinal can work there again."""

    target: str


@dataclass(frozen=True, slots=True)
class RepositoryMoved(BoardEvent):
    """A repository was renamed, or transferred to another owner; both are owner/name."""

    before: str
    after: str
