"""The merge queue wants checks on a commit of its own, or needs them no more.

Source: docs.github.com/webhooks/webhook-events-and-payloads#merge_group. Which pull request it is about
stands in the group's branch alone: `refs/heads/gh-readonly-queue/main/pr-12-<commit>`.
"""

import re
from dataclasses import dataclass

from bot.bootstrap import Services
from bot.ingest.events._payload import Payload, text, text_or_empty
from bot.ingest.facts import Fact, Resolution
from ledger.events.pull import GroupFormed, GroupGone
from ledger.log import event_store
from ledger.views import cards

SUBJECT = ("merge_group",)
_BRANCH = re.compile(r"refs/heads/gh-readonly-queue/.{1,250}/pr-([0-9]{1,9})-[0-9a-f]{7,64}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class GroupMoved(Fact):
    """The merge queue made a commit `sha` of pull request `number`, or needs it no more.

    `reason` is GitHub's word for why it is gone; empty while its checks are wanted.
    """

    repository: str
    number: int
    sha: str
    reason: str

    def resolve(self, services: Services, resolution: Resolution) -> None:
        """Record it on the pull request's cards; others Cardinal did not open, and its gate never saw."""
        with event_store.reading(services.engine) as db:
            concerned = cards.of_pull(db, self.repository, self.number)
        groups = [(card.card_id, self.number, self.sha) for card in concerned if not card.archived]
        gone = self.reason[:40]
        events = tuple(GroupGone(*group, gone) if gone else GroupFormed(*group) for group in groups)
        resolution.makers.append(lambda _: events)


def read(payload: Payload, *, bot_id: int) -> tuple[Fact, ...]:  # noqa: ARG001 -- its own enqueuing counts
    """Return the group's change, whoever caused it: Cardinal itself fills the queue."""
    action = text_or_empty(payload, "action")
    if action not in ("checks_requested", "destroyed"):
        return ()
    repository, sha = text_or_empty(payload, "repository.full_name"), text(payload, "merge_group.head_sha")
    branch = _BRANCH.fullmatch(text(payload, "merge_group.head_ref"))
    if branch is None or not repository:  # which GitHub's description does not promise
        return ()
    reason = (text_or_empty(payload, "reason") or "dequeued") if action == "destroyed" else ""
    return (GroupMoved(repository, int(branch[1]), sha, reason),)
