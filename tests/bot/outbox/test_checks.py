"""Cardinal's check runs: made once for each commit, changed in place, written only when they differ."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.admin.audit.published_heads import Compared, compare
from forge.store.models import CheckRun
from ledger.events.pull import PullChanged
from ledger.events.run import BranchPushed, RunParked, RunStopAsked, ValidationEnded
from ledger.lifecycle.open import open_ledger
from ledger.log import event_store
from ledger.log.hash_chain import verify_chain
from ledger.states import PullState, RunState, StopKind
from rules.intents.outbound import CheckGroup, WriteCheck
from tests.bot.outbox.conftest import BRANCH, Stage
from tests.bot.render.past import RUN, Past

MADE = r"/check-runs$"


def checks(stage: Stage, sha: str) -> list[CheckRun]:
    return stage.forge.store.checks.on_commit(stage.shop, sha)


def labels(run: CheckRun) -> list[str]:
    return [action["label"] for action in run.actions]


def pulled(stage: Stage) -> str:
    """Push and open a pull request as a working run does; return its commit."""
    head = stage.pull().head_sha
    stage.past.step(RunState.PREPARING, RunState.WORKING)
    stage.happen(BranchPushed(RUN, BRANCH, head))
    return head


def test_the_check_is_made_once_and_changed_in_place(stage: Stage) -> None:
    head = pulled(stage)
    stage.do(WriteCheck(stage.card_id, head))
    (check_run,) = checks(stage, head)
    assert (check_run.name, check_run.external_id) == ("cardinal/gate", stage.card_id)
    assert labels(check_run) == ["Pause", "Cancel", "Explain"]
    stage.happen(RunStopAsked(RUN, StopKind.PAUSE, "bob", "/cardinal pause"), RunParked(RUN, "pause"))
    stage.do(WriteCheck(stage.card_id, head))
    assert checks(stage, head) == [check_run]
    assert labels(check_run) == ["Resume", "Cancel", "Explain"]


def test_a_check_that_says_so_already_costs_no_call(stage: Stage) -> None:
    head = pulled(stage)
    stage.do(WriteCheck(stage.card_id, head))
    stage.forge.gateway.calls.clear()
    stage.do(WriteCheck(stage.card_id, head))
    assert stage.calls() == []


@pytest.mark.parametrize("kind", ["cut", "foreign"])
def test_an_answer_that_never_arrives_makes_no_second_check(stage: Stage, kind: str) -> None:
    head = pulled(stage)
    if kind == "foreign":  # somebody else's check of the same name is not taken for it
        other, _ = stage.forge.store.apps.register(stage.forge.store.users.get("acme"), "Other", "other")
        says: dict[str, Any] = {"conclusion": "success", "external_id": stage.card_id}
        stage.forge.store.checks.create(
            stage.shop, "cardinal/gate", head, says, app_slug=other.slug, actor=other.bot
        )
    stage.fault(method="POST", path=MADE, status=502, after=kind == "cut", cut=True)
    stage.do(WriteCheck(stage.card_id, head))
    stage.clock.forward(6)
    stage.publish()
    check_runs = [check_run for check_run in checks(stage, head) if check_run.app_slug == "cardinal"]
    assert len(check_runs) == 1


def test_a_check_that_was_given_up_after_it_was_made_is_found_again(stage: Stage) -> None:
    head = pulled(stage)
    stage.fault(method="POST", path=MADE, status=502, after=True, cut=True)
    stage.do(WriteCheck(stage.card_id, head))
    stage.fault(method="GET", path="/check-runs$", status=422, count=3)
    for wait_s in (6, 30, 90):
        stage.clock.forward(wait_s)
        counts = stage.publish()
    assert counts.given_up == 1
    assert stage.do(WriteCheck(stage.card_id, head)).settled == 1
    assert len(checks(stage, head)) == 1


def test_a_check_that_github_forgot_is_made_anew(stage: Stage) -> None:
    head = pulled(stage)
    stage.do(WriteCheck(stage.card_id, head))
    stage.happen(RunStopAsked(RUN, StopKind.PAUSE, "bob", "/cardinal pause"), RunParked(RUN, "pause"))
    stage.fault(method="PATCH", path=r"/check-runs/\d+$", status=404)
    stage.do(WriteCheck(stage.card_id, head))
    assert labels(checks(stage, head)[0]) == ["Resume", "Cancel", "Explain"]
    assert len(checks(stage, head)) == 2


def test_a_commit_that_was_left_behind_or_a_closed_pull_request_gets_none(stage: Stage) -> None:
    head = pulled(stage)
    number = stage.past.row(stage.card_id).pull_number
    assert number is not None
    stage.happen(PullChanged(stage.card_id, number, PullState.CLOSED, True, head))
    stage.do(WriteCheck(stage.card_id, head))
    stage.do(CheckGroup(stage.card_id, number, head))
    stage.do(WriteCheck(stage.card_id, "b" * 40))
    assert checks(stage, head) == []


def test_a_check_that_was_begun_on_a_commit_that_is_left_behind_ends_there_once(stage: Stage) -> None:
    pulled(stage)
    begun, newest = push_more(stage, "more\n"), push_more(stage, "most\n")
    assert [check_run.conclusion for head in (begun, newest) for check_run in checks(stage, head)] == [
        "action_required",
        None,
    ]
    stage.forge.gateway.calls.clear()
    stage.do(WriteCheck(stage.card_id, begun), WriteCheck(stage.card_id, newest))
    assert stage.calls() == []


def push_more(stage: Stage, text: str) -> str:
    """Push a commit as a run does that goes on, and write its check; return it."""
    stage.push(text)
    number = stage.past.row(stage.card_id).pull_number
    assert number is not None
    head = stage.forge.store.pulls.get(stage.shop, number).head_sha
    stage.happen(PullChanged(stage.card_id, number, "open", True, head), BranchPushed(RUN, BRANCH, head))
    stage.do(WriteCheck(stage.card_id, head))
    return head


def test_a_commit_of_the_queue_that_is_gone_needs_no_check(stage: Stage) -> None:
    head = pulled(stage)
    number = stage.past.row(stage.card_id).pull_number
    assert number is not None
    gone, check_group = CheckGroup(stage.card_id, number, "e" * 40), CheckGroup(stage.card_id, number, head)
    assert stage.do(gone, check_group).given_up == 0
    assert [check_run.status for check_run in checks(stage, head)] == ["completed"]


@pytest.mark.parametrize(("definition", "conclusion"), [("", "success"), ("e" * 64, "action_required")])
def test_a_commit_of_the_queue_is_let_through_by_the_checks_of_now_alone(
    stage: Stage, definition: str, conclusion: str
) -> None:
    head = pulled(stage)
    number = stage.past.row(stage.card_id).pull_number
    assert number is not None
    ended = ValidationEnded(RUN, 2, "full", True, head, "b" * 40, "local", clean=True, definition=definition)
    stage.happen(ended)
    assert stage.do(CheckGroup(stage.card_id, number, head)).given_up == 0
    assert [check_run.conclusion for check_run in checks(stage, head)] == [conclusion]


def test_the_evidence_of_a_monorepo_names_the_paths_whose_checks_ran(stage: Stage) -> None:
    head = pulled(stage)
    paths = (".", "services/api")
    stage.happen(ValidationEnded(RUN, 2, "full", True, head, "b" * 40, "local", clean=True, paths=paths))
    stage.do(WriteCheck(stage.card_id, head))
    assert "checked for these paths: `.`, `services/api`" in checks(stage, head)[-1].output["summary"]


def test_a_history_that_was_written_anew_contradicts_the_heads_that_github_holds(
    stage: Stage, tmp_path: Path
) -> None:
    stage.do(WriteCheck(stage.card_id, pulled(stage)))
    assert compare(stage.context.engine, stage.hub) == Compared(1, ())
    anew = open_ledger(f"sqlite:///{tmp_path}/anew.db")
    with event_store.reading(stage.context.engine) as db:
        past = [recorded.event for recorded in event_store.read(db, limit=10_000)]
    Past(anew, stage.clock() + timedelta(seconds=1))(*past)
    with event_store.reading(anew) as db:
        assert verify_chain(db).events == len(past)
    (differs,) = compare(anew, stage.hub).differs
    assert "acme/shop#" in differs
    anew.dispose()


def test_a_ledger_that_names_no_repository_is_compared_as_well(stage: Stage, tmp_path: Path) -> None:
    stage.do(WriteCheck(stage.card_id, pulled(stage)))
    empty = open_ledger(f"sqlite:///{tmp_path}/empty.db")
    assert len(compare(empty, stage.hub).differs) == 1
    empty.dispose()
