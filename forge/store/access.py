"""Changes of an App's access: installations suspended or narrowed, repositories moved, hidden, archived."""

from collections.abc import Collection

from forge.store.base import Part
from forge.store.models import Repo, User
from forge.store.registration import Installation


class Access(Part):
    """Acts of an organisation's owners, each announced as GitHub does.

    Source: docs.github.com/webhooks/webhook-events-and-payloads (installation, installation_repositories,
    repository).
    """

    def repositories(self, installation: Installation) -> list[Repo]:
        """Return the repositories that an installation reaches."""
        mine = [repo for repo in self.store.repos.all() if repo.owner is installation.account]
        return [repo for repo in mine if installation.repo_ids is None or repo.id in installation.repo_ids]

    def suspend(self, installation: Installation, *, actor: User) -> None:
        """Switch an installation off; it gets no further deliveries."""
        installation.suspended_at, installation.suspended_by = self.store.clock.now(), actor
        self.announce(installation, "suspend", actor)

    def unsuspend(self, installation: Installation, *, actor: User) -> None:
        """Switch an installation on again."""
        installation.suspended_at = installation.suspended_by = None
        self.announce(installation, "unsuspend", actor)

    def accept(self, installation: Installation, *, actor: User) -> None:
        """Grant the permissions and events that the App asks for now."""
        installation.permissions = dict(installation.app.permissions)
        installation.events = list(installation.app.events)
        self.announce(installation, "new_permissions_accepted", actor)

    def choose(self, installation: Installation, repos: Collection[Repo], *, actor: User) -> None:
        """Let an installation reach these repositories only."""
        before = {repo.id: repo for repo in self.repositories(installation)}
        installation.repo_ids = {repo.id for repo in repos}
        after = {repo.id: repo for repo in self.repositories(installation)}
        added = [repo for number, repo in after.items() if number not in before]
        removed = [repo for number, repo in before.items() if number not in after]
        for action, repositories in (("added", added), ("removed", removed)):
            if repositories:
                self.store.emit(
                    "installation_repositories",
                    action,
                    actor,
                    organization=installation.account,
                    installation=installation,
                    plain={"repository_selection": "selected", "requester": None},
                    repositories_added=added if action == "added" else [],
                    repositories_removed=removed if action == "removed" else [],
                )

    def archive(self, repo: Repo, archived: bool, *, actor: User) -> None:
        """Make a repository read-only, or take that back."""
        repo.archived = archived
        self.store.emit("repository", "archived" if archived else "unarchived", actor, repo)

    def set_private(self, repo: Repo, private: bool, *, actor: User) -> None:
        """Hide a repository from everybody without a role, or show it."""
        repo.private = private
        self.store.emit("repository", "privatized" if private else "publicized", actor, repo)

    def rename(self, repo: Repo, name: str, *, actor: User) -> None:
        """Give a repository another name."""
        before = repo.name
        self.store.repos.move(repo, repo.owner, name)
        changes = {"repository": {"name": {"from": before}}}
        self.store.emit("repository", "renamed", actor, repo, plain={"changes": changes})

    def transfer(self, repo: Repo, owner: User, *, actor: User) -> None:
        """Give a repository to somebody else; the former owner's Apps are notified as well."""
        before = repo.owner
        self.store.repos.move(repo, owner, repo.name)
        self.store.emit("repository", "transferred", actor, repo, organization=before, former_owner=before)

    def announce(self, installation: Installation, action: str, actor: User) -> None:
        """Announce a change of an installation."""
        self.store.emit(
            "installation", action, actor, organization=installation.account, installation=installation
        )
