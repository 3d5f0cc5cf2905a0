"""Writes Cardinal's check on the pull request's commit: the gate's result, and buttons that apply."""

from bot.outbox import gate_check
from bot.outbox.contract import Act, ActResult
from bot.outbox.posting import last_of
from bot.outbox.targets import pull_of, read_row
from bot.render.pull import gate_check as gate
from bot.state import snapshots
from bot.state.outbox_context import OutboxContext
from ledger.queue.outbox import Entry
from rules.handlers import check_buttons
from rules.intents.outbound import WriteCheck

# One check per commit of a card.
ACT = Act("check:{card_id}:{head}", priority=2, coalesce=True)


def carry_out(context: OutboxContext, intent: WriteCheck, entry: Entry) -> ActResult:
    """Write the check from the state of the ledger, also after the merge; an outdated commit keeps its own.

    A check that was begun on a commit ends there: GitHub shows an open one as *in progress* for ever.
    """
    with context.reading() as db:
        card = read_row(db, intent.card_id)
        snapshot = snapshots.of_card(db, intent.card_id)
        record = gate_check.read_gate(db, card, intent.head, context.config.public_url)
    pull = pull_of(card)
    last = last_of(context, entry.key)
    if pull is None or snapshot is None or card.pull_head != intent.head or not (snapshot.open_pull or last):
        return ActResult(last.remote_id, last.digest) if last else ActResult()
    says = gate.write(record, check_buttons.of_check(context.policy(card.board_id), snapshot))
    return gate_check.publish_check(context, entry, repository=pull.repository, head=intent.head, says=says)
