"""The merge queue wants checks on a commit of its own, or needs them no more.

Source: docs.github.com/webhooks/webhook-events-and-payloads#merge_group. Which pull request it is about
stands in the group's branch alone: `refs/heads/gh-readonly-queue/main/pr-12-<commit>`.
"""

import re

from bot.ingest.events._payload import Payload, text, text_or_empty
from bot.ingest.facts import Fact, GroupMoved

SUBJECT = ("merge_group",)
_BRANCH = re.compile(r"refs/heads/gh-readonly-queue/.{1,250}/pr-([0-9]{1,9})-[0-9a-f]{7,64}", re.DOTALL)


def read(payload: Payload, *, bot_id: int) -> tuple[Fact, ...]:  # noqa: ARG001 -- its own enqueuing counts
    """Return what became of the group, whoever caused it: Cardinal itself fills the queue."""
    action = text_or_empty(payload, "action")
    if action not in ("checks_requested", "destroyed"):
        return ()
    repository, sha = text_or_empty(payload, "repository.full_name"), text(payload, "merge_group.head_sha")
    branch = _BRANCH.fullmatch(text(payload, "merge_group.head_ref"))
    if branch is None or not repository:  # which GitHub's description does not promise
        return ()
    reason = (text_or_empty(payload, "reason") or "dequeued") if action == "destroyed" else ""
    return (GroupMoved(repository, int(branch[1]), sha, reason),)
