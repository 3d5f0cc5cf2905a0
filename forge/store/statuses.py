"""Commit statuses, the older kind of check."""

from dataclasses import dataclass, field

from forge.errors import UnprocessableError
from forge.store.base import Part
from forge.store.models import CommitStatus, Repo, User

STATES = ("error", "failure", "pending", "success")  # docs.github.com/rest/commits/statuses
MAX_DESCRIPTION_CHARACTERS = 140  # the API's message: "description is too long (maximum is 140 characters)"


@dataclass(eq=False)
class Statuses(Part):
    """Every commit status; none is ever changed, a newer one of the context takes its place."""

    _all: list[CommitStatus] = field(default_factory=list)

    def create(
        self,
        repo: Repo,
        sha: str,
        context: str,
        state: str,
        *,
        actor: User,
        description: str | None = None,
        target_url: str | None = None,
    ) -> CommitStatus:
        """Return a new status; raises UnprocessableError over a limit or for an unknown commit."""
        if state not in STATES:
            raise UnprocessableError.on_field("Status", "state", "invalid")
        if len(description or "") > MAX_DESCRIPTION_CHARACTERS:
            raise UnprocessableError.on_field("Status", "description", "invalid")
        if self.store.repos.git(repo).resolve(sha) != sha:
            raise UnprocessableError(f"No commit found for SHA: {sha}")
        now, ids = self.store.clock.now(), self.store.identifiers.pair("status")
        made = CommitStatus(*ids, repo, sha, context, state, description, target_url, actor, now)
        self._all.append(made)
        self.store.emit("status", None, actor, repo, status=made)
        self.store.merges.reconsider(repo, sha)
        return made

    def on_commit(self, repo: Repo, sha: str) -> list[CommitStatus]:
        """Return the newest status of each context of a commit, newest first."""
        newest: dict[str, CommitStatus] = {}
        for one in reversed(self._all):
            if one.repo is repo and one.sha == sha:
                newest.setdefault(one.context, one)
        return list(newest.values())
