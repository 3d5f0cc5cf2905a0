"""Sums over the whole log, for monitoring: they only rise, so that no scrape has to count events."""

from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Connection, Table

from ledger.db.rows import columns, list_rows, tally
from ledger.db.tables import VIEWS
from ledger.event import Recorded
from ledger.events.agent import CallRefused, ProviderFailed
from ledger.events.conversation import AssistantMetered
from ledger.events.run import RunEnded, RunHung, RunRequeued, UsageMetered, ValidationEnded
from ledger.fold import Fold


class Tally(StrEnum):
    """What is summed up; its label, if it has one, is of a closed set."""

    RUNS_ENDED = "runs ended"  # by ending
    GATES = "gates"  # by result
    LEASES_LOST = "leases lost"
    WORKERS_HUNG = "workers hung"
    USD = "usd"  # by who spent it: runs or the assistant
    TOKENS = "tokens"  # by direction
    TURNS = "turns"
    CALLS_REFUSED = "calls refused"
    PROVIDER_FAILURES = "provider failures"


@dataclass(frozen=True, slots=True)
class TallyRow:
    """One sum."""

    tally: Tally
    label: str
    amount: float


tallies = Table("view_tallies", VIEWS, *columns(TallyRow, "tally", "label"))
fold = Fold()


def all_tallies(db: Connection) -> dict[tuple[Tally, str], float]:
    """Return every sum by what is summed up and its label; one that is still 0 is not among them."""
    return {(row.tally, row.label): row.amount for row in list_rows(db, TallyRow, tallies)}


def _add(db: Connection, *sums: tuple[Tally, str, float]) -> None:
    rows = [{"tally": what, "label": label, "amount": amount} for what, label, amount in sums if amount > 0]
    if rows:
        tally(db, tallies, "amount", rows)


@fold.on(RunEnded)
def _fold_run_ended(db: Connection, _recorded: Recorded, event: RunEnded) -> None:
    _add(db, (Tally.RUNS_ENDED, event.counts_as, 1))


@fold.on(ValidationEnded)
def _fold_validation_ended(db: Connection, _recorded: Recorded, event: ValidationEnded) -> None:
    if event.clean:
        _add(db, (Tally.GATES, "passed" if event.passed else "failed", 1))


@fold.on(RunRequeued)
def _fold_run_requeued(db: Connection, _recorded: Recorded, event: RunRequeued) -> None:
    if event.why == "reclaimed":
        _add(db, (Tally.LEASES_LOST, "", 1))


@fold.on(RunHung)
def _fold_run_hung(db: Connection, _recorded: Recorded, _event: RunHung) -> None:
    _add(db, (Tally.WORKERS_HUNG, "", 1))


@fold.on(UsageMetered)
def _fold_usage_metered(db: Connection, _recorded: Recorded, event: UsageMetered) -> None:
    tokens = (Tally.TOKENS, "input", event.input_tokens), (Tally.TOKENS, "output", event.output_tokens)
    _add(db, (Tally.USD, "runs", event.usd), *tokens, (Tally.TURNS, "", event.turns))


@fold.on(AssistantMetered)
def _fold_assistant_metered(db: Connection, _recorded: Recorded, event: AssistantMetered) -> None:
    _add(db, (Tally.USD, "assistant", event.usd), (Tally.TOKENS, "assistant", event.tokens))


@fold.on(CallRefused)
def _fold_call_refused(db: Connection, _recorded: Recorded, _event: CallRefused) -> None:
    _add(db, (Tally.CALLS_REFUSED, "", 1))


@fold.on(ProviderFailed)
def _fold_provider_failed(db: Connection, _recorded: Recorded, _event: ProviderFailed) -> None:
    _add(db, (Tally.PROVIDER_FAILURES, "", 1))
