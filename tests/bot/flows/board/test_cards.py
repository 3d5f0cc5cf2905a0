"""Cards on the board: seen, dragged, looked at in any order, taken away and brought back."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.github.client import Hub
from bot.ingest import delivery
from bot.scheduler import dispatch
from bot.sync import card
from forge.store.board import Item
from forge.store.settings import DragShape
from ledger.events.board import (
    CardArrived,
    CardAssigned,
    CardHeldBack,
    CardMoved,
    CardSeen,
)
from ledger.events.run import QuestionAnswered, QuestionAsked, RunEnded, RunStopAsked
from ledger.ids import CardId
from ledger.queue import inbox
from ledger.states import Ending
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.opening import opened
from tests.bot.flows.people import issue_of
from tests.bot.flows.settings import with_column


def test_cards_that_stood_there_before_cardinal_came_start_nothing(tmp_path: Path) -> None:
    old: list[Item] = []
    with opened(tmp_path, before=lambda it: old.append(it.new(column="In Progress"))) as cardinal:
        assert {event.arrived for event in cardinal.events(CardSeen)} == {False}
        assert cardinal.card(old[0]).column == "In Progress"
        assert cardinal.ready() == ()
        assert cardinal.told(old[0]) == []
        assert "/cardinal retry starts one" in cardinal.card(old[0]).because
        cardinal.drag(old[0], "Tasks")
        cardinal.catch_up()
        cardinal.drag(old[0], "In Progress")
        cardinal.catch_up()
        assert cardinal.run_of(old[0]).state == "queued"


@pytest.mark.parametrize("shape", list(DragShape))
def test_a_drag_queues_a_run_in_whatever_shape_github_tells_it(cardinal: Cardinal, shape: DragShape) -> None:
    cardinal.forge.store.settings.drag_shape = shape
    item = cardinal.new()
    cardinal.catch_up()
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    assert cardinal.run_of(item).state == "queued"
    assert cardinal.face(item)["Agent"].endswith("queued")
    (move,) = cardinal.events(CardMoved)
    assert move.told_at is not None
    cardinal.assert_nothing_is_stuck()


def test_refresh_requests_that_wait_together_cost_one_read(cardinal: Cardinal) -> None:
    item = cardinal.new()
    cardinal.catch_up()
    for column in ("Planning", "Review", "QA", "Tasks", "Review"):
        cardinal.drag(item, column)
    while cardinal.mail:
        cardinal.receive(cardinal.mail.popleft())
    cardinal.forge.gateway.calls.clear()
    assert len(gathered(cardinal)) >= 5
    cardinal.serve_refreshes()
    assert len(cardinal.calls("Card")) == 1, cardinal.calls("")
    assert cardinal.card(item).column == "Review"
    assert len(cardinal.events(CardMoved)) == 1


def gathered(cardinal: Cardinal) -> list[CardId]:
    """Ingest what is due without looking; return the cards to read, once for each delivery."""
    due = inbox.due_deliveries(cardinal.services.engine, limit=100)
    return [card_id for delivery_id in due for card_id in delivery.ingest(cardinal.services, delivery_id)]


class InterruptedHub(Hub):
    """Lets something happen between GitHub's answer about a card and its recording, once."""

    def interrupt(self, with_: Any) -> None:
        self.next = with_

    def graphql(self, document: str, variables: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        answer = super().graphql(document, variables, **more)
        happen = getattr(self, "next", None)
        if happen is not None and "query Card(" in document:
            self.next = None
            happen()
        return answer


def test_an_older_reading_never_overwrites_a_newer_one(cardinal: Cardinal) -> None:
    item = cardinal.new()
    cardinal.catch_up()
    card_id, services = CardId(item.node_id), cardinal.services
    hub = InterruptedHub(services.config, cardinal.clock)
    slow = replace(services, name="test-2", context=replace(services.context, app=hub))
    refused = list[bool]()

    def meanwhile() -> None:
        cardinal.drag(item, "Review")
        while cardinal.mail:
            cardinal.receive(cardinal.mail.popleft())
        card_ids = gathered(cardinal)
        refused.extend(card.sync_card(services, one) for one in card_ids)

    cardinal.drag(item, "Planning")
    hub.interrupt(meanwhile)
    assert card.sync_card(slow, card_id) is True
    assert set(refused) == {False}, "two read the card at once"
    assert cardinal.card(item).column == "Review"
    cardinal.catch_up()
    assert cardinal.card(item).column == "Review"


def test_deliveries_twice_and_in_reverse_end_in_the_same_state(cardinal: Cardinal) -> None:
    item = cardinal.new()
    cardinal.catch_up()
    for column in ("Planning", "In Progress"):
        cardinal.drag(item, column)
    late = list(cardinal.mail)
    cardinal.mail.clear()
    assert [cardinal.receive(one) for one in reversed(late)] == [True] * len(late)
    assert [cardinal.receive(one) for one in late] == [False] * len(late)
    cardinal.catch_up()
    assert cardinal.run_of(item).attempt == 1
    before = cardinal.count()
    for one in late:
        again = f"{one.guid[:30]}-again"
        cardinal.post(one.event, one.body, again, one.action or "")
    cardinal.catch_up()
    assert cardinal.count() == before
    cardinal.assert_nothing_is_stuck()


def test_a_drag_that_no_delivery_told_is_found_by_the_sweep(cardinal: Cardinal) -> None:
    item = cardinal.new()
    cardinal.catch_up()
    cardinal.drag(item, "In Progress")
    cardinal.mail.clear()
    assert cardinal.sweep() == (item.node_id,)
    assert cardinal.run_of(item).state == "queued"
    cardinal.catch_up()
    cardinal.mail.clear()
    assert cardinal.sweep() == ()


def test_the_sweep_finds_each_difference_once(cardinal: Cardinal) -> None:
    alice = cardinal.person("alice")
    archived, bare, gone = cardinal.new(column="Tasks"), cardinal.new(column=None), cardinal.new()
    cardinal.catch_up()
    cardinal.forge.store.projects.set_archived(archived, True, actor=alice)
    cardinal.forge.store.projects.delete_item(gone, actor=alice)
    cardinal.drag(bare, None)
    cardinal.mail.clear()
    assert set(cardinal.sweep()) == {archived.node_id, gone.node_id}
    assert cardinal.sweep() == ()
    assert (cardinal.card(archived).archived, cardinal.card(gone).archived) == (True, True)


def test_assignees_are_read_with_the_card_and_again_when_somebody_changes_them(cardinal: Cardinal) -> None:
    item, issues = cardinal.new(), cardinal.forge.store.issues
    issues.set_assignees(issue_of(item), ["bob", "alice"], actor=cardinal.person("carol"))
    cardinal.catch_up()
    assert cardinal.card(item).assignees == ("alice", "bob")
    for left in (["alice"], []):
        cardinal.forge.gateway.calls.clear()
        issues.set_assignees(issue_of(item), left, actor=cardinal.person("carol"))
        cardinal.catch_up()
        assert cardinal.card(item).assignees == tuple(left)
        (call,) = cardinal.calls("")
        assert "query Card(" in call
    lists = [event.assignees for event in cardinal.events(CardAssigned)]
    assert lists == [("alice", "bob"), ("alice",), ()]


def test_a_card_on_another_board_of_the_organisation_is_nobodys(cardinal: Cardinal) -> None:
    store, carol = cardinal.forge.store, cardinal.person("carol")
    other = store.projects.create(cardinal.project.owner, "Other", ("Tasks", "In Progress"), actor=carol)
    item = store.projects.add(other, store.issues.create(cardinal.repo, "x", "y", actor=carol), actor=carol)
    store.projects.drag(item, "In Progress", actor=carol)
    before = len(cardinal.events(CardSeen))
    cardinal.forge.gateway.calls.clear()
    cardinal.catch_up()
    assert len(cardinal.events(CardSeen)) == before
    assert cardinal.calls("") == []
    assert cardinal.failures == []


def test_a_move_of_cardinals_own_is_not_taken_for_a_persons(cardinal: Cardinal) -> None:
    cardinal.set_policy(with_column(on_success="{move: Review}", on_leave="ask"))
    cardinal.catch_up()
    item = cardinal.at_work()
    cardinal.finish(cardinal.run_of(item).run_id, files={"new.txt": b"1\n"})
    cardinal.catch_up()
    assert cardinal.column(item) == "Review"
    assert [move.by_cardinal for move in cardinal.events(CardMoved)] == [True]
    assert cardinal.card(item).state == "in_review"
    assert cardinal.events(CardHeldBack) == []


@pytest.mark.after(scene=Cardinal.at_work)
def test_dragging_out_mid_run_puts_the_card_back_and_asks_once(cardinal: Cardinal) -> None:
    item = cardinal.newest
    cardinal.drag(item, "Review")
    cardinal.catch_up()
    assert cardinal.column(item) == "In Progress"
    assert cardinal.card(item).held_back == "Review"
    assert [event.asker for event in cardinal.events(QuestionAsked)] == ["leave"]
    assert cardinal.face(item)["Agent"].endswith("needs input")
    cardinal.drag(item, "Review")
    cardinal.catch_up()
    assert cardinal.column(item) == "In Progress"
    assert len(cardinal.events(QuestionAsked)) == 1
    cardinal.assert_no_leftovers()


@pytest.mark.after(scene=Cardinal.at_work)
def test_choosing_cancel_after_a_drag_out_ends_the_run_and_lets_the_card_go(cardinal: Cardinal) -> None:
    item = cardinal.newest
    run_id = cardinal.run_of(item).run_id
    cardinal.drag(item, "Tasks")
    cardinal.catch_up()
    question = cardinal.events(QuestionAsked)[0]
    cardinal.tick(cardinal.comment(item, "dragged away"), f"choice:{question.question_id}:1")
    cardinal.catch_up()
    assert [(event.how, event.by) for event in cardinal.events(RunStopAsked)] == [("cancel", "alice")]
    cardinal.write(run_id, RunEnded(run_id, Ending.CANCELLED, "cancelled", "kept", "working"))
    cardinal.catch_up()
    assert cardinal.column(item) == "Tasks"
    assert (cardinal.card(item).held_back, cardinal.card(item).state) == ("", "draft")
    cardinal.assert_nothing_is_stuck()


@pytest.mark.after(scene=Cardinal.at_work)
def test_choosing_to_let_it_finish_moves_the_card_when_the_run_has_ended(cardinal: Cardinal) -> None:
    item = cardinal.newest
    cardinal.drag(item, "Review")
    cardinal.catch_up()
    for who in ("alice", "bob"):
        cardinal.say(item, "/cardinal finish", who=who)
    cardinal.catch_up()
    assert cardinal.comment(item, "`alice` let r1 finish first.")
    assert [event.text for event in cardinal.events(QuestionAnswered)] == ["Let it finish"]
    assert cardinal.column(item) == "In Progress"
    cardinal.finish(cardinal.run_of(item).run_id, files={"new.txt": b"1\n"})
    cardinal.catch_up()
    assert cardinal.column(item) == "Review"
    assert cardinal.card(item).state == "in_review"
    assert len(cardinal.events(RunStopAsked)) == 0


@pytest.mark.after(scene=Cardinal.at_work)
def test_dragging_the_card_back_is_an_answer_too(cardinal: Cardinal) -> None:
    item = cardinal.newest
    cardinal.drag(item, "Review")
    cardinal.catch_up(publish=False)
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    assert (cardinal.column(item), cardinal.card(item).column) == ("In Progress", "In Progress")
    assert cardinal.run_of(item).state == "working"


@pytest.mark.parametrize(("rule", "stops"), [("cancel", ["cancel"]), ("finish", [])])
def test_the_policy_may_have_chosen_what_a_drag_out_means(
    cardinal: Cardinal, rule: str, stops: list[str]
) -> None:
    cardinal.set_policy(with_column(on_leave=rule))
    cardinal.catch_up()
    item = cardinal.at_work()
    cardinal.drag(item, "Tasks")
    cardinal.catch_up()
    assert [event.how for event in cardinal.events(RunStopAsked)] == stops
    assert cardinal.events(QuestionAsked) == []


def test_a_card_that_only_waits_is_let_go(cardinal: Cardinal) -> None:
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    run_id = cardinal.run_of(item).run_id
    cardinal.drag(item, "Tasks")
    cardinal.catch_up()
    assert (cardinal.column(item), cardinal.card(item).held_back) == ("Tasks", "")
    run = cardinal.run(run_id)
    assert (run.ending, run.reason) == ("cancelled", "superseded")
    assert cardinal.told(item)[-1].startswith("r1 was not started: `alice` dragged the card to `Tasks`")
    assert cardinal.events(QuestionAsked) == []
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    assert cardinal.run_of(item).state == "queued"
    cardinal.assert_nothing_is_stuck()


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_run_is_not_claimed_while_its_card_is_away_or_a_question_about_that_is_open(
    cardinal: Cardinal,
) -> None:
    item = cardinal.newest
    run_id = cardinal.run_of(item).run_id
    cardinal.drag(item, "Review")
    cardinal.catch_up(publish=False)  # it was asked, and nobody put the card back yet
    dispatch.let_go(cardinal.services.engine, run_id, cardinal.leases[run_id], now=cardinal.clock())
    assert (cardinal.ready(), cardinal.claim(run_id)) == ((), False)
    cardinal.catch_up()
    assert (cardinal.column(item), cardinal.ready()) == ("In Progress", ())
    assert "was dragged away" in cardinal.card(item).because
    cardinal.say(item, "/cardinal finish")
    cardinal.catch_up()
    assert cardinal.ready() == (run_id,)


@pytest.mark.after(scene=Cardinal.at_work)
@pytest.mark.parametrize("late", [0, 1, 2])
def test_out_and_back_before_anybody_looked_starts_again(cardinal: Cardinal, late: int) -> None:
    """However many of the two deliveries come after the look, and in whatever order."""
    item = cardinal.newest
    run_id = cardinal.run_of(item).run_id
    cardinal.write(run_id, RunEnded(run_id, Ending.FAILED, "stalled", "silent", "working"))
    cardinal.catch_up()
    cardinal.clock.forward(10)
    cardinal.drag(item, "Tasks")
    cardinal.clock.forward(2)
    cardinal.drag(item, "In Progress")
    deliveries = list(cardinal.mail)
    cardinal.mail.clear()
    for one in reversed(deliveries[: len(deliveries) - late]):
        cardinal.receive(one)
    cardinal.catch_up()
    card.sync_card(cardinal.services, CardId(item.node_id))
    for one in deliveries:
        cardinal.receive(one)
    cardinal.catch_up()
    again = cardinal.run_of(item)
    assert (again.run_id != run_id, again.state, len(cardinal.events(CardArrived))) == (True, "queued", 1)
    for one in deliveries:
        cardinal.post(one.event, one.body, f"{one.guid[:30]}-again", one.action or "")
    cardinal.catch_up()
    assert len(cardinal.events(CardArrived)) == 1
    cardinal.assert_nothing_is_stuck()
