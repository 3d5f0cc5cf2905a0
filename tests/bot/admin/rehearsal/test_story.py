"""The story of a card in a rehearsal: people, the scripted agent and a Cardinal that works meanwhile."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.admin.rehearsal import story
from bot.admin.rehearsal.belief import BeliefVerdict, Comparison, compare_belief
from bot.admin.rehearsal.play import require_free
from bot.admin.rehearsal.remains import remove_remains
from bot.admin.rehearsal.stage import Nobody, PersonAct
from forge.store.reviews import LineComment
from ledger.events.run import RunQueued
from tests.bot.admin.rehearsal.conftest import Alice, Rehearsals, with_place
from tests.bot.flows.opening import opened
from tests.bot.flows.settings import with_column

WORK = [
    {"edit": {"path": "hello.txt", "content": "Hello.\n"}},
    {"commit": "Say hello"},
    {"finish": {"done": "It is there."}},
]
REVISE = [
    {"edit": {"path": "hello.txt", "content": "Hello again.\n"}},
    {"thread": {"match": "", "say": "Done."}},
    {"commit": "Say it again"},
    {"finish": {"done": "As you asked."}},
]


@dataclass
class AtWork(Alice):
    """Alice, and a Cardinal that works after each of her acts; she only says that she did `leaves_out`."""

    leaves_out: PersonAct | None = None

    def does(self, act: PersonAct, number: int, column: str = "") -> bool:
        if act is not self.leaves_out and not super().does(act, number, column):
            self._does_more(act, number)
        self.cardinal.catch_up(work=True)
        return True

    def _does_more(self, act: PersonAct, number: int) -> None:
        store, alice = self.cardinal.forge.store, self.cardinal.person("alice")
        repo = store.repos.get("acme", "throw-away")
        if act is PersonAct.APPROVE:
            comments = repo.issues[number].comments
            self.cardinal.tick(next(it for it in reversed(comments) if "box:approve" in it.body), "approve")
            return
        pull = store.pulls.get(repo, number)
        if act is PersonAct.ACCEPT:
            store.reviews.submit(pull, "APPROVE", "", [], actor=alice)
        else:
            line = LineComment("hello.txt", "Twice, please.", 1)
            store.reviews.submit(pull, "REQUEST_CHANGES", "Again.", [line], actor=alice)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Rehearsals]:
    with opened(tmp_path / "here") as cardinal:
        cardinal.scenario(work=WORK, revise=REVISE)
        cardinal.set_policy(with_column(plan_approval="required"))
        cardinal.catch_up()
        rehearsals = with_place(cardinal)
        rehearsals.is_up = True
        cardinal.forge.store.settings.closed_moves_to = ""
        yield rehearsals


def played(rehearsals: Rehearsals, leaves_out: PersonAct | None = None) -> list[Comparison]:
    stage = rehearsals.stage(AtWork(rehearsals.cardinal, leaves_out))
    _ = stage.mail
    try:
        return [compare_belief(belief, stage) for belief in story.beliefs]
    finally:
        remove_remains(stage)


def test_a_card_is_planned_worked_on_reviewed_and_merged(served: Rehearsals) -> None:
    findings = played(served)
    assert [comparison.verdict for comparison in findings] == [BeliefVerdict.HOLDS] * 6, [
        comparison for comparison in findings if comparison.differences or comparison.because
    ]


@pytest.mark.parametrize(
    ("leaves_out", "name"),
    [
        (PersonAct.TICK, "person: tick"),
        (PersonAct.APPROVE, "story: pull request"),
        (PersonAct.REVIEW, "story: review"),
        (PersonAct.ACCEPT, "story: merge"),
    ],
)
def test_an_act_that_github_does_not_tell_is_found_where_it_was_needed_and_nothing_remains(
    served: Rehearsals, leaves_out: PersonAct, name: str
) -> None:
    otherwise = [it.name for it in played(served, leaves_out) if it.verdict is BeliefVerdict.OTHERWISE]
    assert otherwise[:1] == [name]
    branches = served.cardinal.forge.store.repos.git(served.repo).branches()
    assert list(branches) == ["main"]
    assert [issue.number for issue in served.repo.issues.values() if issue.state == "open"] == []
    require_free(served.stage().hub, "acme/throw-away", yes=False)


def test_without_a_person_nothing_of_it_is_tried(served: Rehearsals) -> None:
    stage = served.stage(Nobody())
    findings = [compare_belief(belief, stage) for belief in story.beliefs]
    remove_remains(stage)
    assert {comparison.because for comparison in findings[:3]} == {"no one did it"}
    assert {comparison.verdict for comparison in findings} == {BeliefVerdict.NOT_TRIED}


def test_a_board_without_the_scripted_agent_hires_nobody(served: Rehearsals) -> None:
    served.cardinal.set_policy(with_column(agent="claude"))
    served.cardinal.catch_up()
    findings = {comparison.name: comparison for comparison in played(served)}
    assert findings["story: plan"].because == "no column on the board uses the scripted agent"
    assert served.cardinal.events(RunQueued) == []
