"""Check runs, their suites, commit statuses, and GitHub's limits on them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from forge.errors import NotFoundError, UnprocessableError
from forge.store.base import Part, existing
from forge.store.models import CheckRun, CommitStatus, Repo, User

# docs.github.com/rest/checks/runs
MAX_ACTIONS = 3
ACTION_LIMITS = {"label": 20, "description": 40, "identifier": 20}
MAX_TEXT_CHARACTERS = 65_535
MAX_ANNOTATIONS = 50
STATUSES = ("queued", "in_progress", "completed", "waiting", "requested", "pending")
CONCLUSIONS = (
    "action_required",
    "cancelled",
    "failure",
    "neutral",
    "success",
    "skipped",
    "stale",
    "timed_out",
)

STATUS_STATES = ("error", "failure", "pending", "success")  # docs.github.com/rest/commits/statuses
MAX_DESCRIPTION_CHARACTERS = 140  # the API's message: "description is too long (maximum is 140 characters)"


def newest(runs: Iterable[CheckRun]) -> list[CheckRun]:
    """Return the first run of each name and suite; `runs` come newest first. Each App has its own suites."""
    first_runs: dict[tuple[int, str], CheckRun] = {}
    for run in runs:
        first_runs.setdefault((run.suite_id, run.name), run)
    return list(first_runs.values())


@dataclass(eq=False)
class Checks(Part):
    """Every check run."""

    _runs: dict[int, CheckRun] = field(default_factory=dict)
    _suites: dict[tuple[int, str, str], int] = field(default_factory=dict)

    def create(
        self, repo: Repo, name: str, head_sha: str, changes: Mapping[str, Any], *, app_slug: str, actor: User
    ) -> CheckRun:
        """Return a new check run; raises UnprocessableError over a limit or for an unknown commit."""
        self._check(changes)
        if not name or self.store.repos.git(repo).resolve(head_sha) != head_sha:
            raise UnprocessableError(f"No commit found for SHA: {head_sha}")
        key = (repo.id, head_sha, app_slug)
        suite = self._suites.get(key) or self._suites.setdefault(
            key, self.store.identifiers.pair("check_suite")[0]
        )
        now = self.store.clock.now()
        run = self._new("check_run", CheckRun, suite, repo, app_slug, name, head_sha, now)
        self._runs[run.id] = run
        self._apply(run, changes)
        self.store.emit("check_run", "created", actor, repo, check_run=run)
        if run.status == "completed":
            self._complete(run, actor)
        return run

    def update(self, run: CheckRun, changes: Mapping[str, Any], *, actor: User) -> None:
        """Change a check run; announces when it becomes completed. Raises UnprocessableError over a limit."""
        self._check(changes)
        was = run.status
        self._apply(run, changes)
        if run.status == "completed" and was != "completed":
            self._complete(run, actor)

    def _complete(self, run: CheckRun, actor: User) -> None:
        """Announce that the check run ended, and its suite when it was the last one of it.

        Source: docs.github.com/webhooks/webhook-events-and-payloads#check_suite (completed).
        """
        self.store.emit("check_run", "completed", actor, run.repo, check_run=run)
        if all(other.status == "completed" for other in self.in_suite(run)):
            self.store.emit("check_suite", "completed", actor, run.repo, check_suite=run)
        self.store.merges.reconsider(run.repo, run.head_sha)

    def in_suite(self, run: CheckRun) -> list[CheckRun]:
        """Return the newest check run of each name in the suite of this one, newest first."""
        return newest(other for other in reversed(self._runs.values()) if other.suite_id == run.suite_id)

    def request(self, run: CheckRun, identifier: str, *, actor: User) -> None:
        """Press one of the check run's buttons; raises NotFoundError when it has no such button."""
        if identifier not in {action["identifier"] for action in run.actions}:
            raise NotFoundError()
        plain = {"requested_action": {"identifier": identifier}}
        self.store.emit("check_run", "requested_action", actor, run.repo, plain=plain, check_run=run)

    def get(self, repo: Repo, run_id: int) -> CheckRun:
        """Return the check run; raises NotFoundError."""
        run = existing(self._runs.get(run_id))
        if run.repo is not repo:
            raise NotFoundError()
        return run

    def all(self, repo: Repo) -> list[CheckRun]:
        """Return the check runs of a repository, newest first."""
        return [run for run in reversed(self._runs.values()) if run.repo is repo]

    def on_commit(self, repo: Repo, sha: str) -> list[CheckRun]:
        return [run for run in reversed(self._runs.values()) if run.repo is repo and run.head_sha == sha]

    def _apply(self, run: CheckRun, changes: Mapping[str, Any]) -> None:
        run.name = changes.get("name") or run.name
        run.conclusion = changes.get("conclusion") or run.conclusion
        run.status = changes.get("status") or ("completed" if changes.get("conclusion") else run.status)
        run.external_id = changes.get("external_id") or run.external_id
        run.details_url = changes.get("details_url") or run.details_url
        run.output = {**run.output, **(changes.get("output") or {})}
        run.actions = changes.get("actions", run.actions)
        if run.status == "completed":
            run.completed_at = run.completed_at or self.store.clock.now()
        else:
            run.completed_at, run.conclusion = None, None

    def _check(self, changes: Mapping[str, Any]) -> None:
        actions = changes.get("actions") or []
        faults = [f"actions: at most {MAX_ACTIONS} items"] if len(actions) > MAX_ACTIONS else []
        for action in actions:
            faults += [
                f"actions.{key}: is missing or longer than {limit} characters"
                for key, limit in ACTION_LIMITS.items()
                if not 0 < len(str(action.get(key, ""))) <= limit
            ]
        output = changes.get("output") or {}
        for key in ("summary", "text"):
            if len(output.get(key) or "") > MAX_TEXT_CHARACTERS:
                faults.append(f"output.{key}: only {MAX_TEXT_CHARACTERS} characters are allowed")
        if len(output.get("annotations") or []) > MAX_ANNOTATIONS:
            faults.append(f"output.annotations: at most {MAX_ANNOTATIONS} items")
        if not str(changes.get("details_url") or "https://").startswith(("https://", "http://")):
            faults.append("details_url: must be an address by http or https")
        if changes.get("status") not in (None, *STATUSES):
            faults.append("status: is not a known status")
        if changes.get("conclusion") not in (None, *CONCLUSIONS):
            faults.append("conclusion: is not a known conclusion")
        if changes.get("status") == "completed" and not changes.get("conclusion"):
            faults.append("conclusion: is required when the status is completed")
        if faults:
            raise UnprocessableError(f"Invalid request.\n\n{'; '.join(faults)}")


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
        if state not in STATUS_STATES:
            raise UnprocessableError.on_field("Status", "state", "invalid")
        if len(description or "") > MAX_DESCRIPTION_CHARACTERS:
            raise UnprocessableError.on_field("Status", "description", "invalid")
        if self.store.repos.git(repo).resolve(sha) != sha:
            raise UnprocessableError(f"No commit found for SHA: {sha}")
        now, ids = self.store.clock.now(), self.store.identifiers.pair("status")
        commit_status = CommitStatus(*ids, repo, sha, context, state, description, target_url, actor, now)
        self._all.append(commit_status)
        self.store.emit("status", None, actor, repo, status=commit_status)
        self.store.merges.reconsider(repo, sha)
        return commit_status

    def on_commit(self, repo: Repo, sha: str) -> list[CommitStatus]:
        """Return the newest status of each context of a commit, newest first."""
        newest: dict[str, CommitStatus] = {}
        for status in reversed(self._all):
            if status.repo is repo and status.sha == sha:
                newest.setdefault(status.context, status)
        return list(newest.values())
