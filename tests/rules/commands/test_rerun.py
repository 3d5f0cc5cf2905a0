"""`/cardinal rerun`: an earlier run is done again beside it, and the card's own runs do not notice."""

from dataclasses import replace
from typing import Any

import pytest

from ledger.event import Event
from ledger.events.access import AccessLost
from ledger.events.board import CardArchived, IssueClosed, StopOrdered
from ledger.events.run import (
    BranchPushed,
    PlanProposed,
    QuestionAsked,
    RunEnded,
    RunParked,
    RunStepped,
    RunStopAsked,
    ThreadAnswered,
)
from ledger.ids import QuestionId, RunId
from ledger.rows.runs import PastRun, RunRow
from ledger.states import Ending, RunKind, RunState, StopKind
from rules.chatops.parser import Parsed, Permitted, permit
from rules.commands.rerun import read_wish
from rules.intents.internal import QueueRun
from rules.intents.outbound import PostReport, Say, WriteFindings, WriteRunComment
from rules.policy.column import ColumnPolicy
from rules.policy.model import Policy, parse
from rules.runs.rerun import lose_access, stop_rerun
from rules.snapshot import Snapshot
from tests.rules.chatops.test_offers import PICKY
from tests.rules.commands.cases import handled, told
from tests.rules.scene import BOARD, CARD, POLICY, R1, asks, card, ended, given, kinds, only, pull, run

R2 = RunId("r2")
SETTINGS = ColumnPolicy(archetype="execution", agents=("codex", "claude/opus")).to_json()
PAST = PastRun(ended(settings=SETTINGS, agent="claude"), "b" * 40, briefed=True)
OWN_SETTINGS = ColumnPolicy(archetype="execution", agent="own", agents=("codex",)).to_json()
OWN_PAST = PastRun(ended(settings=OWN_SETTINGS, agent="own"), "b" * 40, briefed=True)
BESIDE = replace(run(RunState.WORKING), run_id=R2, kind=RunKind.RERUN, again_of=R1)
AGAIN = QueueRun(
    CARD,
    RunKind.RERUN,
    "bob",
    plan_required=False,
    mode="fix",
    mode_rule="repeat",
    mode_value="r1",
    door="comment",
    again_of=R1,
    base_commit="b" * 40,
)


def with_past(past: PastRun | None = PAST, **changes: Any) -> Snapshot:
    return card(**{"run": ended(), "past": past, **changes})


@pytest.mark.parametrize(
    ("said", "changes"),
    [
        ("", {}),
        ("r1", {}),
        ("R1 --base as-then", {}),
        ("r1 --base now", {"base_commit": ""}),
        ("--agent codex r1", {"other_agent": "codex"}),
        ("r1 —agent=codex", {"other_agent": "codex"}),
        ("r1 --model opus", {"other_agent": "claude/opus"}),
        ("r1 `--agent` claude --model opus --base now", {"other_agent": "claude/opus", "base_commit": ""}),
    ],
)
@pytest.mark.parametrize("column", ["In Progress", "Review", "Done", "Tasks", None])
def test_it_is_queued_wherever_the_card_stands(
    said: str, changes: dict[str, Any], column: str | None
) -> None:
    assert handled("rerun", with_past(column=column), said) == (replace(AGAIN, **changes),)


@pytest.mark.parametrize("own", [run(), run(RunState.PARKED), ended(Ending.FAILED)])
def test_the_card_s_own_run_and_pull_request_make_no_difference(own: RunRow) -> None:
    assert handled("rerun", with_past(run=own, pull=pull("merged"))) == (AGAIN,)


