"""Events for tests: a short true story, and any number of random ones with hostile text in them."""

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from random import Random
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from ledger.codec import kinds
from ledger.event import Event
from ledger.events.board import BoardSeen, CardSeen, Column, Field
from ledger.events.run import RunQueued
from ledger.ids import BoardId, CardId, RunId
from ledger.states import CardState, PullState, RunKind

T = TypeVar("T")
Pick = Callable[[Sequence[T]], T]

NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
BOARD, CARD, RUN = BoardId("PVT_1"), CardId("PVTI_1"), RunId("r1")
HOSTILE = (
    "",
    "plain",
    "'; DROP TABLE events; --",
    "<script>alert(1)</script>\x00\x1b[31m",
    "‮abc",
    "lone \ud800 surrogate",
    "🐦" * 300,
    "line\nline\r\n\tline",
)
POOLS: dict[str, tuple[Any, ...]] = {
    "board_id": ("PVT_1", "PVT_2"),
    "card_id": ("PVTI_1", "PVTI_2", "PVTI_3", "PVT_1"),
    "run_id": ("r1", "r2", "r3", "r4"),
    "question_id": ("r1-q1", "r2-q1", "r1-q2"),
    "thread_id": ("11", "12", "13"),
    "key": ("sticky:r1", "report:r1", "face:PVTI_1"),
    "review_id": tuple(range(1, 60)),
    "verdict": ("approved", "changes_requested", "commented"),
    "tier": ("fast", "full"),
    "how": ("cancel", "pause"),
    "kind": tuple(RunKind),
    "state": tuple(PullState),
    "why": ("reclaimed", "answered", "question", "pause"),
    "place": ("issue", "pull", "review"),
    "parent": ("", "acme/app#7"),
}


def later(seconds: float) -> datetime:
    """Return a moment after NOW."""
    return NOW + timedelta(seconds=seconds)


def board_seen() -> BoardSeen:
    """Return a board of three columns."""
    shown = tuple(Column(f"o{n}", name, "") for n, name in enumerate(("Planning", "In Progress", "Done")))
    return BoardSeen(BOARD, "acme", 1, "Roadmap", "F1", shown, (Field("F2", "Agent", "TEXT"),))


def card_seen(card_id: str = CARD, number: int = 1, column: str = "In Progress") -> CardSeen:
    """Return a card of an issue in acme/app."""
    return CardSeen(
        CardId(card_id), BOARD, f"I_{number}", "acme/app", number, f"Issue {number}", "Body", "ann", column,
        CardState.QUEUED,
    )  # fmt: skip


def run_queued(run_id: str = RUN, card_id: str = CARD, attempt: int = 1) -> RunQueued:
    """Return a first run in the column In Progress."""
    return RunQueued(
        RunId(run_id), CardId(card_id), attempt, RunKind.FIRST, "In Progress", "acme/app",
        f"cardinal/{run_id}", "scripted", "ann", "", "{}", True,
    )  # fmt: skip


def any_event(pick: Pick[Any], kind: type[Event] | None = None) -> Event:
    """Return an event of any kind, or of the one asked for, with what `pick` chooses in its fields."""
    event: Event = _made(kind or pick(sorted(kinds().values(), key=lambda found: found.__name__)), pick)
    return event


def random_events(seed: int, count: int) -> list[Event]:
    """Return `count` events that the same seed gives again."""
    chance = Random(seed)
    return [any_event(chance.choice) for _ in range(count)]


def _made(kind: type[Any], pick: Pick[Any]) -> Any:
    hints = get_type_hints(kind)
    return kind(**{field.name: _value(field.name, hints[field.name], pick) for field in fields(kind)})


def _value(name: str, hint: Any, pick: Pick[Any]) -> Any:
    if name in POOLS and (name != "state" or hint is str):
        return pick(POOLS[name])
    if name == "order":
        return tuple(pick(POOLS["card_id"]) for _ in range(2))
    if get_origin(hint) in (Union, UnionType):
        return _value(name, pick(get_args(hint)), pick)
    if get_origin(hint) is dict:
        return {text: [text, 1] for text in pick(((), HOSTILE))}
    if get_origin(hint) is tuple:
        return tuple(_value("", get_args(hint)[0], pick) for _ in range(pick((0, 1, 3))))
    if isinstance(hint, type) and is_dataclass(hint):
        return _made(hint, pick)
    if hint is NoneType:
        return None
    plain = getattr(hint, "__supertype__", hint)
    if issubclass(plain, StrEnum):
        return pick(tuple(plain))
    if plain is datetime:
        return pick((NOW, later(0.25)))
    return pick({str: HOSTILE, int: (0, 1, 7, 5_000_000_000), float: (0.0, 0.25), bool: (True, False)}[plain])
