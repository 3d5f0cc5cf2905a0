"""Shared by all builders of resources: the state, the addresses, plain attributes."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from forge.clock import rfc3339
from forge.store import Store
from forge.store.models import Issue, Repo, User, UserType

Json = dict[str, Any]


def plain(thing: Any) -> Any:
    """Return a value as JSON has it: a time as GitHub writes it, anything else as it is."""
    return rfc3339(thing) if isinstance(thing, datetime) else thing


def attributes(thing: Any, *names: str) -> Json:
    """Return attributes of a thing that have the same names in GitHub's resource."""
    return {name: plain(getattr(thing, name)) for name in names}


@dataclass(frozen=True, slots=True)
class View:
    """The state as seen through `base`, the forge's address without a trailing slash."""

    store: Store
    base: str

    def api(self, path: str) -> str:
        """Return the address of a REST resource."""
        return f"{self.base}/api/v3{path}"

    def html(self, path: str) -> str:
        """Return the address of a page for people."""
        return f"{self.base}{path}"

    def user_html(self, user: User) -> str:
        """Return the page of an account; a bot's is its App's."""
        if user.type is UserType.BOT:
            return self.app_html(user.login.removesuffix("[bot]"))
        return self.html(f"/{user.login}")

    def app_html(self, slug: str) -> str:
        """Return the page of an App."""
        return self.html(f"{self.store.settings.apps_path}/{slug}")

    def repo_api(self, repo: Repo, rest: str = "") -> str:
        """Return the REST address of a repository or of something in it."""
        return self.api(f"/repos/{repo.full_name}{rest}")

    def repo_html(self, repo: Repo, rest: str = "") -> str:
        """Return the page of a repository or of something in it."""
        return self.html(f"/{repo.full_name}{rest}")

    def issue_html(self, issue: Issue) -> str:
        """Return the page of an issue or a pull request."""
        return self.repo_html(issue.repo, f"/{'pull' if issue.pull else 'issues'}/{issue.number}")

    def association(self, repo: Repo, user: User) -> str:
        """Return GitHub's author_association of `user` with `repo`."""
        if user.login == repo.owner.login:
            return "OWNER"
        if user.login in repo.owner.members:
            return "MEMBER"
        return "COLLABORATOR" if user.login in repo.roles else "NONE"
