"""What comes late, twice over or in the wrong order does no harm: it is looked at again before it is done."""

from datetime import datetime

import pytest

from bot.admin.doctor import DoctorContext, examine
from bot.bootstrap import Services
from bot.reactor import reactor
from bot.scheduler import ticker
from bot.sync import card as card_sync
from forge.store.board import Item
from ledger.event import Event
from ledger.events.board import (
    CardExplained,
    CardMoved,
    CardSeen,
    DecisionFailed,
    IssueClosed,
    StopOrdered,
)
from ledger.events.conversation import CommandGiven
from ledger.events.policy import PolicyLoaded
from ledger.events.run import AgentSaid, QuestionAnswered, QuestionAsked, RunEnded, RunParked, RunQueued
from ledger.ids import CardId, QuestionId, RunId
from ledger.log import event_store
from ledger.queue.examinations import Level
from ledger.states import CardState, Ending, RunKind, RunState
from rules.decide import decide
from rules.intents.internal import ChangeCardState
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.snapshot import Snapshot
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.people import issue_of
from tests.bot.flows.settings import POLICY, with_column

FILES = {"a.txt": b"1\n"}


def at_work(cardinal: Cardinal) -> tuple[Item, RunId]:
    """Return the card of the scene, and its run."""
    item = cardinal.newest
    return item, cardinal.run_of(item).run_id


def with_pull(cardinal: Cardinal) -> Item:
    item = cardinal.at_work()
    cardinal.finish(cardinal.run_of(item).run_id, files=FILES)
    cardinal.catch_up()
    return item


def approve(cardinal: Cardinal, item: Item) -> None:
    bob = cardinal.person("bob")
    cardinal.forge.store.reviews.submit(cardinal.pull_of(item), "APPROVE", "", [], actor=bob)
    cardinal.catch_up()


def close(cardinal: Cardinal, item: Item, who: str = "alice") -> None:
    cardinal.forge.store.issues.set_state(issue_of(item), "closed", "not_planned", actor=cardinal.person(who))


@pytest.mark.after(scene=Cardinal.at_work)
@pytest.mark.parametrize("answered", [True, False])
def test_a_run_that_is_cancelled_while_it_parks_ends(cardinal: Cardinal, answered: bool) -> None:
    item, run_id = at_work(cardinal)
    cardinal.write(run_id, QuestionAsked(run_id, QuestionId(f"{run_id}-q1"), "agent", "Well?", ()))
    if answered:
        cardinal.say(item, "yes")
    cardinal.say(item, "/cardinal cancel")
    cardinal.catch_up()
    cardinal.write(run_id, RunParked(run_id, "question"))
    assert cardinal.run_of(item).state is RunState.ENDED


@pytest.mark.after(scene=with_pull)
def test_closed_and_reopened_in_reverse_order_leaves_the_pull_request(cardinal: Cardinal) -> None:
    item = cardinal.newest
    close(cardinal, item)
    cardinal.forge.store.issues.set_state(issue_of(item), "open", actor=cardinal.person("alice"))
    cardinal.mail.reverse()
    cardinal.catch_up()
    assert cardinal.card(item).closed == ""
    assert cardinal.pull_of(item).issue.state == "open"


@pytest.mark.after(scene=with_pull)
def test_a_lost_close_is_found_by_the_sweep_and_gives_the_card_up(cardinal: Cardinal) -> None:
    item = cardinal.newest
    close(cardinal, item)
    cardinal.mail.clear()
    cardinal.sweep()
    cardinal.catch_up()
    assert [(event.by, event.trusted) for event in cardinal.events(IssueClosed)] == [("alice", True)]
    assert cardinal.pull_of(item).issue.state == "closed"
    cardinal.forge.store.issues.set_state(issue_of(item), "open", actor=cardinal.person("alice"))
    cardinal.drag(item, "Review")  # no sweep reads the last column, where GitHub's workflow put the card
    cardinal.mail.clear()
    cardinal.sweep()
    assert cardinal.card(item).closed == ""


