"""A GitHub that is behind: what was just made is unknown for a moment, and reads may show what was before."""

from contextlib import suppress
from datetime import timedelta

import pytest

from bot.github.errors import UnavailableError
from ledger.events.board import CardMoved
from ledger.events.conversation import PersonSaid
from ledger.events.publication import EntryGivenUp
from ledger.events.pull import ReviewSubmitted
from ledger.events.related import CardMade
from ledger.events.run import PlanApproved, QuestionAnswered, RunQueued
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.people import issue_of
from tests.bot.flows.pulls.test_review import delivered, review
from tests.bot.flows.runs.test_new_cards import WORKS
from tests.bot.flows.settings import with_column

DAY_S = 24 * 3600
TOKENS_S = 2 * 3600  # longer than any token of the kept world lasts


def pass_by(cardinal: Cardinal) -> None:
    """Let a minute and a half go by, with the reads, sweeps and acts of that time."""
    for act in (cardinal.catch_up, *(cardinal.sweep, cardinal.catch_up) * 3):
        with suppress(UnavailableError):  # as a tick does: what is due stays due
            act()
        if act == cardinal.catch_up:
            cardinal.clock.forward(30)


def test_a_card_goes_all_the_way_while_github_is_behind(cardinal: Cardinal) -> None:
    cardinal.clock.forward(TOKENS_S)
    delays = {"seed": 3, "tokens_s": 0.5, "heads_s": 10, "nodes_s": 10, "reads_s": 20}
    cardinal.forge.store.faults.load({"delays": delays})
    item = cardinal.new(column="In Progress")
    pass_by(cardinal)
    run_id = cardinal.run_of(item).run_id
    cardinal.begin(run_id)
    cardinal.ask(run_id, "Round up?", "Yes", "No")
    pass_by(cardinal)
    cardinal.say(item, "1", who="bob")
    pass_by(cardinal)
    cardinal.begin(run_id)
    cardinal.finish(run_id, files={"a.txt": b"1"})
    pass_by(cardinal)
    pull = cardinal.pull_of(item)
    cardinal.drag(item, "Review")
    pass_by(cardinal)
    review(cardinal, pull, "APPROVE")
    pass_by(cardinal)
    cardinal.drag(item, "Done")
    pass_by(cardinal)
    assert pull.merged_at is not None, cardinal.card(item).because
    assert issue_of(item).state == "closed"
    assert [(event.after, event.by) for event in cardinal.events(CardMoved)] == [
        ("Review", "alice"),
        ("Done", "alice"),
    ]
    assert (len(cardinal.events(RunQueued)), cardinal.events(EntryGivenUp)) == (1, [])
    met = cardinal.forge.store.faults.delays.met
    assert all(met[name] for name in ("tokens", "heads", "reads")), met
    cardinal.assert_nothing_is_stuck()


@pytest.mark.after(scene=delivered)
@pytest.mark.parametrize("seed", [2, 4])
def test_no_remark_of_a_review_is_lost_to_a_listing_of_before_it(cardinal: Cardinal, seed: int) -> None:
    pull = cardinal.pull_of(cardinal.newest)
    cardinal.forge.store.faults.load({"delays": {"seed": seed, "reads_s": 60}})
    cardinal.sweep()  # GitHub's copy is of now
    review(cardinal, pull, "REQUEST_CHANGES", "Name it", "Test it")
    pass_by(cardinal)
    pass_by(cardinal)
    (submitted,) = cardinal.events(ReviewSubmitted)
    assert [thread.text for thread in submitted.threads] == ["Name it", "Test it"]


@pytest.mark.after(scene=delivered)
@pytest.mark.parametrize("seed", [2, 4])
def test_no_push_is_lost_to_a_read_of_before_it(cardinal: Cardinal, seed: int) -> None:
    pull = cardinal.pull_of(cardinal.newest)
    cardinal.clock.forward(2)  # GitHub's times have whole seconds
    cardinal.forge.store.faults.load({"delays": {"seed": seed, "reads_s": 60}})
    cardinal.sweep()
    files: dict[str, bytes | None] = {"late.txt": b"late"}
    repos = cardinal.forge.store.repos
    head = repos.write_files(cardinal.repo, pull.head_ref, files, "Late", actor=cardinal.person("bob"))
    pass_by(cardinal)
    pass_by(cardinal)
    assert cardinal.card(cardinal.newest).pull_head == head


def test_a_new_issue_that_graphql_does_not_find_yet_still_gets_its_card(cardinal: Cardinal) -> None:
    cardinal.set_policy(with_column(pipelines="{depth: 1, start: true, skills: [fuzzing]}"))
    cardinal.scenario(work=WORKS)
    cardinal.forge.store.faults.load({"delays": {"seed": 1, "nodes_s": 10}})
    item = cardinal.new(column="In Progress")
    for _ in range(4):
        cardinal.catch_up(work=True)
        cardinal.clock.forward(15)
    assert cardinal.forge.store.faults.delays.met["nodes"]
    assert len(cardinal.events(CardMade)) == 1
    made = "POST /repos/acme/shop/issues"
    assert cardinal.calls(made).count(made) == 1
    assert cardinal.events(EntryGivenUp) == []
    assert cardinal.run_of(item).ending == "succeeded"


def later(cardinal: Cardinal) -> None:
    """Put the clock right that was hours ahead; what people do from now on is read a day later."""
    cardinal.clock.wrong_by = timedelta()
    cardinal.clock.forward(60)


@pytest.mark.parametrize("how", ["words", "tick"])
def test_an_answer_that_is_read_late_counts_after_a_question_whose_time_was_wrong(
    cardinal: Cardinal, how: str
) -> None:
    cardinal.clock.wrong_by = timedelta(hours=5)
    item = cardinal.at_work()
    cardinal.ask(cardinal.run_of(item).run_id, "Which port?", "8080", "8081")
    cardinal.catch_up()
    later(cardinal)
    if how == "words":
        cardinal.say(item, "1")
    else:
        cardinal.tick(cardinal.comment(item, "Which port?"), "choice")
    cardinal.clock.forward(DAY_S)
    cardinal.catch_up()
    assert [event.text for event in cardinal.events(QuestionAnswered)] == ["8080"]


def test_an_approval_that_is_read_late_counts_after_a_plan_whose_time_was_wrong(cardinal: Cardinal) -> None:
    cardinal.set_policy(with_column(plan_approval="required"))
    cardinal.clock.wrong_by = timedelta(hours=5)
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    cardinal.plan(cardinal.run_of(item).run_id)
    cardinal.catch_up()
    later(cardinal)
    cardinal.say(item, "/cardinal approve")
    cardinal.clock.forward(DAY_S)
    cardinal.catch_up()
    assert len(cardinal.events(PlanApproved)) == 1


def test_words_that_are_read_late_answer_no_question_that_was_asked_since(cardinal: Cardinal) -> None:
    item = cardinal.at_work()
    said = cardinal.say(item, "Make it 1.")
    mail = [*cardinal.mail]
    cardinal.mail.clear()
    cardinal.clock.forward(60)
    cardinal.ask(cardinal.run_of(item).run_id, "Which port?", "8080", "8081")
    cardinal.catch_up()
    cardinal.mail += mail
    cardinal.catch_up()
    assert said.body in str(cardinal.events(PersonSaid))
    assert cardinal.events(QuestionAnswered) == []
