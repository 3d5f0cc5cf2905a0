"""Breadcrumbs and costs of the stages in a run's comment, and in `cardinal show`."""

import json
from dataclasses import replace

import pytest

from bot.render.run import comment
from bot.render.run.stages import describe_usage
from ledger.events.run import PlanApproved, RunEnded, RunQueued, RunRequeued, RunStepped, UsageMetered
from ledger.events.stage import SnapshotTaken, StageEntered, StageLeft, StageReopened
from ledger.ids import RunId
from ledger.log import event_store
from ledger.states import Ending, RunKind
from ledger.views import stages
from tests.bot.render.past import CARD, SETTINGS, Past, R

RUN = RunId("r2")
NAMES = ("build", "check", "tell")
STAGED = json.loads(SETTINGS) | {"stages": [{"name": name, "persona": "tester"} for name in NAMES]}


@pytest.fixture
def staged(past: Past) -> Past:
    """Return a past in which a run with stages has an approved plan and is at work."""
    queued = RunQueued(
        RUN,
        CARD,
        1,
        RunKind.FIRST,
        "In Progress",
        "acme/shop",
        "cardinal/7-totals",
        "scripted",
        "alice",
        "",
        "",
        True,
    )
    past(replace(queued, settings=json.dumps(STAGED)))
    past.planned(run_id=RUN)
    past(PlanApproved(RUN, 1, "alice"), RunRequeued(RUN, "approved"))
    past.step(R.PREPARING, R.WORKING, run_id=RUN)
    return past


def enter(past: Past, stage: str, entry: int, number: int = 1, persona: str = "tester") -> None:
    past(StageEntered(RUN, stage, entry, number, "", "agent", False, persona, "built in", "d" * 64, "m", "c"))


def end_stage(
    past: Past, stage: str, entry: int, target: str, files: int = 0, lines: int = 0, added: int = 0
) -> None:
    past(
        SnapshotTaken(RUN, stage, entry, "Done.", (), 0, (), (), (), "c"),
        StageLeft(RUN, stage, entry, target, 0.0, 0, 0, 0, 0.0, files, lines, added),
    )


def crumbs(past: Past) -> str:
    return next(row for row in comment.write(past.story(RUN)).splitlines() if "plan ✓" in row)


def test_the_way_through_the_stages_is_seen_step_by_step(staged: Past) -> None:
    end = "validate ○ → pull request ○"
    assert crumbs(staged) == f"plan ✓ → build ○ → check ○ → tell ○ → {end}"
    enter(staged, "build", 1)
    assert crumbs(staged) == f"plan ✓ → **build ●** → check ○ → tell ○ → {end}"
    end_stage(staged, "build", 1, "check")
    assert crumbs(staged) == f"plan ✓ → build ✓ → **check ●** → tell ○ → {end}"  # or waits to begin
    enter(staged, "check", 2)
    assert crumbs(staged) == f"plan ✓ → build ✓ → **check ●** → tell ○ → {end}"


def test_a_stage_behind_the_one_that_is_entered_again_is_still_to_come(staged: Past) -> None:
    for entry, stage in enumerate(("build", "check"), start=1):
        enter(staged, stage, entry)
        end_stage(staged, stage, entry, "build")
    enter(staged, "build", 3, 2)
    assert "**build ● ×2** → check ○ → tell ○" in crumbs(staged)


def test_a_run_that_failed_shows_in_which_stage(staged: Past) -> None:
    enter(staged, "build", 1)
    end_stage(staged, "build", 1, "check")
    enter(staged, "check", 2)
    staged(RunEnded(RUN, Ending.FAILED, "gave_up", "It left.", "working: x"))
    assert "build ✓ → **check ✗** → tell ○ → validate ○" in crumbs(staged)


def test_a_stage_that_no_work_went_through_has_no_tick_when_the_run_is_done(staged: Past) -> None:
    enter(staged, "build", 1)
    end_stage(staged, "build", 1, "")
    staged(RunStepped(RUN, R.WORKING, R.VALIDATING))
    assert "build ✓ → check ○ → tell ○ → **validate ●**" in crumbs(staged)


def test_the_breadcrumbs_say_what_each_stage_used_and_changed(staged: Past) -> None:
    enter(staged, "build", 1)
    staged(UsageMetered(RUN, 0.5, 40_000, 2_300, 3, 240.0))
    end_stage(staged, "build", 1, "check", 3, 120, 100)
    enter(staged, "check", 2)
    staged(UsageMetered(RUN, 0.05, 400, 20, 1, 30.0))
    way = "plan ✓ → build ✓ 42k · $0.50 · 4 min · +100 −20 → **check ●** 420 · $0.05 · 30 s → tell ○"
    assert way in crumbs(staged)
    assert "- Stages: `build by tester, check by tester`" in comment.write(staged.story(RUN))


def test_a_breadcrumb_counts_all_entries_of_its_stage(staged: Past) -> None:
    for entry in (1, 2):
        enter(staged, "build", entry, entry)
        staged(UsageMetered(RUN, 0.25, 600, 100, 3, 20.0))
        end_stage(staged, "build", entry, "check", 1, 4, 3)
    assert "build ✓ ×2 1.4k · $0.50 · 40 s · +6 −2 → **check ●** → tell ○" in crumbs(staged)


def test_what_a_reopened_stage_costs_is_added_to_it(staged: Past) -> None:
    enter(staged, "build", 1)
    staged(UsageMetered(RUN, 0.5, 10, 0, 1, 1.0))
    end_stage(staged, "build", 1, "check", 1, 1)
    enter(staged, "check", 2)
    end_stage(staged, "check", 2, "")
    staged(UsageMetered(RUN, 9.0, 10, 0, 1, 1.0))  # of no stage: validation, say
    staged(StageReopened(RUN, "build", 1, "repair", "c2"), UsageMetered(RUN, 0.25, 10, 0, 1, 1.0))
    assert "**build ●** 20 · $0.75 · 2 s · +0 −1 → check ✓" in crumbs(staged)
    with event_store.reading(staged.engine) as db:
        first, second = stages.of_run(db, RUN)
    assert (first.usd, first.left_at, second.usd) == (0.75, None, 0.0)
    assert describe_usage((first,)).startswith("$0.75 · 20 tokens")


def test_names_of_personas_cannot_break_the_comment(staged: Past) -> None:
    enter(staged, "build", 1, persona="x\n# @everyone <img>")
    text = comment.write(staged.story(RUN))
    assert "\n# @" not in text
    assert "@everyone" not in text.replace("`build by x # @everyone <img>`", "")  # as code it calls nobody
    assert "<img>" not in text.replace("`build by x # @everyone <img>`", "")


def test_a_run_without_stages_looks_as_ever(past: Past) -> None:
    past.planned()
    text = comment.write(past.story())
    assert "**plan ●** → work ○ → validate ○ → pull request ○" in text
    assert "persona" not in text
