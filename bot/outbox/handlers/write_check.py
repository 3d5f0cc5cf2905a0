"""Writes Cardinal's check on the pull request's commit: the gate's result, and buttons that apply."""

from dataclasses import replace

from sqlalchemy import Connection

from bot.outbox import gate_check, handlers
from bot.outbox.contract import Act, ActResult
from bot.outbox.posting import last_of
from bot.outbox.targets import pull_of, read_row
from bot.render.pull import gate_check as gate
from bot.state import snapshots
from bot.state.outbox_context import OutboxContext
from ledger.event import Event
from ledger.ids import CardId
from ledger.queue.outbox import Entry
from ledger.views import remotes
from rules.handlers import check_buttons
from rules.intents.outbound import WriteCheck

# One check per commit of a card.
ACT = Act("check:{card_id}:{head}", priority=2, coalesce=True)


def carry_out(context: OutboxContext, intent: WriteCheck, entry: Entry) -> ActResult:
    """Write the check from the state of the ledger, also after the merge; an outdated commit keeps its own.

    A check that was begun on a commit ends there: GitHub shows an open one as *in progress* for ever. So the
    check of the next commit has that of an outdated one written once more, without the run that lives.
    """
    with context.reading() as db:
        card = read_row(db, intent.card_id)
        snapshot = snapshots.of_card(db, intent.card_id)
        record = gate_check.read_gate(db, card, intent.head, context.config.public_url)
    pull = pull_of(card)
    last = last_of(context, entry.key)
    is_outdated = card.pull_head != intent.head
    is_due = gate_check.is_in_progress(last) if is_outdated else snapshot and (snapshot.open_pull or last)
    if pull is None or snapshot is None or not is_due:
        return ActResult(last.remote_id, last.digest) if last else ActResult()
    buttons = () if is_outdated else check_buttons.of_check(context.policy(card.board_id), snapshot)
    says = gate.write(replace(record, live=None) if is_outdated else record, buttons)
    done = gate_check.publish_check(context, entry, repository=pull.repository, head=intent.head, says=says)
    return replace(done, events=lambda db: _end_others(db, context, entry))


def _end_others(db: Connection, context: OutboxContext, entry: Entry) -> tuple[Event, ...]:
    """Have the card's checks ended that were left in progress on other commits."""
    for check in remotes.list_done(db, CardId(entry.card_id), entry.act):
        if check.key != entry.key and gate_check.is_in_progress(check):
            head = check.key.rpartition(":")[2]
            handlers.put_intent(db, WriteCheck(check.card_id, head), context.clock())
    return ()
