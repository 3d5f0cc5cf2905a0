"""Merges by GitHub itself, through its queue or once the checks pass, and their cancellation."""

from collections.abc import Mapping
from dataclasses import dataclass

from bot.github.api import project_queries
from bot.github.client import Hub, repository_path
from bot.github.errors import ConflictError, NotFoundError, PermissionMissingError

QUEUE, AUTO = "queue", "auto"
ENQUEUES = "contents: write, pull_requests: write and merge_queues: write"
# GitHub's words in a refusal for a required check that has not ended yet.
RUNNING = ("expected", "in progress", "pending", "waiting", "queued")


@dataclass(frozen=True, slots=True)
class Merging:
    """A pull request's merge by GitHub. `state`: open, closed or merged."""

    state: str
    head: str
    queued: bool
    auto: bool
    has_queue: bool
    allows_auto: bool


def read(hub: Hub, pull_id: str) -> Merging:
    """Return the merge state of the pull request with that node id; raises NotFoundError if it is gone."""
    pull = hub.graphql(project_queries.MERGING, {"pull": pull_id}).get("node")
    if not pull:
        raise NotFoundError("the pull request", 200, "no such pull request")
    return Merging(
        state=pull["state"].lower(),
        head=pull["headRefOid"],
        queued=bool(pull["isInMergeQueue"]),
        auto=bool(pull["autoMergeRequest"]),
        has_queue=bool(pull["isMergeQueueEnabled"]),
        allows_auto=bool(pull["repository"]["autoMergeAllowed"]),
    )


def wait(
    hub: Hub,
    repository: str,
    pull_id: str,
    *,
    method: str,
    head: str,
    words: Mapping[str, str],
    refused: str,
    deploys: bool = False,
) -> str:
    """Let GitHub merge at `head` by itself and return how: queue or auto; empty if it cannot.

    `refused` is the reason against a merge now; `deploys`: it is a deployment that is awaited. A pull request
    that waits already stays so. Raises ConflictError if the head moved, NotYetError if it can be merged
    after all.
    """
    try:
        merging = read(hub, pull_id)
    except NotFoundError:
        return ""
    if merging.state == "open" and merging.head != head:
        raise ConflictError("merge", 409, "the head has moved")
    if merging.queued or merging.auto:
        return QUEUE if merging.queued else AUTO
    running = deploys or _is_running(hub, repository, head, refused)
    if merging.has_queue and not running:
        try:
            hub.graphql(project_queries.ENQUEUE_PULL, {"pull": pull_id, "head": head})
        except PermissionMissingError as error:
            because = f"{error.because}; a merge queue takes pull requests from an App with {ENQUEUES}"
            raise PermissionMissingError(error.call, error.status, because) from error
        return QUEUE
    if not (merging.allows_auto and running):
        return ""
    message = {"title": words.get("commit_title"), "text": words.get("commit_message")}
    variables = {"pull": pull_id, "head": head, "method": method.upper(), **message}
    hub.graphql(project_queries.ENABLE_AUTO_MERGE, variables)
    return AUTO


def _is_running(hub: Hub, repository: str, head: str, refused: str) -> bool:
    """Tell whether the merge is refused for checks that have not ended; a failed one needs a person.

    Source: docs.github.com/rest/checks/runs#list-check-runs-for-a-git-reference.
    """
    said = refused.lower()
    if "check" not in said or not any(word in said for word in RUNNING):
        return False
    path = f"{repository_path(repository)}/commits/{head}/check-runs"
    runs = hub.rest("GET", path, params={"per_page": 100}).body["check_runs"]
    return all(run["conclusion"] not in ("failure", "timed_out", "cancelled") for run in runs)


def cancel(hub: Hub, pull_id: str) -> None:
    """Cancel the merge by GitHub itself; a pull request that does not wait needs nothing."""
    merging = read(hub, pull_id)
    if merging.queued:
        hub.graphql(project_queries.DEQUEUE_PULL, {"pull": pull_id})
    if merging.auto:
        hub.graphql(project_queries.DISABLE_AUTO_MERGE, {"pull": pull_id})
