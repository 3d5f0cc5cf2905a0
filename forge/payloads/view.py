"""What every builder of an answer needs: the state and the host that the reader asked."""

from dataclasses import dataclass
from typing import Any

from forge.store import Store
from forge.store.models import Issue, Repo, User, UserType

Json = dict[str, Any]


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
            return self.html(f"/apps/{user.login.removesuffix('[bot]')}")
        return self.html(f"/{user.login}")

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
