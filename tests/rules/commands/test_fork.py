"""`/cardinal fork`: a run begins beside the card's from a point that is kept of an earlier one."""

from dataclasses import replace
from typing import Any

import pytest

from rules.chatops.parser import Parsed, Permitted, permit
from rules.commands.fork import read_fork
from rules.commands.rerun import Wish
from rules.policy.model import Policy
from rules.snapshot import Snapshot
from tests.rules.chatops.test_offers import PICKY
from tests.rules.commands.cases import handled, told
from tests.rules.commands.test_rerun import AGAIN, BESIDE, PAST
from tests.rules.scene import POLICY, card, ended, run

POINTS = ("stage:verify", "stage:build", "question", "plan")
KEPT = replace(PAST, points=POINTS)
FORK = replace(AGAIN, mode_rule="fork", forked_at="plan")


def with_past(past: Any = KEPT, **changes: Any) -> Snapshot:
    return card(**{"run": ended(), "past": past, **changes})


@pytest.mark.parametrize(
    ("said", "changes"),
    [
        ("--at plan", {}),
        ("r1 --at plan", {}),
        ("r1 —at=plan Use a queue\nof two.", {"asked": "Use a queue\nof two."}),
        ("r1 --at question No.", {"forked_at": "question", "asked": "No."}),
        ("r1 --at stage", {"forked_at": "stage:verify"}),
        ("r1 --at build", {"forked_at": "stage:build"}),
        ("r1 --at stage:build", {"forked_at": "stage:build"}),
        ("--agent codex `r1` --at plan r2 was right", {"other_agent": "codex", "asked": "r2 was right"}),
        ("--at plan --model opus", {"other_agent": "claude/opus"}),
        ("--at plan use --at", {"asked": "use --at"}),
    ],
)
def test_it_is_queued_from_a_point_with_the_words_for_its_agent(said: str, changes: dict[str, Any]) -> None:
    assert handled("fork", with_past(), said) == (replace(FORK, **changes),)


def test_the_only_point_needs_no_name_and_a_living_run_is_forked_as_well() -> None:
    one = replace(KEPT, run=run(settings=PAST.run.settings), points=("plan",))
    assert handled("fork", with_past(one, run=run()), "r1") == (FORK,)


@pytest.mark.parametrize(
    ("snapshot", "argument", "said"),
    [
        (with_past(), "r1", "choose `--at stage:verify`, `--at stage:build`, `--at question` or `--at plan`"),
        (
            with_past(replace(KEPT, points=("question", "plan"))),
            "r1 --at stage",
            "not kept at `stage`",
        ),
        (with_past(replace(KEPT, points=())), "r1 --at plan", "nothing of r1 is kept to begin at"),
        (with_past(), "r1 --at question", "write another one behind"),
        (with_past(), "r1 --at", "`--at` is unclear"),
        (with_past(), "r1 --at --agent codex", "`--at` is unclear"),
        (with_past(), "r1 --at plan --at plan", "`--at` is unclear"),
        (with_past(), "r1 --at plan --agent gemini", "no column of the policy has the agent `gemini`"),
        (with_past(None), "r9 --at plan", "this card has no r9"),
        (with_past(archived=True), "--at plan", "left the board"),
        (with_past(reruns=(BESIDE, BESIDE, BESIDE)), "--at plan", "are at work beside this card already"),
    ],
)
def test_it_says_why_nothing_was_started(snapshot: Snapshot, argument: str, said: str) -> None:
    assert said in told("fork", snapshot, argument)


@pytest.mark.parametrize("text", ["", " ", "` ` `", "--at", "=", "r1 = --at = plan", "--at\nplan\nx", "–at"])
def test_odd_words_are_read_without_an_error(text: str) -> None:
    assert isinstance(read_fork(text), Wish)


def test_who_may_not_start_a_run_or_approve_its_plan_forks_none() -> None:
    def may(role: str, by: Policy = POLICY) -> bool:
        return isinstance(permit(by, Parsed("fork", "r1"), role=role, login="carol"), Permitted)

    assert [may(role) for role in ("read", "triage", "write", "admin")] == [False, False, True, True]
    assert [may(role, PICKY) for role in ("write", "maintain", "admin")] == [False, False, True]
