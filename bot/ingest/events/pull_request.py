"""A pull request opened, moved, left draft, closed or was merged, somebody was asked to review it, or GitHub
merges it no more by itself.

Source: docs.github.com/webhooks/webhook-events-and-payloads#pull_request.
"""

from bot.ingest.events._payload import Payload, find, flag, login, moment, number, own, text, text_or_empty
from bot.ingest.facts import Fact, MergeLeft, PullRequestRead, ReviewWanted

SUBJECT = ("pull_request",)
SEEN_ON = {"opened", "reopened", "closed", "synchronize", "ready_for_review", "converted_to_draft"}
LEFT_ON = {"dequeued", "auto_merge_disabled"}


def read(payload: Payload, *, bot_id: int) -> tuple[Fact, ...]:
    """Return the pull request as it was, nothing for an action that does not change it.

    GitHub's own merges for Cardinal have Cardinal as sender, so a closing is no echo from anybody.
    """
    action = text_or_empty(payload, "action")
    if action in LEFT_ON:
        repository, left = text(payload, "repository.full_name"), number(payload, "pull_request.number")
        return (MergeLeft(repository, left, text_or_empty(payload, "reason")),)
    if action == "review_requested" and not own(payload, bot_id):
        return _read_request(payload)
    if action not in SEEN_ON:
        return ()
    merged = flag(payload, "pull_request.merged")
    return (
        PullRequestRead(
            repository=text(payload, "repository.full_name"),
            number=number(payload, "pull_request.number"),
            node_id=text(payload, "pull_request.node_id"),
            state="merged" if merged else text(payload, "pull_request.state"),
            draft=flag(payload, "pull_request.draft"),
            head=text(payload, "pull_request.head.sha"),
            branch=text(payload, "pull_request.head.ref"),
            merged=merged,
            by=login(payload, "sender"),
            at=moment(payload, "pull_request.updated_at"),
            echo=own(payload, bot_id) and action != "closed",
        ),
    )


def _read_request(payload: Payload) -> tuple[Fact, ...]:
    """Return the request; nothing where GitHub leaves out optional fields."""
    repository, about = find(payload, "repository.full_name"), find(payload, "pull_request.number")
    reviewer = find(payload, "requested_reviewer.login") or find(payload, "requested_team.slug")
    if not isinstance(repository, str) or not isinstance(about, int):
        return ()
    return (ReviewWanted(repository, about, str(reviewer or "somebody"), login(payload, "sender")),)
