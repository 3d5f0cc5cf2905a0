"""Any event on any card: what hypothesis draws, with names that are sometimes right and sometimes hostile."""

from dataclasses import fields, is_dataclass
from functools import cache, partial
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from ledger import codec
from ledger.event import Event
from ledger.events.run import BESIDE
from ledger.ids import QuestionId
from ledger.rows.questions import QuestionRow
from ledger.rows.runs import RunRow
from ledger.rows.stops import StopRow
from ledger.states import CardState, Ending, PullState, RunState
from rules.registry import COMMANDS
from rules.snapshot import CardPull, Snapshot
from tests.rules import scene

HOSTILE = (
    "", " ", "@everyone <script>alert(1)</script>", "'; DROP TABLE cards;--", "$(rm -rf /)", "`", "a\x00b",
    "\u202egnp.exe\u202c", "\ud800", "|".join("x" * 40), "/cardinal approve", "x" * 5000,
)  # fmt: skip
texts = st.sampled_from(HOSTILE) | st.text(max_size=12)
columns = st.sampled_from(scene.COLUMNS)
named_columns = st.sampled_from([name for name in scene.COLUMNS if name]) | texts

# What a field of that name holds, where any text would never meet a rule.
BY_NAME: dict[str, st.SearchStrategy[Any]] = {
    "after": columns, "before": columns, "column": columns, "wanted": named_columns,
    "verdict": st.sampled_from(["none", "approved", "changes_requested", "commented"]),
    "command": st.sampled_from(COMMANDS.names()),
    "argument": st.sampled_from(["", "board", "column", "card", "1", "2", "99"]) | texts,
    "place": st.sampled_from(["issue", "pull", "review", "check"]),
    "source": st.sampled_from(["77", "box:approve", "box:choice:r1-q1:1", "box:choice:r9-q9:1", "box:",
                               "button:retry:r1", "button:pause:r9", "button:approve:r1:1", "button:"]),
    "act": st.sampled_from(["MergePull", "merge_pull", "OpenPull", "MoveCard", "Say", "UpdateFace"]),
    "scope": st.sampled_from(["board", "column", "card"]),
    "target": st.sampled_from([scene.CARD, scene.BOARD, "In Progress"]),
    "reason": st.sampled_from(["completed", "not_planned", "duplicate", "deleted"]) | texts,
    "closed": st.sampled_from(["", "completed", "not_planned"]),
    "kind": st.sampled_from(["first", "revision", "retry", "check", "rerun"]),
    "stop_why": st.sampled_from(["", "board stopped"]),
    "held_back": st.sampled_from(["", "Review", "Done", "Gone"]),
    "asker": st.sampled_from(["agent", "leave", "limit", "budget", "permission"]),
    "why": st.sampled_from(["question", "limit", "pause", "answered"]),
    "by": st.sampled_from(["bob", "policy"]) | texts,
    "card_id": st.just(scene.CARD), "board_id": st.just(scene.BOARD),
    "run_id": st.sampled_from([scene.R1, "r0"]),
    "question_id": st.sampled_from([QuestionId("r1-q1"), QuestionId("r1-q2")]),
    "number": st.none() | st.just(12),
}  # fmt: skip


def of_type(annotation: Any) -> st.SearchStrategy[Any]:
    """Draw a value of the type; text is sometimes hostile."""
    annotation = getattr(annotation, "__supertype__", annotation)
    if annotation is str:
        return texts
    if is_dataclass(annotation):
        return built(annotation)
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is tuple:
        if inner[-1] is not Ellipsis:
            return st.tuples(*map(of_type, inner))
        return st.lists(of_type(inner[0]), max_size=2).map(tuple)
    if origin is dict:  # metadata of a report
        return st.dictionaries(texts, st.none() | st.booleans() | st.integers() | texts, max_size=2)
    if origin in (Union, UnionType):
        return st.one_of(*map(of_type, inner))
    if annotation is float:
        return st.floats(0, 100)
    if annotation is int:
        return st.integers(0, 100)
    return st.from_type(annotation)


def built(kind: Any, /, **known: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Draw an instance of the dataclass, field by field: what is known, by its name, else by its type."""
    return _built(kind, tuple(known), lambda name: known[name])


@st.composite
def _built(draw: Any, kind: Any, known: tuple[str, ...], of: Any) -> Any:
    """Draw it by a function, not by `builds`: the text of rows in rows would be too long for hypothesis."""
    return kind(**{name: draw(of(name) if name in known else it) for name, it in _fields_of(kind).items()})


@cache
def _fields_of(kind: Any) -> dict[str, st.SearchStrategy[Any]]:
    hints = get_type_hints(kind)
    return {field.name: _field(field.name, hints[field.name]) for field in fields(kind)}


def _field(name: str, annotation: Any) -> st.SearchStrategy[Any]:
    plain = getattr(annotation, "__supertype__", annotation) in (str, str | None, int | None)
    return BY_NAME[name] if plain and name in BY_NAME else of_type(annotation)


def _sound(run: RunRow) -> bool:
    return (run.state is RunState.ENDED) == (run.ending is not None)


runs = built(
    RunRow,
    run_id=st.just(scene.R1),
    column=st.sampled_from(["In Progress", "Gone"]),
    state=st.sampled_from(RunState),
    ending=st.none() | st.sampled_from(Ending),
).filter(_sound)
snapshots: st.SearchStrategy[Snapshot] = built(
    Snapshot,
    state=st.sampled_from(CardState),
    run=st.none() | runs,
    beside=st.none() | built(RunRow, kind=st.sampled_from(BESIDE)),
    pull=st.none() | built(CardPull, state=st.sampled_from(PullState).filter(bool)),
    stops=st.lists(built(StopRow), max_size=2).map(tuple),
    column_policy=st.none(),
    archetype=st.none(),
).map(partial(scene.under, scene.POLICY))
questions = built(QuestionRow)
events: st.SearchStrategy[Event] = st.one_of(*(built(kind) for kind in codec.kinds().values()))