@pytest.mark.after(scene=with_pull)
def test_whoever_may_not_write_closes_an_issue_and_destroys_nothing(cardinal: Cardinal) -> None:
    item = cardinal.newest
    close(cardinal, item, "mallory")
    cardinal.catch_up()
    assert [(event.by, event.trusted) for event in cardinal.events(IssueClosed)] == [("mallory", False)]
    assert cardinal.pull_of(item).issue.state == "open"
    assert "archives the card" in cardinal.card(item).because


@pytest.mark.after(scene=with_pull)
def test_a_card_taken_back_out_of_done_is_not_merged(cardinal: Cardinal) -> None:
    item = cardinal.newest
    cardinal.drag(item, "Review")
    approve(cardinal, item)
    cardinal.drag(item, "Done")
    cardinal.catch_up(publish=False)  # the publisher is busy
    cardinal.drag(item, "Review")
    cardinal.catch_up(publish=False)
    cardinal.catch_up()
    assert cardinal.pull_of(item).merged_at is None
    cardinal.drag(item, "Done")
    cardinal.catch_up()
    assert cardinal.pull_of(item).merged_at is not None


@pytest.mark.after(scene=with_pull)
def test_an_approval_that_is_taken_back_before_the_merge_prevents_it(cardinal: Cardinal) -> None:
    item = cardinal.newest
    approve(cardinal, item)
    cardinal.drag(item, "Done")
    cardinal.catch_up(publish=False)
    pull = cardinal.pull_of(item)
    cardinal.forge.store.reviews.dismiss(pull.reviews[-1], "no", actor=cardinal.person("alice"))
    cardinal.catch_up(publish=False)
    cardinal.catch_up()
    assert pull.merged_at is None
    assert cardinal.card(item).state == "blocked"


@pytest.mark.after(scene=with_pull)
def test_what_was_pushed_after_the_approval_is_not_merged(cardinal: Cardinal) -> None:
    item = cardinal.newest
    approve(cardinal, item)
    more: dict[str, bytes | None] = {"b.txt": b"2\n"}
    cardinal.forge.store.repos.write_files(
        cardinal.repo, cardinal.card(item).branch, more, "More", actor=cardinal.person("carol")
    )
    cardinal.catch_up()
    cardinal.drag(item, "Done")
    cardinal.catch_up()
    assert "changed since" in cardinal.card(item).because
    assert cardinal.pull_of(item).merged_at is None
    approve(cardinal, item)
    cardinal.say(item, "/cardinal retry")
    cardinal.catch_up()
    assert "is checked first" in cardinal.card(item).because
    cardinal.catch_up(work=True)
    assert cardinal.pull_of(item).merged_at is not None, cardinal.card(item).because


