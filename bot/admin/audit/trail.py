"""Audit trail of one run: its events as the chain holds them, and their summary.

The summary is made of events alone, so that a verifier can make it again.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from bot.admin.audit.sections import FACTS, SECTIONS, AuditEvent, Summary, fill_section
from ledger.codec import canonical, decode, kinds
from ledger.events.run import RunEvent
from ledger.ids import RunId
from ledger.log import event_store, hash_chain
from ledger.log.hash_chain import Link
from ledger.views import cards, runs
from runner.text.plain import each_text, redact

FORMAT = "cardinal-audit/1"
MAX_OF_CARD = 2_000  # the newest events of the card that go with the run
Document = dict[str, Any]


def make_trail(
    db: Connection, run_id: RunId, *, at: datetime, secrets: Iterable[str] = (), upto: int | None = None
) -> Document:
    """Return the document about a run that is known, as the log stood at the event `upto`, or stands now.

    Text that looks like a secret is removed; `withheld` marks the events where that happened.
    """
    last = event_store.last_seq(db) if upto is None else upto
    hidden = tuple(secrets)
    events = [_event(link, hidden) for link in sorted(_links(db, run_id, last), key=lambda link: link.seq)]
    return {
        "format": FORMAT,
        "run": run_id,
        "made_at": at.isoformat(),
        "log": {"events": last, "head": hash_chain.digest_at(db, last)},
        "summary": _summary(run_id, map(read, events)),
        "events": events,
    }


def read(event: Mapping[str, Any]) -> AuditEvent:
    """Return one event of a document as an event again. Raises UnknownEventError or UnfitEventError."""
    decoded = decode(str(event["kind"]), canonical(event["body"]))
    return AuditEvent(int(event["seq"]), str(event["at"]), decoded)


def _summary(run_id: RunId, events: Iterable[AuditEvent]) -> dict[str, Any]:
    """Return the summary of a run by its events, the oldest first; a section without events is empty."""
    sections = (*SECTIONS, *(kind.section for kind in kinds().values() if kind.section))
    summary: Summary = {name: {} if name in FACTS else [] for name in sections}
    summary |= {"run": run_id, "iterations": 0}
    for record in events:
        if not isinstance(record.event, RunEvent) or record.event.run_id == run_id:
            fill_section(summary, record)
    del summary["run"]  # the document has it
    return summary


def _links(db: Connection, run_id: RunId, upto: int) -> tuple[Link, ...]:
    run = runs.get(db, run_id)
    links = hash_chain.links_of(db, f"run:{run_id}", upto=upto)
    if run is None or not links:
        return links
    card = cards.get(db, run.card_id)
    audited = tuple(name for name, kind in kinds().items() if kind.is_audited)
    of_card = hash_chain.links_of(db, f"card:{run.card_id}", upto=upto, kinds=audited, most=MAX_OF_CARD)
    board = f"board:{card.board_id}" if card else ""
    policy = hash_chain.links_of(db, board, upto=links[0].seq, kinds=("PolicyLoaded",), most=1)
    return (*policy, *of_card, *links)


def _event(link: Link, secrets: tuple[str, ...]) -> dict[str, Any]:
    body = json.loads(link.body)
    shown = each_text(body, lambda text: redact(text, secrets))
    return {**asdict(link), "body": shown, "withheld": shown != body}