@pytest.mark.parametrize(
    ("snapshot", "argument", "said"),
    [
        (with_past(None), "r9", "this card has no r9"),
        (with_past(replace(PAST, briefed=False)), "r1", "`/cardinal retry` starts a new run"),
        (with_past(replace(PAST, base="")), "r1", "add `--base now`"),
        (
            with_past(PastRun(ended(kind=RunKind.CHECK), "", briefed=False)),
            "r1",
            "`/cardinal check` does so again",
        ),
        (with_past(None, run=None), "", "this card has no run yet"),
        (with_past(PastRun(ended(settings='{"gone": 1}'), "b" * 40, briefed=True)), "r1", "cannot read"),
        (with_past(archived=True), "r1", "left the board"),
        (with_past(reruns=(BESIDE, BESIDE, BESIDE)), "r1", "are at work beside this card already"),
        (with_past(OWN_PAST), "r1 --base now", "somebody's own worker did it"),
        (with_past(OWN_PAST), "r1 --agent own", "the agent `own`"),
        (with_past(), "r1 --agent own", "the agent `own`"),
        (with_past(), "r1 --agent gemini", "no column of the policy has the agent `gemini`"),
        (with_past(), "r1 --agent codex --model opus", "no column gives `codex` the model `opus`"),
        (with_past(), "r1 --base yesterday", "`yesterday` is unclear"),
        (with_past(), "r1 --agent", "`--agent` is unclear"),
        (with_past(), "r1 --agent codex --agent claude", "`--agent` is unclear"),
        (with_past(), "r1 please", "`please` is unclear"),
        (with_past(), "r1 r2", "`r2` is unclear"),
        (with_past(), "r0", "`r0` is unclear"),
    ],
)
def test_it_says_why_nothing_was_started(snapshot: Snapshot, argument: str, said: str) -> None:
    assert said in told("rerun", snapshot, argument)


def test_who_may_not_start_a_run_or_approve_its_plan_repeats_none() -> None:
    def may(role: str, by: Policy = POLICY) -> bool:
        return isinstance(permit(by, Parsed("rerun", "r1"), role=role, login="carol"), Permitted)

    assert [may(role) for role in ("read", "triage", "write", "admin")] == [False, False, True, True]
    assert [may(role, PICKY) for role in ("write", "maintain", "admin")] == [False, False, True]


@pytest.mark.parametrize("option", ["--agent codex", "--model opus"])
def test_who_may_choose_no_agent_repeats_a_run_as_it_was(option: str) -> None:
    by = parse(
        "version: 1\nboard:\n  columns: {In Progress: {archetype: execution}}\n"
        "  commands: {agent: maintain}\n",
        home="acme/board",
    )
    said = asks(with_past(), given("rerun", option), by=by)
    assert "`/cardinal agent` needs the role `maintain`" in only(said, Say).text
    assert "QueueRun" not in kinds(said)
    allowed = asks(with_past(), given("rerun", option, role="maintain"), by=by)
    assert [kinds(allowed), kinds(asks(with_past(), given("rerun"), by=by))] == [["React", "QueueRun"]] * 2


def test_a_long_text_is_read_once() -> None:
    assert read_wish("r1 " * 5_000).wrong == "r1"
    assert read_wish("--agent " + "x" * 8_000).agent == "x" * 8_000


MOVES_NOTHING = [
    RunStepped(R2, RunState.CLAIMED, RunState.PREPARING),
    PlanProposed(R2, 1, "Greet", ("one",)),
    BranchPushed(R2, "cardinal/12-add-login-r2", "d" * 40),
    ThreadAnswered(R2, "t1", "Done."),
    QuestionAsked(R2, QuestionId("r2-q1"), "agent", "Which?", ()),
]


@pytest.mark.parametrize("event", MOVES_NOTHING, ids=lambda it: type(it).__name__)
def test_what_happens_in_it_is_shown_and_does_nothing_to_the_card(event: Any) -> None:
    snapshot = card(run=ended(), pull=pull(), beside=BESIDE)
    assert asks(snapshot, event) == (WriteRunComment(CARD, R2),)


