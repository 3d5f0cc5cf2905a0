"""Automatic merging: auto-merge and the merge queue."""

from typing import Any

from forge.clock import rfc3339, rfc3339_or_none
from forge.graphql.resolving import Input, Resolvers
from forge.graphql.scope import Scope
from forge.rest.access import require, require_workflows
from forge.store.models import Pull, Role
from forge.store.pulls import MergeMethod

resolvers = Resolvers()
resolvers.presences("PullRequest", isCrossRepository="fork", isInMergeQueue="queued_at")


@resolvers.field("PullRequest.isMergeQueueEnabled")
def is_queue_enabled(source: Pull, _scope: Scope) -> bool:
    return source.base_ref in source.repo.merge_queues


@resolvers.field("PullRequest.autoMergeRequest")
def auto_merge_request(source: Pull, _scope: Scope) -> Any:
    """Return the settings of an auto-merge; `None` without one."""
    auto = source.auto_merge
    if auto is None:
        return None
    return {
        "commitBody": auto.message,
        "commitHeadline": auto.title,
        "enabledAt": rfc3339(auto.enabled_at),
        "enabledBy": auto.enabled_by,
        "mergeMethod": auto.merge_method.upper(),
        "pullRequest": source,
    }


def _writable(scope: Scope, node_id: str) -> Pull:
    pull = scope.node(node_id, Pull)
    scope.require(pull, "write", Role.WRITE)
    return pull


def _mergeable(scope: Scope, node_id: str) -> Pull:
    """Return a pull request that the caller's token may merge.

    Source: github.com/Generous-Corp/pulp: adding to a queue wants `contents` as well.
    """
    pull = _writable(scope, node_id)
    require(scope.store, scope.caller, pull.repo, "contents", "write", role=Role.WRITE)
    require_workflows(scope.caller, scope.store.pulls.paths(pull))
    return pull


@resolvers.mutation("enablePullRequestAutoMerge")
def enable_auto_merge(scope: Scope, given: Input) -> Input:
    """Merge a pull request once no rule forbids it."""
    pull = _mergeable(scope, given["pullRequestId"])
    scope.store.merges.enable_auto(
        pull,
        MergeMethod(given["mergeMethod"].lower()),
        actor=scope.actor,
        head=given.get("expectedHeadOid"),
        title=given.get("commitHeadline"),
        message=given.get("commitBody"),
    )
    return {"pullRequest": pull, "actor": scope.actor}


@resolvers.mutation("disablePullRequestAutoMerge")
def disable_auto_merge(scope: Scope, given: Input) -> Input:
    pull = _writable(scope, given["pullRequestId"])
    scope.store.merges.disable_auto(pull, actor=scope.actor)
    return {"pullRequest": pull, "actor": scope.actor}


@resolvers.mutation("enqueuePullRequest")
def enqueue(scope: Scope, given: Input) -> Input:
    pull = _mergeable(scope, given["pullRequestId"])
    require(scope.store, scope.caller, pull.repo, "merge_queues", "write", role=Role.WRITE)
    scope.store.merges.enqueue(pull, actor=scope.actor, head=given.get("expectedHeadOid"))
    return {"mergeQueueEntry": _entry(scope, pull)}


@resolvers.mutation("dequeuePullRequest")
def dequeue(scope: Scope, given: Input) -> Input:
    pull = _writable(scope, given["id"])
    left = _entry(scope, pull)
    scope.store.merges.dequeue(pull, actor=scope.actor)
    return {"mergeQueueEntry": left}


def _entry(scope: Scope, pull: Pull) -> Any:
    waiting = [other for other in scope.store.pulls.all(pull.repo) if other.queued_at is not None]
    earlier = [
        other for other in waiting if pull.queued_at and other.queued_at and other.queued_at < pull.queued_at
    ]
    return {
        "__typename": "MergeQueueEntry",
        "id": f"MQE_{pull.node_id}",
        "enqueuedAt": rfc3339_or_none(pull.queued_at),
        "position": len(earlier) + 1,
        "pullRequest": pull,
    }
