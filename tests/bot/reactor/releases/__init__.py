"""Ledgers of earlier releases: their events, what the rules decided about each, and the views.

`python -m tests.bot.reactor.releases 0.1.0` records those of a release, once, when it is made. Nobody edits
them later: what a newer Cardinal decides or shows otherwise is named in `accepted.toml`, with the reason.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, asdict, dataclass, fields
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine

from bot.reactor import reactor
from ledger import codec
from ledger.db.column_types import stamp
from ledger.db.tables import VIEWS
from ledger.event import Event, Recorded
from ledger.log import event_store, hash_chain
from rules.decide import decide
from rules.intents.outbound import Decision
from tests.ledger.lifecycle.test_rebuild import contents

FOLDER = Path(__file__).parent
DIGEST_CHARS = 10


@dataclass(frozen=True, slots=True)
class Moment:
    """A decision on the event `seq`, while `upto` was the newest: names of intents, and a digest of all."""

    seq: int
    upto: int
    now: str
    intents: tuple[str, ...]
    digest: str


@dataclass(frozen=True, slots=True)
class Story:
    """One ledger. `events` are time, kind and body; `views` has a digest of each column of a table."""

    name: str
    events: tuple[tuple[str, str, Any], ...]
    head: str
    moments: tuple[Moment, ...]
    views: dict[str, dict[str, str]]


def read(release: str) -> tuple[Story, ...]:
    """Return the stories of a release."""
    kept = json.loads((FOLDER / f"{release}.json").read_text(encoding="utf-8"))
    return tuple(
        Story(
            name=it["name"],
            events=tuple(tuple(event) for event in it["events"]),
            head=it["head"],
            moments=tuple(
                Moment(seq, upto, now, tuple(intents), digest_kept)
                for seq, upto, now, intents, digest_kept in it["moments"]
            ),
            views=it["views"],
        )
        for it in kept
    )


def write(release: str, stories: tuple[Story, ...]) -> None:
    """Keep the stories, with a line for each event and each moment."""
    parts = []
    for it in stories:
        events = ",\n".join(map(codec.canonical, it.events))
        moments = ",\n".join(codec.canonical(list(asdict(moment).values())) for moment in it.moments)
        views = codec.canonical(it.views)
        name, head = json.dumps(it.name), json.dumps(it.head)
        parts.append(
            f'{{"name": {name},\n"events": [\n{events}],\n"head": {head},\n"moments": [\n{moments}],\n'
            f'"views": {views}}}'
        )
    text = ",\n".join(parts)
    (FOLDER / f"{release}.json").write_text(f"[{text}]\n", encoding="utf-8")


def describe(decision: Decision) -> str:
    """Return all that a decision asks for, and its reasons; a later field at its default is not in it."""
    return "\n".join([*map(_describe_intent, decision.intents), *map(str, decision.because)])


def _describe_intent(intent: Any) -> str:
    given = {}
    for one in fields(intent):
        default = one.default_factory() if one.default_factory is not MISSING else one.default
        value = getattr(intent, one.name)
        if value != default:
            given[one.name] = str(value)
    return f"{type(intent).__name__} {given}"


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:DIGEST_CHARS]


def digest_views(db: Connection) -> dict[str, dict[str, str]]:
    """Return a digest of each column of each view that has rows, in an order that goes by the primary key."""
    found: dict[str, dict[str, str]] = {}
    for name, rows in contents(db).items():
        table = VIEWS.tables[name]
        keys = [place for place, column in enumerate(table.columns) if column.primary_key]
        rows.sort(key=lambda row: [repr(row[place]) for place in keys])
        for place, column in enumerate(table.columns if rows else ()):
            found.setdefault(name, {})[column.name] = digest(repr([row[place] for row in rows]))
    return found


class DecidedError(BaseException):
    """What the rules decided, on the way out of the product's own code: nothing of it takes effect."""

    def __init__(self, decision: Decision) -> None:
        self.decision = decision


def decide_again(db: Connection, recorded: Recorded, now: datetime) -> Decision:
    """Return what the rules decide on the event, as the ledger is now."""

    def tell(*words: Any) -> Decision:
        raise DecidedError(decide(*words))

    try:
        reactor._decide_one(db, recorded, now, tell)
    except DecidedError as decided:
        return decided.decision
    return Decision()


@contextmanager
def recorded_moments() -> Iterator[list[Moment]]:
    """Record each decision of this process until the block ends."""
    moments: list[Moment] = []
    real = reactor._decide_one

    def watch(db: Connection, recorded: Recorded, now: datetime, rules: reactor.Decide) -> None:
        upto = event_store.last_seq(db)

        def note(*words: Any) -> Decision:
            decision = rules(*words)
            moments.append(moment_of(recorded.seq, upto, now, decision))
            return decision

        real(db, recorded, now, note)

    reactor._decide_one = watch
    try:
        yield moments
    finally:
        reactor._decide_one = real


def moment_of(seq: int, upto: int, now: datetime, decision: Decision) -> Moment:
    intents = tuple(type(intent).__name__ for intent in decision.intents)
    return Moment(seq, upto, now.isoformat(), intents, digest(describe(decision)))


def story_of(name: str, engine: Engine, moments: Iterable[Moment]) -> Story:
    """Return the story that a ledger and its decisions tell."""
    with event_store.reading(engine) as db:
        page, views = event_store.read(db, limit=100_000), digest_views(db)
        head = hash_chain.verify_chain(db).head
    events = tuple((stamp(it.at), *_encode(it.event)) for it in page)
    return Story(name, events, head, tuple(moments), views)


def _encode(event: Event) -> tuple[str, Any]:
    kind, body = codec.encode(event)
    return kind, json.loads(body)
