"""`cardinal show RUN --briefing`: the whole stack of a run's instructions."""

from collections.abc import Iterator

from sqlalchemy import Connection

from bot.cli._show import clean
from bot.state import instructions
from bot.state.instructions import InstructionStack
from ledger.views.runs import RunRow


def describe_stack(db: Connection, run: RunRow) -> tuple[dict[str, object], list[str]]:
    """Return the instructions of the run's agent, for programs and as lines for people."""
    stack = instructions.stack_of(db, run.run_id)
    document: dict[str, object] = {"run": run.run_id, "briefing": stack.briefing if stack else None}
    if stack is None:
        return document, [f"{run.run_id} was not briefed yet"]
    if not stack.layers:
        return document, list(_lines(stack.briefing.text))
    document |= {"layers": stack.layers, "skills": stack.skills, "stages": stack.stages}
    return document, list(_text(stack))


def _text(stack: InstructionStack) -> Iterator[str]:
    for section in stack.sections():
        yield f"=== {section.heading}"
        yield from _lines(section.text)
        yield ""


def _lines(text: str) -> Iterator[str]:
    yield from (clean(row) if row else "" for row in text.splitlines())
