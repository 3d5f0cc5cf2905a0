"""Steps in a row become one line; what failed, what is no step, and another run never disappear in it."""

from datetime import UTC, datetime

import pytest

from bot.render.run import folded_steps
from ledger.event import Zoom
from ledger.events.run import ToolUsed
from ledger.ids import CardId, RunId
from ledger.queries.timeline import TimelineRow

NO_STEP = None  # a question, a check's result, a comment, a failure: the timeline gives steps alone
AT = datetime(2026, 1, 1, tzinfo=UTC)


def used(tool: str, summary: str = "", *, ok: bool = True, run: str = "r1") -> ToolUsed:
    return ToolUsed(RunId(run), tool, summary, ok)


def folded(*steps: ToolUsed | None) -> list[tuple[int, int, str]]:
    """Return the first line of each fold, the one behind its last, and its text; all other lines stay."""
    rows = [
        TimelineRow(seq, CardId("card"), None, Zoom.ACTIVITY, "", str(seq), AT, step=step)
        for seq, step in enumerate(steps)
    ]
    shown = list(folded_steps.fold_rows(rows))
    assert [it for row, under in shown for it in (under or (row,))] == rows
    return [(row.seq, under[-1].seq + 1, row.text) for row, under in shown if under]


RUNS = [used("Bash", "ls"), used("run", "ls"), used("exec_command", "make")]
LATER_RUN = [used("Bash", run="r2"), used("Bash", run="r2")]
MIXED = [used("Edit", "a.py"), used("Bash", "pytest"), used("Read", "a.py"), used("Write", "b.py")]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], []),
        ([used("Bash")], []),
        (RUNS, [(0, 3, "ran 3 commands")]),
        (MIXED, [(0, 4, "ran 1 command · edited 2 files · read 1 file")]),
        ([used("Edit", "a.py"), used("edit", "subagent: a.py")], [(0, 2, "edited 1 file")]),
        ([used("apply_patch", "a.py, b.py"), used("apply_patch", "b.py, c.py")], [(0, 2, "edited 3 files")]),
        ([used("Glob", "*"), used("grep", "*")], [(0, 2, "searched 2 times")]),
        ([used("commit", "One"), used("commit", "One")], [(0, 2, "made 2 commits")]),
        ([used("web_search"), used("<b>"), used("read")], [(0, 3, "read 1 file · took 2 other steps")]),
        ([*RUNS, NO_STEP, *RUNS], [(0, 3, "ran 3 commands"), (4, 7, "ran 3 commands")]),
        ([*RUNS, used("Bash", ok=False), used("Bash")], [(0, 3, "ran 3 commands")]),
        ([used("Bash", ok=False), used("Bash", ok=False)], []),
        ([NO_STEP, NO_STEP], []),
        ([*RUNS, *LATER_RUN], [(0, 3, "ran 3 commands"), (3, 5, "ran 2 commands")]),
    ],
)  # fmt: skip
def test_steps_in_a_row_that_went_well_are_one_line_by_kind(
    lines: list[ToolUsed | None], expected: list[tuple[int, int, str]]
) -> None:
    assert folded(*lines) == expected
