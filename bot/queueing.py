"""Turns "queue a run" and "stop these runs" into the events that do so."""

import re
import unicodedata

from sqlalchemy import Connection

from ledger.event import Event
from ledger.events.run import RunQueued
from ledger.ids import RunId
from ledger.states import RunState
from ledger.views import cards, runs
from rules.inward import QueueRun
from rules.policy import Policy

SLUG_LENGTH = 40


def branch_name(number: int, title: str) -> str:
    """Return `cardinal/<n>-<slug>`: ASCII letters, digits and dashes only, whatever the title holds."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:SLUG_LENGTH].rstrip("-")
    return f"cardinal/{number}-{slug or 'card'}"


def queue_run(db: Connection, policy: Policy, intent: QueueRun) -> tuple[Event, ...]:
    """Return the RunQueued event, or nothing where the card has no conversation yet or a run that lives."""
    card = cards.get(db, intent.card_id)
    if card is None or card.repository is None or card.number is None or card.column is None:
        return ()
    newest = runs.get(db, RunId(card.run_id)) if card.run_id else None
    column = policy.column(card.column)
    if column is None or (newest is not None and newest.state is not RunState.ENDED):
        return ()
    return (
        RunQueued(
            run_id=runs.next_id(db),
            card_id=card.card_id,
            attempt=card.attempts + 1,
            kind=intent.kind,
            column=card.column,
            repository=card.repository,
            branch=card.branch or branch_name(card.number, card.title),
            agent=column.agent,
            by=intent.by,
            session_id=newest.session_id if newest and newest.agent == column.agent else "",
            settings=column.to_json(),
            plan_required=intent.plan_required,
        ),
    )
