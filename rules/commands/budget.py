"""Give the run more dollars; a run that paused because its budget ran out resumes."""

import re
from collections.abc import Iterator
from datetime import datetime

from ledger.events.budget import BudgetRaised
from ledger.events.conversation import CommandGiven
from ledger.rows.limit_answers import Code, Subject, budget_answer, subject_of
from ledger.rows.runs import RunRow
from ledger.states import RUN_HELD
from rules.card.trigger import was_before
from rules.chatops import replies
from rules.chatops.offers import CommandOffer, Urgency
from rules.chatops.parser import run_of_budget_box
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot
from rules.text import usd

USAGE = "/cardinal budget +<usd>"
ROLE = Role.MAINTAIN
TAKES = "optional"
MIN_USD, MAX_USD = 0.01, 1000.0
_AMOUNT = re.compile(r"\+?[ ]?\$?(?P<usd>[0-9]{1,6}(?:\.[0-9]{1,2})?)", re.ASCII)


def offers(policy: Policy, snapshot: Snapshot) -> Iterator[CommandOffer]:
    """Offer dollars to a run at work, and to one that waits for them."""
    run = snapshot.live_run
    if run and not run.is_cancelling and (_asks(snapshot) or run.state in RUN_HELD):
        hint, asks = "Give the run more to spend", "Dollars, such as +2"
        yield CommandOffer(f"budget:{run.run_id}", "Add dollars", hint, Urgency.CARD, asks=asks)


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Raise the budget of the live run, and answer its question where it asked for just that."""
    run, amount = snapshot.live_run, _AMOUNT.fullmatch(given.argument.strip())
    added_usd = float(amount["usd"]) if amount else 0.0
    if not MIN_USD <= added_usd <= MAX_USD:
        text = f"Say how many dollars to add, {usd(MIN_USD)} to {usd(MAX_USD)}: `/cardinal budget +2`."
        return replies.say(snapshot, given, text)
    if run is None:
        return replies.say(
            snapshot, given, "No run is active whose budget could be raised. `/cardinal retry` starts one."
        )
    if run.is_cancelling:
        return replies.say(snapshot, given, f"{run.run_id} is being cancelled: it needs no more dollars.")
    boxed, first = run_of_budget_box(given.source), replies.beaten_by(snapshot, given.by, given.said_at, now)
    if not _asks(snapshot) and first is not None:
        return replies.say(snapshot, given, replies.describe_earlier_answer(run, first, "nothing was added"))
    older = snapshot.question is not None and was_before(given.said_at, snapshot.question.asked_at, now)
    if boxed and (boxed != run.run_id or not _asks(snapshot) or older):
        return replies.say(snapshot, given, "That run is no longer waiting for dollars: nothing was added.")
    because = f"{given.by} added {usd(added_usd)} to the budget of {run.run_id}"
    added = BudgetRaised(run.run_id, added_usd, given.by)
    return Decision((added,), (because,)) + _go_on(snapshot, run, given, added_usd)


def _asks(snapshot: Snapshot) -> bool:
    return snapshot.question is not None and subject_of(snapshot.question) is Subject.BUDGET


def _go_on(snapshot: Snapshot, run: RunRow, given: CommandGiven, added_usd: float) -> Decision:
    question = snapshot.question
    if question is None:
        return Decision()
    if subject_of(question) is Subject.BUDGET:
        text = budget_answer(added_usd)
        return replies.record_answer(run, question, given.by, Code.RAISED, text=text)
    text = f"{run.run_id} may spend {usd(added_usd)} more. Its question still needs an answer."
    return replies.say(snapshot, given, text)