@pytest.mark.after(scene=with_pull)
def test_a_card_archived_and_restored_keeps_its_pull_request(cardinal: Cardinal) -> None:
    item = cardinal.newest
    for archived in (True, False):
        cardinal.forge.store.projects.set_archived(item, archived, actor=cardinal.person("alice"))
        cardinal.catch_up(publish=False)
    cardinal.catch_up()
    assert cardinal.pull_of(item).issue.state == "open"
    refs = cardinal.forge.store.repos.git(cardinal.repo).refs()
    assert any(cardinal.card(item).branch in ref for ref in refs)


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_late_move_of_the_policy_does_not_undo_a_persons_move(cardinal: Cardinal) -> None:
    cardinal.set_policy(with_column(on_success="{move: Review}"))
    cardinal.catch_up()
    item, run_id = at_work(cardinal)
    cardinal.finish(run_id, files=FILES)
    cardinal.catch_up(publish=False)
    cardinal.drag(item, "Tasks")
    cardinal.catch_up(publish=False)
    cardinal.catch_up()
    assert cardinal.column(item) == "Tasks"


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_question_of_the_board_and_one_of_the_agent_are_two(cardinal: Cardinal) -> None:
    item, run_id = at_work(cardinal)
    cardinal.drag(item, "Review")
    cardinal.catch_up()  # the board asks, and the worker's view of the run is a moment old
    cardinal.write(run_id, QuestionAsked(run_id, QuestionId(f"{run_id}-q1"), "agent", "Which colour?", ()))
    cardinal.write(run_id, RunParked(run_id, "question"))
    cardinal.catch_up()
    assert "has a question" in cardinal.comment(item, "Which colour?").body
    choice = cardinal.comment(item, "dragged the card")
    cardinal.tick(choice, f"choice:{run_id}-b1:2")
    cardinal.say(item, "Red.")
    cardinal.catch_up()
    assert sorted(event.text for event in cardinal.events(QuestionAnswered)) == ["Let it finish", "Red."]
    assert cardinal.run_of(item).state is RunState.QUEUED


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_comment_from_before_the_question_is_not_its_answer(cardinal: Cardinal) -> None:
    item, run_id = at_work(cardinal)
    cardinal.say(item, "Looks promising!")  # its delivery is slow
    cardinal.clock.forward(30)
    cardinal.ask(run_id, "Drop the table?", "Yes", "No")
    cardinal.catch_up()
    assert cardinal.events(QuestionAnswered) == []
    cardinal.say(item, "No")
    cardinal.catch_up()
    assert [event.text for event in cardinal.events(QuestionAnswered)] == ["No"]


def test_an_event_that_cannot_be_decided_is_passed_by_and_told(
    cardinal: Cardinal, caplog: pytest.LogCaptureFixture
) -> None:
    item, other = cardinal.new("One"), cardinal.new("Other")
    cardinal.catch_up()
    teleport = CommandGiven(CardId(item.node_id), "teleport", "", "alice", "admin", "issue", 1, "1")
    with event_store.writing(cardinal.services.engine) as db:
        event_store.append(db, teleport, at=cardinal.clock())
    cardinal.drag(other, "In Progress")
    cardinal.catch_up()
    assert cardinal.run_of(other).state == "queued"
    (failed,) = cardinal.events(DecisionFailed)
    assert (failed.card_id, failed.of) == (item.node_id, "CommandGiven")
    assert "please report this" in cardinal.card(item).because
    patient = DoctorContext(
        cardinal.services.config, cardinal.services.engine, cardinal.services.hub, cardinal.clock()
    )
    (result,) = (one for one in examine(patient) if one.name == "decisions")
    assert (result.level, "CommandGiven" in result.message) == (Level.FAIL, True)
    caplog.clear()


