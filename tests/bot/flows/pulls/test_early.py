"""`publish: early`, from the policy to the pull request: unfinished work is seen, never called ready."""

from dataclasses import replace

import pytest

from forge.store.board import Item
from ledger.events.guard import GuardsJudged
from ledger.events.run import BranchPushed
from ledger.states import Ending
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.settings import with_column
from tests.runner.flows.test_hosts import ASK, commit
from tests.runner.guards.test_guards import KEY

FINISH = {"finish": {"done": "It greets."}}


@pytest.fixture
def parked(cardinal: Cardinal) -> Item:
    """Return a card whose run published its first commit, and asks."""
    cardinal.set_policy(with_column(publish="early"))
    cardinal.catch_up()
    cardinal.scenario(work=[*commit("first"), ASK, FINISH])
    item = cardinal.new(column="In Progress")
    cardinal.catch_up(work=True)
    return item


def body(cardinal: Cardinal, item: Item) -> str:
    return cardinal.pull_of(item).issue.body or ""


def test_a_run_that_parked_is_seen_and_goes_on_from_its_branch_on_another_host(
    cardinal: Cardinal, parked: Item
) -> None:
    pull = cardinal.pull_of(parked)
    assert pull.draft
    assert pull.head_sha == cardinal.run_of(parked).pushed_head
    assert "**Not finished.** 🙋 Run r1 is waiting for you: answer its question" in body(cardinal, parked)
    cardinal.configure(home=cardinal.services.config.home / "far")
    cardinal.services = replace(cardinal.services, host="far")
    cardinal.scenario(work=[*commit("second"), FINISH])
    cardinal.say(parked, "Moin")
    cardinal.catch_up(work=True)
    run = cardinal.run_of(parked)
    assert (run.ending, run.host) == (Ending.SUCCEEDED, "far"), run.detail
    git = cardinal.forge.store.repos.git(cardinal.repo)
    assert git.read(pull.head_sha, "first.txt") == b"first\n"
    assert git.read(pull.head_sha, "second.txt") == b"second\n"
    assert not pull.draft
    assert "Not finished" not in body(cardinal, parked)
    assert len(cardinal.forge.store.pulls.all(cardinal.repo)) == 1
    cardinal.assert_nothing_is_stuck()


def test_what_a_cancelled_run_published_stays_a_draft_until_another_run_finished_it(
    cardinal: Cardinal, parked: Item
) -> None:
    pull = cardinal.pull_of(parked)
    cardinal.say(parked, "/cardinal cancel")
    cardinal.catch_up(work=True)
    assert "**Not finished.** 🛑 Run r1 was cancelled" in body(cardinal, parked)
    assert f"1 commit pushed, pull request #{pull.number}" in "\n".join(cardinal.told(parked))
    cardinal.drag(parked, "QA")
    cardinal.catch_up(work=True)
    assert pull.draft
    cardinal.scenario(work=[FINISH])
    cardinal.drag(parked, "In Progress")
    cardinal.catch_up(work=True)
    run = cardinal.run_of(parked)
    assert (run.run_id, run.ending) == ("r2", Ending.SUCCEEDED), run.detail
    assert not pull.draft
    assert "Not finished" not in body(cardinal, parked)


def test_a_secret_keeps_everything_at_home_and_the_log_says_why(cardinal: Cardinal) -> None:
    cardinal.set_policy(with_column(publish="early"))
    cardinal.catch_up()
    cardinal.scenario(
        work=[{"edit": {"path": "key.txt", "content": f"{KEY}\n"}}, {"commit": "A key"}, ASK, FINISH]
    )
    item = cardinal.new(column="In Progress")
    cardinal.catch_up(work=True)
    assert cardinal.card(item).pull_number is None
    assert cardinal.events(BranchPushed) == []
    (judged,) = cardinal.events(GuardsJudged)
    assert "(rule 'secrets: deny')" in judged.withheld
    assert cardinal.run_of(item).question_id
