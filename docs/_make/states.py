"""The two state machines, drawn from the tables of legal steps."""

from collections.abc import Iterable

from ledger.states import CARD_STEPS, RUN_HELD, RUN_STEPS, CardState, RunState
from rules.registry import ARCHETYPES


def run() -> str:
    """Return the run's diagram and its table."""
    back = {RunState.QUEUED, RunState.PARKED, RunState.ENDED}
    drawn = [
        (before, after)
        for before, steps in RUN_STEPS.items()
        for after in steps
        if not (
            before in RUN_HELD and after in back and (before, after) != (RunState.PUBLISHING, RunState.ENDED)
        )
    ]
    held = ", ".join(f"`{state}`" for state in RUN_HELD)
    note = (
        f"Left out above: a worker holds the run while it is {held}; from each of these it may also become "
        "`parked` (a question, a limit, a pause), `queued` (its worker died) or `ended`."
    )
    return f"{_diagram(drawn, RunState.QUEUED)}\n\n{note}\n\n{_table(RUN_STEPS.items())}"


def card() -> str:
    """Return a diagram for each kind of column, and the table of all steps."""
    parts = [
        "Left out of the diagrams: `blocked`, which every state may become and which may become every state "
        "of its column; the way back to the column's first state, which is open from everywhere; and "
        "`archived`, which is legal in every column."
    ]
    kinds = [(name, archetype.STATES) for name, archetype in ARCHETYPES.all()]
    for name, legal in sorted(kinds, key=lambda kind: list(CardState).index(kind[1][0])):
        first, others = legal[0], [state for state in legal if state is not CardState.BLOCKED]
        drawn = [(one, to) for one in others for to in CARD_STEPS[one] if to in others and to is not first]
        what = _diagram(drawn, first) if drawn else ""
        parts.append(f"**{name}**: {_names(legal)}\n\n{what}".strip())
    return "\n\n".join((*parts, _table(CARD_STEPS.items())))


def _diagram(steps: Iterable[tuple[str, str]], first: str) -> str:
    lines = [f"    {before} --> {after}" for before, after in steps]
    return "\n".join(("```mermaid", "stateDiagram-v2", f"    [*] --> {first}", *lines, "```"))


def _table(steps: Iterable[tuple[str, tuple[str, ...]]]) -> str:
    rows = [f"| `{before}` | {_names(after) or 'nothing: this is the end'} |" for before, after in steps]
    return "\n".join(("| from | to |", "| --- | --- |", *rows))


def _names(states: Iterable[str]) -> str:
    return ", ".join(f"`{state}`" for state in states)
