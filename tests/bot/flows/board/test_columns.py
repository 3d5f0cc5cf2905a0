"""Columns that people rename, swap or delete: nobody dragged the cards, and it is said once what waits."""

from dataclasses import replace

import pytest

from bot.admin.doctor import CheckResult, DoctorContext
from bot.admin.doctor import board as checkups
from bot.sync import card
from forge.store.board import Item
from ledger.events.board import CardMoved, ColumnsChanged, DecisionFailed, StatusFound, StatusLost
from ledger.events.run import RunEnded
from ledger.ids import CardId
from ledger.queue.examinations import Level
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.settings import POLICY


def rename(cardinal: Cardinal, **names: str) -> None:
    """Give columns other names, all at once, as the settings of the project do; spaces are underscores."""
    now = {before.replace("_", " "): after for before, after in names.items()}
    status = cardinal.project.status
    options = [replace(option, name=now.get(option.name, option.name)) for option in status.options]
    cardinal.forge.store.projects.update_field(status, options=options)


def delete(cardinal: Cardinal, name: str) -> None:
    status = cardinal.project.status
    options = [option for option in status.options if option.name != name]
    cardinal.forge.store.projects.update_field(status, options=options)


def findings(cardinal: Cardinal) -> list[CheckResult]:
    services = cardinal.services
    return list(
        checkups.columns(DoctorContext(services.config, services.engine, services.hub, cardinal.clock()))
    )


def board_status(cardinal: Cardinal) -> str:
    updates = cardinal.project.status_updates
    return updates[0].body if updates else ""


def two_cards(cardinal: Cardinal) -> tuple[Item, Item]:
    """Return a card whose run works and one whose run is queued."""
    working, queued = cardinal.new("Works", column="In Progress"), cardinal.new("Waits", column="In Progress")
    cardinal.catch_up()
    cardinal.begin(cardinal.run_of(working).run_id)
    cardinal.catch_up()
    return working, queued


def test_a_renamed_column_keeps_its_cards_and_says_once_what_waits(cardinal: Cardinal) -> None:
    working, queued = two_cards(cardinal)
    told = len(cardinal.told(queued)), len(cardinal.told(working))
    rename(cardinal, In_Progress="Doing")
    cardinal.sweep()
    cardinal.catch_up()
    assert cardinal.events(CardMoved) == []
    assert (cardinal.column(queued), cardinal.card(queued).column) == ("Doing", "Doing")
    assert (len(cardinal.told(queued)), len(cardinal.told(working))) == told
    assert (cardinal.ready(), cardinal.claim(cardinal.run_of(queued).run_id)) == ((), False)
    assert "`Doing`, which is not an execution column" in cardinal.card(queued).because
    said = board_status(cardinal)
    assert "`In Progress` is called `Doing` now" in said
    assert "1 queued run is waiting for it:" in said
    assert [result.level for result in findings(cardinal)] == [Level.FAIL, Level.WARN]
    cardinal.finish(cardinal.run_of(working).run_id, files={"new.txt": b"1\n"})
    cardinal.catch_up()
    assert "draft" not in cardinal.face(working).get("Agent", "")
    option = cardinal.project.status.option_named("Doing")
    assert option is not None
    assert "agent" not in option.description

    cardinal.set_policy(POLICY.replace("In Progress:", "Doing:"))
    cardinal.catch_up()
    assert cardinal.ready() == (cardinal.run_of(queued).run_id,)
    assert "is called" not in board_status(cardinal)
    assert findings(cardinal) == []


def test_a_look_that_finds_other_columns_reads_them_before_it_believes_in_a_drag(cardinal: Cardinal) -> None:
    item = cardinal.new(column="Review")
    cardinal.catch_up()
    rename(cardinal, Review="QA", QA="Review")
    card.sync_card(cardinal.services, CardId(item.node_id))
    assert cardinal.events(CardMoved) == []
    assert cardinal.card(item).column == cardinal.column(item) == "QA"
    cardinal.drag(item, "Review")
    cardinal.catch_up()
    assert [(event.before, event.after) for event in cardinal.events(CardMoved)] == [("QA", "Review")]


