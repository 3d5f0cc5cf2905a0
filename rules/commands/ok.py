"""Let a comment by someone without write access through, or a review: it counts as if you had said it."""

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from ledger.events.conversation import CommandGiven, CommentReleased, PersonSaid
from ledger.events.run import RunSteered
from ledger.rows.messages import MessageRow
from rules.card.trigger import was_before
from rules.chatops import listeners
from rules.chatops.parser import parse
from rules.chatops.replies import say
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot
from rules.text import alternatives, code

USAGE = "/cardinal ok [person or link to the comment]"
ROLE = Role.WRITE
TAKES = "optional"
_SHOWN = 5
# The end of a comment's link, as GitHub copies it, or its bare number.
_LINK = re.compile(
    r"(?:\S{0,300}#)?(?P<kind>issuecomment-|discussion_r|pullrequestreview-)?(?P<id>[0-9]{1,19})", re.ASCII
)
_KINDS = {"issue": "issuecomment-", "pull": "issuecomment-", "review": "discussion_r"}
_TOGETHER = ("issue", "pull")  # whose comments GitHub counts together


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Release the one comment that is meant; of several the command has to say which.

    Never simply the newest: another one could slip in just before the command arrives.
    """
    messages = find_meant(given, snapshot.held, now)
    if not messages:
        return say(snapshot, given, "No comment by someone without write access is waiting here.")
    if len(messages) > 1:
        links = alternatives(
            f"`/cardinal ok #{_kind(candidate)}{candidate.comment_id}` ({code(candidate.author, 40)})"
            for candidate in messages[-_SHOWN:]
        )
        return say(
            snapshot, given, f"{len(messages)} comments wait, so nothing was let through: say {links}."
        )
    (message,) = messages
    if message.changed == "edited":
        text = f"{code(message.author, 40)} edited that comment after it was posted: what you see is not what"
        return say(
            snapshot, given, f"{text} waits here, so nothing was let through. Say it in your own words."
        )
    release = CommentReleased(snapshot.card_id, message.comment_id, message.place, given.by)
    because = (f"{given.by} lets a comment by {code(message.author, 40)} through",)
    return Decision((release,), because) + _pass_on(policy, snapshot, given, message, now)


def find_meant(given: CommandGiven, held: Iterable[MessageRow], now: datetime) -> list[MessageRow]:
    """Return which of the comments that wait the command can mean."""
    return [candidate for candidate in held if _is_meant(candidate, given, now)]


def _pass_on(
    policy: Policy, snapshot: Snapshot, given: CommandGiven, held: MessageRow, now: datetime
) -> Decision:
    """Return the decision on the words, now that someone answers for them."""
    words = PersonSaid(
        card_id=given.card_id,
        comment_id=held.comment_id,
        place=held.place,
        author=given.by,
        trusted=True,
        text=held.text,
        role=given.role,
        said_at=given.said_at,
    )
    run, question = snapshot.live_run, snapshot.question
    older = question and was_before(held.at, question.asked_at, now)  # it answers something else
    decision = (
        listeners.steer(run, words) if run and older else listeners.deliver(policy, snapshot, words, now)
    )
    said = f"{held.author} wrote, and {given.by} lets it through:\n{held.text}"
    intents = (
        replace(intent, text=said) if isinstance(intent, RunSteered) else intent
        for intent in decision.intents
    )
    return Decision(tuple(intents), decision.because)


def _is_meant(held: MessageRow, given: CommandGiven, now: datetime) -> bool:
    if parse(held.text) is not None:
        return False  # a command, which was answered: nobody waits for it
    # What came later was not there to be seen.
    if held.place in _TOGETHER and given.place in _TOGETHER:
        if held.comment_id > given.comment_id:
            return False
    elif was_before(given.said_at, held.at, now):
        return False
    wanted = given.argument.strip().strip("`")
    named = _LINK.fullmatch(wanted)
    if named is None:
        return not wanted or wanted.removeprefix("@").casefold() == held.author.casefold()
    return int(named["id"]) == held.comment_id and named["kind"] in (None, _kind(held))


def _kind(held: MessageRow) -> str:
    return _KINDS.get(held.place, "pullrequestreview-")
