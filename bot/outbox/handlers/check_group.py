"""Writes the gate's result on a pull request as a check run on its commit in the merge queue."""

from bot.github.errors import NotYetError
from bot.outbox import gate_check
from bot.outbox.contract import Act, ActResult, GivenUpError
from bot.outbox.targets import pull_of, read_row
from bot.render.pull import gate_check as gate
from bot.state.outbox_context import OutboxContext
from ledger.queue.outbox import Entry
from ledger.rows.cards import CardRow
from rules.intents.outbound import CheckGroup

# One check per commit of the queue. Priority 0: the whole queue waits for it.
ACT = Act("group:{card_id}:{head}", priority=0)
MAX_ATTEMPTS = 4  # in seven seconds GitHub knows a commit of its own


def carry_out(context: OutboxContext, intent: CheckGroup, entry: Entry) -> ActResult:
    """Make the check run; a group that is gone by now needs none."""
    with context.reading() as db:
        card = read_row(db, intent.card_id)
        record = gate_check.read_gate(db, card, card.pull_head, context.config.public_url)
    pull = pull_of(card)
    if pull is None or pull.number != intent.number or not card.has_open_pull:
        return ActResult()
    says = gate.of_group(record, intent.number, _objection(context, card))
    try:
        return gate_check.publish_check(
            context, entry, repository=pull.repository, head=intent.head, says=says
        )
    except NotYetError as error:
        if entry.attempts < MAX_ATTEMPTS or "no commit found" not in error.because.lower():
            raise
        return ActResult()  # the group is gone


def _objection(context: OutboxContext, card: CardRow) -> str:
    """Return why the gate's result on the pull request's commit is out of date; empty if it is not."""
    try:
        gate_check.demand_same(context, card, card.pull_head)
    except GivenUpError as error:
        return error.because
    return ""
