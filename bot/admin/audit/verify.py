"""Comparison of an exported audit trail with the log: its events, their digests, their summary."""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError
from sqlalchemy import Connection

from bot.admin.audit import trail as audit_trail
from bot.admin.audit.trail import FORMAT
from ledger.codec import canonical
from ledger.errors import CardinalError
from ledger.ids import RunId
from ledger.log import event_store, hash_chain

MAX_BYTES = 200_000_000
MAX_NAMED = 20  # differences


class UnreadableTrailError(CardinalError):
    """The file is no audit trail."""

    def __init__(self, file: Path, because: str) -> None:
        self.file = file
        super().__init__(
            f"{file} is not an audit trail ({because}): `cardinal audit export RUN --to FILE` makes one"
        )


class _Log(BaseModel):
    model_config = ConfigDict(extra="forbid")
    events: int
    head: str


class _Event(BaseModel):
    model_config = ConfigDict(extra="forbid")
    seq: int
    stream: str
    version: int
    at: str
    kind: str
    body: dict[str, Any]
    before: str
    digest: str
    withheld: bool


class Trail(BaseModel):
    """A file of `cardinal audit export`; unknown keys are refused, for nobody vouches for them."""

    model_config = ConfigDict(extra="forbid")
    format: str
    run: str
    made_at: datetime
    log: _Log
    summary: dict[str, Any]
    events: list[_Event]


def read(file: Path) -> Trail:
    """Return the file's content. Raises UnreadableTrailError."""
    try:
        if file.stat().st_size > MAX_BYTES:
            raise UnreadableTrailError(file, f"it is larger than {MAX_BYTES // 1_000_000} MB")
        trail = Trail.model_validate_json(file.read_bytes())
    except OSError as error:
        raise UnreadableTrailError(file, error.strerror or "it cannot be read") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))[:80]
        raise UnreadableTrailError(file, f"{where}: {first['msg']}"[:200]) from error
    if trail.format != FORMAT:
        raise UnreadableTrailError(file, "another version of Cardinal wrote it")
    return trail


def differences(db: Connection, trail: Trail, *, secrets: Iterable[str] = ()) -> tuple[str, ...]:
    """Return one sentence for each difference between file and log. Verifies the log first.

    Raises BrokenChainError.
    """
    if (
        trail.log.events > event_store.last_seq(db)
        or hash_chain.digest_at(db, trail.log.events) != trail.log.head
    ):
        return ("the file is from another log, or its `log` was altered",)
    hash_chain.verify_chain(db, upto=trail.log.events)
    true = audit_trail.make_trail(
        db, RunId(trail.run), at=trail.made_at, secrets=secrets, upto=trail.log.events
    )
    written = json.loads(canonical(true))
    differs = [*_of_events(trail, written["events"]), *_of_summary(trail.summary, written["summary"])]
    more = len(differs) - MAX_NAMED
    return (*differs[:MAX_NAMED], *((f"and {more} more",) if more > 0 else ()))


def _of_events(trail: Trail, true: list[dict[str, Any]]) -> Iterator[str]:
    known = {event["seq"]: event for event in true}
    order = [event.seq for event in trail.events]
    for event in trail.events:
        logged = known.pop(event.seq, None)
        if logged is None:
            yield f"event {event.seq} is not from this run, or is listed twice"
        elif altered := _find_altered_fields(event, logged):
            yield f"event {event.seq} ({logged['kind']}) was altered: {altered}"
    for seq, logged in known.items():
        yield f"event {seq} ({logged['kind']}) is missing"
    if order != sorted(order):
        yield "the events are out of order"


def _find_altered_fields(event: _Event, logged: Mapping[str, Any]) -> str:
    """Return the fields that differ from the log's, or `digest` where it does not follow from them."""
    wrong = [name for name, value in event.model_dump().items() if value != logged[name]]
    body = canonical(event.body)
    linked = hash_chain.link(
        event.before, event.seq, event.stream, event.version, event.at, kind=event.kind, body=body
    )
    if not wrong and not event.withheld and linked != event.digest:
        wrong = ["digest"]
    return ", ".join(wrong)


def _of_summary(written: Mapping[str, Any], true: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted({*written, *true}):
        if written.get(name) != true.get(name):
            yield f"the summary was altered: {name[:40]}"
