"""What was played in a browser, in the lines that people read of it."""

from typing import Any

import pytest

from bot.render.pull import body
from bot.render.run import comment, report
from bot.render.run.reproduction import list_plays
from ledger.events.reproduction import (
    AFTER,
    BEFORE,
    FAILED,
    KILLED,
    PASSED,
    UNPLAYABLE,
    ReproductionPlayed,
    ReproductionSkipped,
)
from ledger.events.run import RunEnded
from ledger.states import Ending, RunState
from ledger.views.reproductions import ReproductionRow
from tests.bot.render.past import RUN, START, Past

STEPS = ("open /", 'expect "Total 90"')


def row(phase: str, outcome: str, step: int = 0, said: str = "", **more: Any) -> ReproductionRow:
    return ReproductionRow(1, RUN, said, START, phase, "c0", outcome, STEPS, step, **more)


@pytest.mark.parametrize(
    ("played", "line"),
    [
        (row(BEFORE, PASSED), "- Before: could not be reproduced: all 2 steps passed"),
        (row(AFTER, PASSED), "- After: ✅ all 2 steps passed"),
        (
            row(BEFORE, FAILED, 2, "it was not seen", error_count=3),
            '- Before: reproduced: step 2 of 2 failed, `expect "Total 90"`: it was not seen (3 errors on the'
            " console)",
        ),
        (
            row(AFTER, FAILED, 2, "it was not seen"),
            '- After: ⚠️ **it does not work:** step 2 of 2 failed, `expect "Total 90"`: it was not seen',
        ),
        (
            row(BEFORE, KILLED, 0, "the kernel stopped it"),
            "- Before: ⚠️ **killed:** the kernel stopped it; that says nothing about the card;"
            " `/cardinal investigate --repro` plays it again",
        ),
        (row(BEFORE, UNPLAYABLE, 0, "no app"), "- Before: it could not be played: no app"),
        (row(AFTER, UNPLAYABLE, 0, "no app"), "- After: ⚠️ it could not be played: no app"),
    ],
)
def test_each_outcome_has_its_line(played: ReproductionRow, line: str) -> None:
    assert list_plays((played,), "").splitlines()[2:] == [line]


def test_nothing_is_said_of_nothing() -> None:
    assert list_plays((), "") == ""


def test_what_failed_before_and_after_is_not_repaired() -> None:
    failed = row(BEFORE, FAILED, 2, "not seen"), row(AFTER, FAILED, 2, "not seen")
    assert "After: ⚠️ **it is not repaired:** step 2" in list_plays(failed, "")


def test_the_newest_of_each_counts_and_what_was_kept_is_named() -> None:
    before = row(BEFORE, FAILED, 2, "not seen", kept=("console", "screenshot", "trace", "video"))
    after = row(AFTER, FAILED, 2, "not seen"), row(AFTER, PASSED, kept=("screenshot", "screenshot"))
    lines = list_plays((before, *after), "").splitlines()
    assert lines[3] == "- After: ✅ all 2 steps passed"
    assert (
        lines[4]
        == "- Kept: console, 3 screenshots, trace, video: `cardinal artifacts r1` where Cardinal runs"
    )
    linked = list_plays((before, *after), "https://cardinal.example").splitlines()
    assert linked[4] == (
        "- Kept: [console, 3 screenshots, trace, video](https://cardinal.example/runs/r1/artifacts)"
    )


def test_what_a_page_made_of_it_is_harmless() -> None:
    said = list_plays((row(BEFORE, UNPLAYABLE, 0, "@bob <img src=x>\n- [ ] tick\nfixes #1"),), "")
    assert "@bob" not in said
    assert "<img" not in said
    assert len(said.splitlines()) == 3
    assert "fixes #1" not in said


def test_the_run_says_it_while_it_works_and_its_report_and_pull_request_afterwards(past: Past) -> None:
    played = ReproductionPlayed(RUN, BEFORE, "c0", "i", FAILED, STEPS, 2, "not seen", (), 0, ("trace",), 1.0)
    past.step(RunState.PREPARING)
    past(played)
    assert "- Before: reproduced: step 2 of 2 failed" in comment.write(past.story())
    past(RunEnded(RUN, Ending.FAILED, "gave_up", "no more", "working"))
    assert "- Before: reproduced: step 2 of 2 failed" in report.write(past.story())
    assert "- Before: reproduced: step 2 of 2 failed" in body.write(past.story())
    assert "- Before" not in comment.write(past.story())


def test_what_is_missing_for_it_is_said_as_it_is(past: Past) -> None:
    past(ReproductionSkipped(RUN, "Paste:\n\n```yaml\nreproduction: {}\n```"))
    assert "**In a browser**\n\nPaste:\n\n```yaml\n" in comment.write(past.story())
