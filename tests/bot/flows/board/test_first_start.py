"""The first minute: nothing is decided by a policy that nobody wrote, and a drag is a drag."""

from pathlib import Path

import pytest

from bot.github.errors import UnavailableError
from bot.sync.sweep import MAX_PAST
from forge.store.board import Item
from ledger.events.board import BoardSeen, CardMoved, CardSeen
from ledger.events.policy import PolicyLoaded
from ledger.states import CardState
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.opening import opened
from tests.bot.flows.people import issue_of
from tests.bot.flows.runs.test_dependencies import block, close
from tests.bot.flows.settings import POLICY


def receive_all(cardinal: Cardinal) -> None:
    while cardinal.mail:
        cardinal.receive(cardinal.mail.popleft())


def away(cardinal: Cardinal, path: str, count: int = 1) -> None:
    cardinal.forge.store.faults.load({"api": [{"path": path, "status": 503, "count": count}]})


def test_a_drag_waits_for_the_boards_own_file_and_starts_by_it(tmp_path: Path) -> None:
    dragged: list[Item] = []

    def first_minute(cardinal: Cardinal) -> None:
        dragged.append(cardinal.new(column="In Progress"))
        receive_all(cardinal)
        away(cardinal, "/commits/HEAD$", count=2)
        with pytest.raises(UnavailableError):
            cardinal.ingest()  # the board is seen, its file is not
        assert len(cardinal.events(BoardSeen)) == 1
        assert cardinal.events(CardSeen) == []
        cardinal.clock.forward(60)
        cardinal.catch_up(publish=False)
        assert [event.text for event in cardinal.events(PolicyLoaded)] == [POLICY]

    with opened(tmp_path, before=first_minute) as cardinal:
        run = cardinal.run_of(dragged[0])
        assert (run.agent, run.plan_required) == ("scripted", False)


def test_a_first_file_that_is_no_policy_starts_nothing_until_it_is_mended(tmp_path: Path) -> None:
    def spoil(cardinal: Cardinal) -> None:
        cardinal.set_policy("nonsense: true")

    with opened(tmp_path, before=spoil) as cardinal:
        item = cardinal.new(column="In Progress")
        cardinal.catch_up()
        assert cardinal.ready() == ()
        assert cardinal.events(CardSeen) == []
        headers = {option.description for option in cardinal.project.status.options}
        assert not any("agent" in header for header in headers)
        cardinal.set_policy(POLICY)
        cardinal.catch_up()
        assert cardinal.run_of(item).agent == "scripted"
        cardinal.assert_nothing_is_stuck()


def test_a_drag_that_a_delivery_told_is_one_however_late_the_board_is_seen(tmp_path: Path) -> None:
    dragged: list[Item] = []

    def first_minute(cardinal: Cardinal) -> None:
        stood = cardinal.new("Old", column="In Progress")
        cardinal.mail.clear()
        dragged.extend([stood, cardinal.new("New", column="In Progress")])
        receive_all(cardinal)
        cardinal.clock.forward(60)
        cardinal.catch_up(publish=False)

    with opened(tmp_path, before=first_minute) as cardinal:
        assert cardinal.run_of(dragged[1]).state == "queued"
        assert cardinal.card(dragged[0]).run_id is None


def done(cardinal: Cardinal) -> list[Item]:
    return [item for item in cardinal.project.items if cardinal.column(item) == "Done"]


def titled(cardinal: Cardinal, title: str) -> Item:
    (found_item,) = [item for item in cardinal.project.items if item.title == title]
    return found_item


def done_before(cardinal: Cardinal) -> None:
    """Have cards in the last column: one whose issue is open, one closed, and more than a sweep asks for."""
    cardinal.new("Tables", column="Done")
    close(cardinal, cardinal.new("Keys", column="Done"))
    for number in range(MAX_PAST):
        cardinal.draft(f"Old {number}", "Done")


def test_what_was_done_before_cardinal_came_is_known_and_left_alone(tmp_path: Path) -> None:
    with opened(tmp_path, before=done_before) as cardinal:
        for _ in range(2):
            cardinal.clock.forward(60)
            cardinal.sweep()
            cardinal.catch_up()
        items = done(cardinal)
        assert len(items) > MAX_PAST
        assert {cardinal.card(item).state for item in items} == {CardState.DONE}
        assert {event.arrived for event in cardinal.events(CardSeen)} == {False}
        assert {str(cardinal.face(item)) for item in items} == {"{'Status': 'Done'}"}
        assert cardinal.told(titled(cardinal, "Tables")) == cardinal.told(titled(cardinal, "Keys")) == []
        assert cardinal.events(CardMoved) == []
        tables = titled(cardinal, "Tables")
        cardinal.drag(tables, "In Progress")
        cardinal.catch_up()
        (moved,) = cardinal.events(CardMoved)
        assert (moved.before, moved.after) == ("Done", "In Progress")
        assert cardinal.run_of(tables).state == "queued"


def test_a_card_that_was_done_before_holds_nothing_up(tmp_path: Path) -> None:
    with opened(tmp_path, before=done_before) as cardinal:
        item = cardinal.new("Ship it")
        block(cardinal, item, titled(cardinal, "Tables"), titled(cardinal, "Keys"))
        cardinal.catch_up()
        cardinal.drag(item, "In Progress")
        cardinal.catch_up()
        assert cardinal.ready() == (cardinal.run_of(item).run_id,)


def test_a_card_in_the_last_column_that_is_first_heard_of_by_an_edit_has_not_arrived(
    cardinal: Cardinal,
) -> None:
    cardinal.sweep()
    item = cardinal.new(column="Done")
    cardinal.mail.clear()
    cardinal.clock.forward(60)
    cardinal.forge.store.issues.edit(issue_of(item), title="Add them all up", actor=cardinal.person("carol"))
    cardinal.catch_up()
    event = cardinal.events(CardSeen)[-1]
    assert (event.arrived, cardinal.card(item).state) == (False, CardState.DONE)
