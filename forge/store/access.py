"""What changes an App's access: installations suspended or cut down, repositories moved or shut."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from forge.store.base import Part, exclusive
from forge.store.models import Repo, User
from forge.store.registration import Installation

if TYPE_CHECKING:
    from forge.store import Store


class Access(Part):
    """The deeds of an organisation's owners, each announced as GitHub does.

    Source: docs.github.com/webhooks/webhook-events-and-payloads (installation, installation_repositories,
    repository).
    """

    def __init__(self, store: "Store") -> None:
        super().__init__(store)

    def repositories(self, installation: Installation) -> list[Repo]:
        """Return the repositories that an installation reaches."""
        mine = [repo for repo in self.store.repos.all() if repo.owner is installation.account]
        return [repo for repo in mine if installation.repo_ids is None or repo.id in installation.repo_ids]

    @exclusive
    def suspend(self, installation: Installation, *, actor: User) -> None:
        """Switch an installation off; what happens from then on is not told."""
        installation.suspended_at, installation.suspended_by = self.store.clock.now(), actor
        self._announce(installation, "suspend", actor)

    @exclusive
    def unsuspend(self, installation: Installation, *, actor: User) -> None:
        """Switch an installation on again."""
        installation.suspended_at = installation.suspended_by = None
        self._announce(installation, "unsuspend", actor)

    @exclusive
    def accept(self, installation: Installation, *, actor: User) -> None:
        """Grant what the App asks for by now."""
        installation.permissions = dict(installation.app.permissions)
        installation.events = list(installation.app.events)
        self._announce(installation, "new_permissions_accepted", actor)

    @exclusive
    def choose(self, installation: Installation, repos: Collection[Repo], *, actor: User) -> None:
        """Let an installation reach these repositories only."""
        before = {repo.id: repo for repo in self.repositories(installation)}
        installation.repo_ids = {repo.id for repo in repos}
        after = {repo.id: repo for repo in self.repositories(installation)}
        added = [repo for number, repo in after.items() if number not in before]
        removed = [repo for number, repo in before.items() if number not in after]
        for action, found in (("added", added), ("removed", removed)):
            if found:
                self.store.emit(
                    "installation_repositories",
                    action,
                    actor,
                    None,
                    organization=installation.account,
                    installation=installation,
                    plain={"repository_selection": "selected", "requester": None},
                    repositories_added=added if action == "added" else [],
                    repositories_removed=removed if action == "removed" else [],
                )

    @exclusive
    def archive(self, repo: Repo, archived: bool, *, actor: User) -> None:
        """Make a repository read-only, or take that back."""
        repo.archived = archived
        self.store.emit("repository", "archived" if archived else "unarchived", actor, repo)

    @exclusive
    def set_private(self, repo: Repo, private: bool, *, actor: User) -> None:
        """Hide a repository from everybody without a role, or show it."""
        repo.private = private
        self.store.emit("repository", "privatized" if private else "publicized", actor, repo)

    @exclusive
    def rename(self, repo: Repo, name: str, *, actor: User) -> None:
        """Give a repository another name."""
        before = repo.name
        self.store.repos.move(repo, repo.owner, name)
        changes = {"repository": {"name": {"from": before}}}
        self.store.emit("repository", "renamed", actor, repo, plain={"changes": changes})

    @exclusive
    def transfer(self, repo: Repo, owner: User, *, actor: User) -> None:
        """Give a repository to somebody else; those who lose it hear of it as well."""
        before = repo.owner
        self.store.repos.move(repo, owner, repo.name)
        self.store.emit("repository", "transferred", actor, repo, organization=before, former_owner=before)

    def _announce(self, installation: Installation, action: str, actor: User) -> None:
        self.store.emit(
            "installation",
            action,
            actor,
            None,
            organization=installation.account,
            installation=installation,
        )
