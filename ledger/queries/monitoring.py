"""The figures that monitoring scrapes: each is read by an index or from a sum, however long the log is."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import quantiles
from typing import Any

from sqlalchemy import Connection, Select, select, text

from ledger.db.clock import database_now
from ledger.db.statements import Statement, statement
from ledger.db.tables import events, inbox
from ledger.log import event_store
from ledger.queries.hosts import HostState, statuses
from ledger.queue import inbox as deliveries
from ledger.queue import outbox
from ledger.states import RunState
from ledger.views import failures, remotes, runs, stalls
from ledger.views.tallies import Tally, all_tallies

RECENT = timedelta(minutes=5)
MAX_RECENT = 500  # deliveries that tell how long one takes: the newest
QUANTILES = (0.5, 0.95)
UNDONE = ("waiting", "claimed", "quarantined")
# Spelt as in the partial indexes.
_OLDEST_DELIVERY = Statement(
    select(inbox.c.received_at)
    .where(text("inbox.state IN ('waiting', 'claimed')"))
    .order_by(inbox.c.due_at)
    .limit(MAX_RECENT)
)


@statement
def _select_settled(since: Any, most: Any) -> Select[Any]:
    """The newest deliveries that were done since then."""
    query = select(inbox.c.received_at, inbox.c.settled_at)
    query = query.where(text("inbox.state = 'done'"), inbox.c.settled_at >= since)
    return query.order_by(inbox.c.settled_at.desc()).limit(most)


@statement
def _select_undecided(position: Any) -> Select[Any]:
    return select(events.c.at).where(events.c.seq > position).order_by(events.c.seq).limit(1)


@dataclass(frozen=True, slots=True)
class Figures:
    """What monitoring shows of the ledger; ages are in seconds, 0 where nothing waits.

    `delivery_s` are quantiles of the seconds from a delivery's arrival until it was done, over the newest of
    the last minutes; none where none was done. `undecided` events were not seen by the rules yet.
    """

    events: int
    deliveries: Mapping[str, int]
    oldest_delivery_s: float
    delivery_s: Mapping[float, float]
    undecided: int
    undecided_s: float
    acts: int
    acts_without_access: int
    oldest_act_s: float
    acts_given_up: int
    decisions_failed: int
    runs: Mapping[RunState, int]
    runs_without_worker: int
    hosts: Mapping[HostState, int]
    slots: int
    tallies: Mapping[tuple[Tally, str], float]


def read_figures(db: Connection, reader: str) -> Figures:
    """Return the figures of this moment; `reader` decides the events."""
    now = database_now(db)
    position = event_store.position(db, reader)
    acts, held, oldest_act = outbox.sum_up(db)
    known_hosts = statuses(db)
    by_host = {state: sum(host.state is state for host in known_hosts) for state in HostState}
    last = event_store.last_seq(db)
    return Figures(
        events=last,
        deliveries=deliveries.delivery_counts(db, UNDONE),
        oldest_delivery_s=max((_age_s(now, at) for (at,) in _OLDEST_DELIVERY.all(db, {})), default=0.0),
        delivery_s=_read_delivery_times(db, now),
        undecided=last - position,
        undecided_s=_age_s(now, _select_undecided.scalar(db, {"position": position})),
        acts=acts,
        acts_without_access=held,
        oldest_act_s=_age_s(now, oldest_act),
        acts_given_up=remotes.count_given_up(db),
        decisions_failed=failures.count_failures(db),
        runs=runs.count_by_state(db),
        runs_without_worker=sum(stalls.counts(db).values()),
        hosts=by_host,
        slots=sum(host.row.slots for host in known_hosts if host.state is HostState.ALIVE),
        tallies=all_tallies(db),
    )


def _read_delivery_times(db: Connection, now: datetime) -> dict[float, float]:
    rows = _select_settled.all(db, {"since": now - RECENT, "most": MAX_RECENT})
    took = sorted(_age_s(settled, received) for received, settled in rows)
    if not took:
        return {}
    if len(took) == 1:
        return dict.fromkeys(QUANTILES, took[0])
    cuts = quantiles(took, n=100, method="inclusive")
    return {share: cuts[round(share * 100) - 1] for share in QUANTILES}


def _age_s(now: datetime, at: datetime | None) -> float:
    """Return the seconds since then; clocks of hosts differ, so it may be that it is yet to come."""
    return max(0.0, (now - at).total_seconds()) if at else 0.0
