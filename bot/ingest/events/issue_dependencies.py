"""An issue is blocked by another one from now on, or no more.

Source: docs.github.com/webhooks/webhook-events-and-payloads#issue_dependencies. Both sides are told; the side
of the blocking issue names the repository of the blocked one, the other one is in it.
"""

from bot.ingest.events._payload import Payload, find, number, text, text_or_empty
from bot.ingest.facts import Fact, LinksChanged

SUBJECT = ("blocked_issue",)
SAID = {"blocked_by_added", "blocked_by_removed", "blocking_added", "blocking_removed"}


def read(payload: Payload, *, bot_id: int) -> tuple[Fact, ...]:  # noqa: ARG001 -- an own link is to be read, too
    if text_or_empty(payload, "action") not in SAID:
        return ()
    elsewhere = find(payload, "blocked_issue_repo") is not None
    repository = text(payload, "blocked_issue_repo.full_name" if elsewhere else "repository.full_name")
    return (LinksChanged(repository, number(payload, "blocked_issue.number")),)