def test_a_deleted_column_is_no_drag_and_its_queue_waits_until_it_is_there_again(cardinal: Cardinal) -> None:
    working, queued = two_cards(cardinal)
    delete(cardinal, "In Progress")
    for item in (working, queued):
        card.sync_card(cardinal.services, CardId(item.node_id))
    cardinal.sweep()
    cardinal.catch_up()
    assert (cardinal.events(CardMoved), len(cardinal.events(ColumnsChanged))) == ([], 1)
    assert (cardinal.card(queued).column, cardinal.ready()) == (None, ())
    assert "`In Progress` was deleted; 1 queued run is waiting for it" in board_status(cardinal)
    assert cardinal.run_of(working).state == "working"
    status = cardinal.project.status
    again = replace(status.options[0], id="", name="In Progress", description="")
    cardinal.forge.store.projects.update_field(status, options=[*status.options, again])
    cardinal.sweep()
    cardinal.drag(queued, "In Progress")
    cardinal.catch_up()
    assert cardinal.ready() == (cardinal.run_of(queued).run_id,)
    assert cardinal.events(RunEnded) == []


def test_without_its_field_status_the_board_is_not_read_as_drags_and_says_what_to_do(
    cardinal: Cardinal,
) -> None:
    _, queued = two_cards(cardinal)
    cardinal.forge.store.projects.update_field(cardinal.project.status, name="Stage")
    assert card.sync_card(cardinal.services, CardId(queued.node_id)) is False
    assert cardinal.sweep() == ()
    cardinal.publish()
    cardinal.clock.forward(60)
    cardinal.publish()
    assert [event.renamed for event in cardinal.events(StatusLost)] == ["Stage"]
    assert "Status is called `Stage` now" in board_status(cardinal)
    assert findings(cardinal)[0].next_step == "rename `Stage` back"
    cardinal.forge.store.projects.update_field(cardinal.project.status, name="Status")
    cardinal.sweep()
    cardinal.catch_up()
    assert len(cardinal.events(StatusFound)) == 1
    assert cardinal.events(CardMoved) == []
    assert cardinal.card(queued).column == "In Progress"


def test_a_run_whose_column_was_renamed_or_deleted_still_says_what_it_waits_for(cardinal: Cardinal) -> None:
    """The column is no execution column any more; whose question is open, and whose is answered, is said."""
    working, asked = cardinal.new("Works", column="In Progress"), cardinal.new("Asks", column="In Progress")
    cardinal.catch_up()
    for item in (working, asked):
        cardinal.begin(cardinal.run_of(item).run_id)
    cardinal.ask(cardinal.run_of(asked).run_id, "Which till?")
    cardinal.catch_up()
    rename(cardinal, In_Progress="Doing")
    cardinal.sweep()
    cardinal.ask(cardinal.run_of(working).run_id, "Which drawer?")
    cardinal.say(asked, "The left one")
    cardinal.catch_up()
    assert (cardinal.card(working).state, cardinal.card(asked).state) == ("needs_input", "queued")
    assert cardinal.face(working)["Agent"].endswith("needs input")
    assert "1 waiting on you" in board_status(cardinal)
    delete(cardinal, "Doing")
    cardinal.sweep()
    cardinal.say(working, "The upper one")
    cardinal.catch_up()
    assert cardinal.card(working).state == "queued"
    assert cardinal.events(DecisionFailed) == []


@pytest.mark.parametrize("how", ["the policy follows", "renamed back"])
def test_a_card_that_was_dragged_where_the_policy_named_nothing_says_how_it_stands_once_it_does(
    cardinal: Cardinal, how: str
) -> None:
    item, other = cardinal.new(column="Tasks"), cardinal.new("Other", column="Review")
    rename(cardinal, In_Progress="Doing")
    cardinal.drag(item, "Doing")
    cardinal.catch_up()
    assert "names no column `Doing`" in cardinal.card(item).because
    if how == "renamed back":
        rename(cardinal, Doing="In Progress")
        cardinal.sweep()
    else:
        cardinal.set_policy(POLICY.replace("In Progress:", "Doing:"))
    cardinal.catch_up()
    card = cardinal.card(item)
    assert (card.state, card.run_id) == ("blocked", None)  # its header promised no agent when it was dragged
    assert "/cardinal retry starts one" in card.because
    assert cardinal.card(other).state == "in_review"
    cardinal.say(item, "/cardinal retry")
    cardinal.catch_up()
    assert cardinal.ready() == (cardinal.run_of(item).run_id,)