def test_of_a_decision_that_cannot_be_carried_out_nothing_is_left(
    cardinal: Cardinal, caplog: pytest.LogCaptureFixture
) -> None:
    item = cardinal.new()
    cardinal.catch_up()
    card_id = CardId(item.node_id)

    def impossible(policy: Policy, card: Snapshot | None, event: Event, now: datetime) -> Decision:
        if not isinstance(event, CardMoved):
            return decide(policy, card, event, now)
        return Decision((CardExplained(card_id, "half"), ChangeCardState(card_id, CardState.REVISING, "no")))

    with event_store.writing(cardinal.services.engine) as db:
        event_store.append(
            db, CardMoved(card_id, "Planning", "Tasks", by_cardinal=False), at=cardinal.clock()
        )
        reactor.advance(db, now=cardinal.clock(), rules=impossible)
    assert [event.of for event in cardinal.events(DecisionFailed)] == ["CardMoved"]
    assert "half" not in [event.because for event in cardinal.events(CardExplained)]
    caplog.clear()


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_step_of_a_tick_that_fails_keeps_no_other_from_its_turn(
    cardinal: Cardinal, caplog: pytest.LogCaptureFixture
) -> None:
    _, run_id = at_work(cardinal)
    with event_store.writing(cardinal.services.engine) as db:
        event_store.append(db, RunEnded(run_id, Ending.FAILED, "stalled", "silent", ""), at=cardinal.clock())

    def failing(_: Services) -> None:
        raise KeyError("a bug")

    with pytest.raises(KeyError, match="a bug"):
        ticker.tick(cardinal.services, (failing, *ticker.STEPS))
    with event_store.reading(cardinal.services.engine) as db:
        assert reactor.behind(db) == 0
    assert "tick step failed step=failing" in caplog.text


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_policy_that_this_version_cannot_read_starts_nothing_and_stops_nothing(cardinal: Cardinal) -> None:
    (_, working), item = at_work(cardinal), cardinal.new()
    cardinal.catch_up()
    strange = PolicyLoaded(
        cardinal.board_id, "d", POLICY.replace("archetype: execution", "archetype: invention"), "c"
    )
    with event_store.writing(cardinal.services.engine) as db:
        event_store.append(db, strange, at=cardinal.clock())
        reactor.advance(db, now=cardinal.clock())
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    assert cardinal.card(item).column == "Tasks", "no card is looked at before the policy can be read"
    assert cardinal.card(item).run_id is None
    assert cardinal.run(working).state is RunState.WORKING
    assert cardinal.events(DecisionFailed) == []
    patient = DoctorContext(
        cardinal.services.config, cardinal.services.engine, cardinal.services.hub, cardinal.clock()
    )
    result = next(one for one in examine(patient) if one.name == "policy")
    assert (result.level, "this version cannot read the policy" in result.message) == (Level.FAIL, True)
    cardinal.sweep()  # the file itself is good: what waited is looked at now
    cardinal.catch_up()
    assert cardinal.card(item).column == "In Progress"
    assert cardinal.run_of(item).state == "queued"
    assert cardinal.run(working).state is RunState.WORKING


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_long_backlog_is_worked_off_in_parts(cardinal: Cardinal) -> None:
    _, run_id = at_work(cardinal)
    with event_store.writing(cardinal.services.engine) as db:
        event_store.append(db, *(AgentSaid(run_id, "x") for _ in range(2500)), at=cardinal.clock())
    turns = []
    for _ in range(4):
        with event_store.writing(cardinal.services.engine) as db:
            turns.append(reactor.advance(db, now=cardinal.clock()))
    assert turns == [1000, 1000, 500, 0]


@pytest.mark.after(scene=Cardinal.at_work)
def test_cards_of_a_stopped_column_hold_up_no_other_column(cardinal: Cardinal) -> None:
    also = "    Also: {archetype: execution, agent: scripted, model: test}\n    Review:"
    cardinal.set_policy(POLICY.replace("    Review:", also, 1))
    cardinal.catch_up()
    item, _ = at_work(cardinal)
    settings = cardinal.run_of(item).settings
    with event_store.writing(cardinal.services.engine) as db:
        for n in range(52):
            card_id, column = CardId(f"X{n}"), "A gone one" if n < 51 else "In Progress"
            event = CardSeen(
                card_id, cardinal.board_id, "c", f"acme/r{n}", 900 + n, "t", "b", "alice", column,
                CardState.QUEUED, (), False,
            )  # fmt: skip
            queued = RunQueued(
                RunId(f"r{100 + n}"), card_id, 1, RunKind.FIRST, column, f"acme/r{n}", "b", "scripted",
                "alice", "",
                settings, False,
            )  # fmt: skip
            event_store.append(db, event, queued, at=cardinal.clock())
        stop = StopOrdered(cardinal.board_id, "column", "A gone one", "alice")
        event_store.append(db, stop, at=cardinal.clock())
    assert "r151" in cardinal.ready()


@pytest.mark.after(scene=with_pull)
def test_a_look_without_news_about_a_closed_issue_asks_nobody(cardinal: Cardinal) -> None:
    item = cardinal.newest
    close(cardinal, item)
    cardinal.catch_up()
    cardinal.forge.gateway.calls.clear()
    card_sync.sync_card(cardinal.services, CardId(item.node_id))
    assert cardinal.calls("/issues/", "/permission") == []