def test_its_end_is_reported_and_moves_no_card() -> None:
    over = RunEnded(R2, Ending.SUCCEEDED, "", "", "publishing")
    snapshot = card(run=run(), beside=replace(BESIDE, state=RunState.ENDED, ending=Ending.SUCCEEDED))
    assert kinds(asks(snapshot, over)) == ["PostReport", "WriteRunComment", "UpdateTicker"]
    looked = replace(snapshot, beside=replace(BESIDE, mode="investigate"))
    assert asks(looked, over)[0] == WriteFindings(CARD, R2)
    assert asks(snapshot, over)[0] == PostReport(CARD, R2)


@pytest.mark.parametrize("why", ["question", "limit", "pause"])
def test_one_that_waits_for_a_person_ends_and_says_what_to_do(why: str) -> None:
    snapshot = card(run=run(), beside=replace(BESIDE, state=RunState.PARKED))
    end = only(asks(snapshot, RunParked(R2, why)), RunEnded)
    assert (end.run_id, end.ending, end.reason) == (R2, Ending.CANCELLED, "gave_up")
    assert "then rerun it" in end.detail


def test_cancel_is_for_the_card_s_own_run_unless_it_names_the_other_one() -> None:
    both = card(run=run(), reruns=(BESIDE,))
    assert only(asks(both, given("cancel")), RunStopAsked).run_id == R1
    assert only(asks(card(run=ended(), reruns=(BESIDE,)), given("cancel")), RunStopAsked).run_id == R2
    named = given("cancel", source="cli:cancel:r2", place="cli")
    assert only(asks(both, named), RunStopAsked).run_id == R2


@pytest.mark.parametrize(
    ("event", "changes"),
    [
        (CardArchived(CARD, "archived", "alice", "write"), {"archived": True}),
        (
            IssueClosed(CARD, "not_planned", "alice", trusted=True),
            {"closed": "not_planned", "given_up": True},
        ),
    ],
)
def test_it_ends_with_a_card_that_is_given_up(event: Event, changes: dict[str, Any]) -> None:
    stopping = replace(BESIDE, run_id=RunId("r3"), stop_asked=StopKind.CANCEL)
    given_up = card(run=ended(), reruns=(BESIDE, stopping), **changes)
    assert only(asks(given_up, event), RunStopAsked).run_id == R2


@pytest.mark.parametrize("own", [run(), ended()])
@pytest.mark.parametrize(
    ("command", "argument"),
    [("pause", ""), ("resume", ""), ("retry", ""), ("redirect", "Use 8080"), ("budget", "+2")],
)
def test_what_names_it_does_nothing_to_the_card_s_own_run(own: RunRow, command: str, argument: str) -> None:
    about = given(command, argument, source=f"cli:{command}:r2", place="cli", role="admin")
    said = only(asks(card(run=own, reruns=(BESIDE,)), about), Say)
    assert "r2 is beside the card's own runs and can only be cancelled" in said.text
    assert not said.is_done


@pytest.mark.parametrize(
    ("scope", "target", "stops"),
    [
        ("board", BOARD, True),
        ("column", "In Progress", True),
        ("column", "Review", False),
        ("card", CARD, True),
        ("card", "PVTI_2", False),
    ],
)
def test_a_kill_switch_cancels_it(scope: str, target: str, stops: bool) -> None:
    asked = stop_rerun(BESIDE, StopOrdered(BOARD, scope, target, "bob")).intents
    assert bool(asked) == stops


@pytest.mark.parametrize(
    ("target", "reason", "stops"),
    [
        ("acme/shop", "removed", True),
        ("Acme/Shop", "archived", True),
        ("acme", "uninstalled", True),
        ("acme/shop", "permissions", False),
        ("acme/other", "removed", False),
        ("ac", "removed", False),
    ],
)
def test_it_is_cancelled_where_its_repository_is_out_of_reach(target: str, reason: str, stops: bool) -> None:
    lost = AccessLost(BOARD, target, reason, "")
    asked = lose_access(BESIDE, lost).intents
    assert [(it.run_id, it.how) for it in asked if isinstance(it, RunStopAsked)] == [(R2, "cancel")] * stops
    assert not lose_access(replace(BESIDE, stop_asked=StopKind.CANCEL), lost).intents
