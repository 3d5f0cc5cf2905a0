"""An issue became a part of another one, or is no part any more.

Source: docs.github.com/webhooks/webhook-events-and-payloads#sub_issues. Both sides are told; the side of the
parent names the repository of the part, the other one is in it.
"""

from bot.ingest.events._payload import Payload, find, number, text, text_or_empty
from bot.ingest.facts import Fact, LinksChanged

SUBJECT = ("sub_issue",)
SAID = {"sub_issue_added", "sub_issue_removed", "parent_issue_added", "parent_issue_removed"}


def read(payload: Payload, *, bot_id: int) -> tuple[Fact, ...]:  # noqa: ARG001 -- an own link is to be read, too
    if text_or_empty(payload, "action") not in SAID:
        return ()
    elsewhere = find(payload, "sub_issue_repo") is not None
    repository = text(payload, "sub_issue_repo.full_name" if elsewhere else "repository.full_name")
    return (LinksChanged(repository, number(payload, "sub_issue.number")),)
