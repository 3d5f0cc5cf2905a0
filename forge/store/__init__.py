"""State of the forge: everything in memory behind one lock, git on disk."""

from collections.abc import Callable, Mapping
from pathlib import Path
from threading import RLock
from typing import Any

from forge.clock import Clock
from forge.store.apps import Access, Apps
from forge.store.authorizations import Authorizations
from forge.store.base import Identifiers, Occurrence
from forge.store.checks import Checks, Statuses
from forge.store.deliveries import Deliveries
from forge.store.faults import Faults
from forge.store.issues import Issues, Links
from forge.store.manifests import Manifests
from forge.store.merges import Groups, Merges
from forge.store.models import Repo, User, UserType
from forge.store.projects import Projects
from forge.store.pulls import Pulls
from forge.store.repos import Repos
from forge.store.reviews import Reviews
from forge.store.settings import Settings
from forge.store.users import Users


class Store:
    """Everything that the forge knows; its parts hold the rules. Git repositories are under `root`/git.

    It can be pickled. A copy has a lock and a clock of its own and no listeners; its `root` is to be set.
    """

    def __init__(self, root: Path, clock: Clock | None = None) -> None:
        self.root = root
        self.clock = clock or Clock()
        self.lock = RLock()
        self.identifiers = Identifiers()
        self.settings = Settings()
        self.faults = Faults()
        self.nodes: dict[str, Any] = {}
        self.mergeability: dict[tuple[int, str, str], bool] = {}
        self.listeners: list[Callable[[Occurrence], None]] = []
        self.base_url = "http://127.0.0.1"
        self.users = Users(self)
        self.repos = Repos(self)
        self.issues = Issues(self)
        self.links = Links(self)
        self.pulls = Pulls(self)
        self.merges = Merges(self)
        self.groups = Groups(self)
        self.reviews = Reviews(self)
        self.checks = Checks(self)
        self.statuses = Statuses(self)
        self.projects = Projects(self)
        self.apps = Apps(self)
        self.authorizations = Authorizations(self)
        self.manifests = Manifests(self)
        self.access = Access(self)
        self.deliveries = Deliveries(self)

    def __getstate__(self) -> dict[str, Any]:
        own = {"root", "clock", "lock", "listeners"}
        return {name: value for name, value in vars(self).items() if name not in own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, lock=RLock(), clock=Clock(), listeners=[])

    def emit(
        self,
        event: str,
        action: str | None,
        actor: User,
        repo: Repo | None = None,
        *,
        organization: User | None = None,
        plain: Mapping[str, Any] | None = None,
        **subjects: Any,
    ) -> None:
        """Pass an occurrence to the listeners; they see the state after it."""
        if organization is None and repo is not None and repo.owner.type is UserType.ORGANIZATION:
            organization = repo.owner
        occurrence = Occurrence(
            event=event,
            action=action,
            actor=actor,
            repo=repo,
            organization=organization,
            subjects=subjects,
            plain=plain or {},
        )
        with self.lock:
            for listener in self.listeners:
                listener(occurrence)

    def automation(self) -> User:
        """Return the bot that acts for a project's built-in automations."""
        return self.users.bot("github-project-automation[bot]")
