"""Writes a description that a rule's model wrote out over the one of people, which stays below it, folded."""

from sqlalchemy import Connection

from bot.github.api import issues
from bot.outbox.contract import Act, ActResult, DeclinedError
from bot.outbox.targets import issue_of, read_row
from bot.render.markdown.escape import COMMENT_LIMIT, close_code, escape_mentions, fold
from bot.render.markdown.marker import mark, marker_of, text_digest, words_of_draft
from bot.state.outbox_context import OutboxContext
from ledger.event import Event
from ledger.events.board import CardDescribed
from ledger.events.conversation import BodyExpanded
from ledger.queue.outbox import Entry
from ledger.views import cards, expansions
from rules.intents.rule_results import ExpandBody

# Once per `about`.
ACT = Act("expand:{card_id}:{about}", ordered=True)
AGAIN = "drag the card here again to have it written out again"


def carry_out(context: OutboxContext, intent: ExpandBody, entry: Entry) -> ActResult:
    """Write the description, once; raises GivenUpError where people edited it since the model read it."""
    with context.reading() as db:
        card = read_row(db, intent.card_id)
        earlier = expansions.get(db, card.content_id)
    if card.archived:
        return ActResult()
    issue, before = issue_of(card, context), card.body
    now = words_of_draft(issues.body_of(context.hub, issue.repository, issue.number))
    marker = marker_of(now)
    if marker is None or marker.key != entry.key:  # else an attempt before this one wrote it
        own = earlier.before if earlier and earlier.written == expansions.digest(now) else now
        if {expansions.digest(own), expansions.digest(before)} != {intent.replaces}:
            raise DeclinedError(f"someone edited it in the meantime: {AGAIN}")
        text = mark(
            f"{close_code(escape_mentions(intent.body))}\n\n{fold('As it was before', before)}", entry.key
        )
        if len(text) > COMMENT_LIMIT:
            raise DeclinedError("the description is too long to be kept below: shorten it")
        now = issues.write_body(context.hub, issue.repository, issue.number, text)
    written = expansions.digest(now)

    def events(db: Connection) -> tuple[Event, ...]:
        expanded = BodyExpanded(
            card_id=intent.card_id,
            content_id=card.content_id,
            rule=intent.rule,
            text=intent.body,
            before=before,
            written=written,
        )
        fresh = cards.get(db, intent.card_id)
        if fresh is None or expansions.digest(fresh.body) not in (intent.replaces, written):
            return (expanded,)  # somebody wrote anew, and that was seen already
        described = CardDescribed(intent.card_id, fresh.title, before, fresh.labels, expanded=True)
        return (expanded, described)  # webhooks about own acts are not read

    return ActResult(card.card_id, text_digest(intent.body), events)
