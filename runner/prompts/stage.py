"""Prompts of a stage: persona, hand-overs of earlier stages, ways to leave. Pure."""

from itertools import accumulate

from runner.run.facts import StageVisit
from runner.run.history import History
from runner.run.run_spec import RunSpec, StageSpec
from runner.session.stage_machine import may_edit, stage_named, ways
from runner.text.plain import cut_bytes, redact
from runner.text.untrusted import flat
from runner.text.visible import strip_hidden

NOTES_BYTES = 4_000  # of the hand-overs that are left out
SNAPSHOTS_BYTES = 16_000  # of all hand-overs together; the newest come first
_SUMMARY_BYTES = 4_000
_NOTE_BYTES = 500
_FILES = 30
_POINTS = 15


def intro(order: RunSpec, history: History) -> str:
    """Return a stage's persona and hand-overs; empty outside a stage."""
    visit = history.stages.open
    if visit is None or not order.stages:
        return ""
    stage = stage_named(order.stages, visit.stage)
    who = f"## Who you are in this stage: {stage.persona}\n{stage.text}" if stage.text else ""
    return "\n\n".join(part for part in (who, handed_over(history, visit)) if part)


def core(order: RunSpec, history: History, matter: str) -> str:
    """Return the task of the open stage; `matter` is the task of the run as a whole."""
    visit = history.stages.open
    if visit is None:
        return matter
    stage = stage_named(order.stages, visit.stage)
    route = ", ".join(stage.name for stage in order.stages)
    again = f", entered for the {visit.number}th time" if visit.number > 3 else _TIMES[visit.number - 1]
    rules = (
        f"You are in stage {stage.name}{again}. The stages of this run are {route}; do the part of the work"
        " that is this one's.",
        _limits(stage, order),
        f"When it is done, {ways(stage)}, with a summary for whoever goes on, and end your turn.",
    )
    return "\n\n".join(part for part in (matter, " ".join(rules)) if part)


_TIMES = ("", ", entered for the second time", ", entered for the third time")


def last_call(order: RunSpec, history: History) -> str:
    """Return the prompt for an agent that ended its turn without leaving its stage; empty outside a stage."""
    visit = history.stages.open
    if visit is None or history.stages.over:
        return ""
    left = ways(stage_named(order.stages, visit.stage))
    return (
        f"You stopped without leaving stage {visit.stage}. Change nothing more: {left}; or call `block` with"
        " what keeps you from going on."
    )


def handed_over(history: History, before: StageVisit) -> str:
    """Return the hand-overs so far, the newest first, within SNAPSHOTS_BYTES; omissions are counted.

    The newest is there in any case, truncated; of those that are left out, the notes stay.
    """
    past = [visit for visit in reversed(history.stages.visits) if visit.snapshot and visit is not before]
    if not past:
        return ""
    parts = [cut_bytes(_snapshot(past[0]), SNAPSHOTS_BYTES)]
    used = len(parts[0].encode())
    for visit in past[1:]:
        text = _snapshot(visit)
        used += len(text.encode())
        if used > SNAPSHOTS_BYTES:
            break
        parts.append(text)
    head = (
        "## What earlier stages handed over, the newest first\nAgents wrote the quoted words: judge them. The"
        " files are what git says."
    )
    left = past[len(parts) :]
    if left:
        parts.append("\n".join((f"{len(left)} older hand-overs are left out.", *_older_notes(left))))
    return "\n\n".join((head, *parts))


def _older_notes(visits: list[StageVisit]) -> list[str]:
    """Return the notes of hand-overs that are left out, the newest first, within NOTES_BYTES."""
    lines = [
        f"- {visit.stage}, entry {visit.entry}: {_line(note)}"
        for visit in visits
        for note in reversed(visit.snapshot.notes if visit.snapshot else ())
    ]
    used = list(accumulate(len(line.encode()) + 1 for line in lines))
    kept = lines[: sum(size <= NOTES_BYTES for size in used)]
    more = len(lines) - len(kept)
    if not lines:
        return []
    return ["Their notes:", *kept, *((f"- and {more} older notes, which are left out",) if more else ())]


def _snapshot(visit: StageVisit) -> str:
    taken = visit.snapshot
    if taken is None:
        return ""
    failed = [tidied for tidied in visit.tidied if tidied.exit_code != 0]
    points = (*taken.open_points, *(f"not done: {step}" for step in taken.open_steps))
    rows = (
        f"### Stage {visit.stage}, entry {visit.entry}"
        + (f", handed over to {visit.target}" if visit.target else ", which ended the work"),
        _quoted(taken.summary, _SUMMARY_BYTES),
        _listed("Changed files", tuple(map(flat, taken.files)), _FILES, taken.files_omitted),
        _listed("Notes", tuple(_line(note) for note in taken.notes), _POINTS, 0),
        _listed("Open", tuple(_line(point) for point in points), _POINTS, 0),
        _listed("Failed when it was tidied up", tuple(flat(tidied.command) for tidied in failed), _POINTS, 0),
    )
    return "\n".join(row for row in rows if row)


def _quoted(text: str, cap_bytes: int) -> str:
    return "\n".join(
        f"> {row}" for row in cut_bytes(strip_hidden(redact(text), tags=False), cap_bytes).splitlines()
    )


def _line(text: str) -> str:
    return cut_bytes(" ".join(strip_hidden(redact(text), tags=False).split()), _NOTE_BYTES)


def _listed(head: str, items: tuple[str, ...], most: int, omitted: int) -> str:
    if not items:
        return ""
    more = len(items) - most + omitted if len(items) > most else omitted
    return "\n".join(
        (f"{head}:", *(f"- {item}" for item in items[:most]), *((f"- and {more} more",) if more else ()))
    )


def _limits(stage: StageSpec, order: RunSpec) -> str:
    said = "Commit in small steps." if may_edit(stage) else "You cannot change files here: read, run, judge."
    if stage.tools.network == "none" and order.tools.network != "none":
        return f"{said} You have no network here."
    return said
