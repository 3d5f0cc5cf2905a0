"""The operator's commands on the host: the same as a comment's, told on the card, without GitHub's answer."""

import json

import pytest
from click.testing import CliRunner, Result

from bot.cli.__main__ import main
from forge.store.board import Item
from ledger.events.board import StopLifted, StopOrdered
from ledger.events.conversation import CommandGiven, CommandRefused
from ledger.states import Ending
from rules.policy.model import DEFAULT_TEXT
from tests.bot.flows.cardinal import Cardinal

BOARD, COLUMN = "acme/1", "In Progress"


def typed(cardinal: Cardinal, *words: str) -> Result:
    config = cardinal.services.config
    environ = {
        "CARDINAL_HOME": str(config.home),
        "CARDINAL_GITHUB_URL": config.github_url,
        "CARDINAL_APP_ID": str(config.app_id),
        "CARDINAL_PRIVATE_KEY": config.private_key.reveal() if config.private_key else "",
        "CARDINAL_BOARD": BOARD,
        "CARDINAL_DATABASE_URL": config.database_url,
    }
    return CliRunner().invoke(main, words, env=environ)


@pytest.fixture
def item(cardinal: Cardinal) -> Item:
    item = cardinal.new(column=COLUMN)
    cardinal.catch_up()
    return item


def test_a_run_a_card_a_column_and_a_board_are_stopped_and_go_on(cardinal: Cardinal, item: Item) -> None:
    card = cardinal.card(item)
    name = f"{card.repository}#{card.number}"
    run_id = cardinal.run_of(item).run_id
    cardinal.forge.gateway.calls.clear()
    for words in ((name,), (BOARD, "--column", COLUMN), (BOARD,)):
        for word in ("stop", "resume"):
            done = typed(cardinal, word, *words, "--json")
            assert done.exit_code == 0, done.output
            assert json.loads(done.stdout)["card"] == name
    assert cardinal.calls("/permission") == []
    scopes = [(event.scope, event.by) for event in cardinal.events(StopOrdered)]
    assert scopes == [(scope, "the operator") for scope in ("card", "column", "board")]
    assert [event.scope for event in cardinal.events(StopLifted)] == ["card", "column", "board"]
    assert typed(cardinal, "stop", run_id, "--cancel").exit_code == 0
    cardinal.catch_up()
    assert cardinal.run(run_id).ending is Ending.CANCELLED
    said = "`the operator` gave `/cardinal cancel` on the command line of Cardinal's host"
    assert sum(said in comment for comment in cardinal.told(item)) == 1
    assert {event.place for event in cardinal.events(CommandGiven)} == {"cli"}


def test_a_command_about_a_run_reaches_no_later_one(cardinal: Cardinal, item: Item) -> None:
    first = cardinal.run_of(item).run_id
    assert typed(cardinal, "stop", first, "--cancel").exit_code == 0
    cardinal.catch_up()
    cardinal.say(item, "/cardinal retry")
    cardinal.catch_up()
    later = cardinal.run_of(item).run_id
    assert later != first
    late = typed(cardinal, "stop", first, "--cancel")
    assert (later in late.output, cardinal.run(later).ending) == (True, None)
    cardinal.catch_up()
    assert cardinal.run(later).ending is None


def test_what_the_policy_refuses_to_every_role_is_refused_and_exits_with_one(
    cardinal: Cardinal, item: Item
) -> None:
    cardinal.set_policy(f"{DEFAULT_TEXT}  commands: {{cancel: ['@alice']}}\n")
    cardinal.catch_up()
    refused = typed(cardinal, "command", cardinal.run_of(item).run_id, "cancel")
    assert (refused.exit_code, "needs" in refused.output) == (1, True)
    assert len(cardinal.events(CommandRefused)) == 1
    assert typed(cardinal, "stop", "acme/shop#999").exit_code == 2
    empty = typed(cardinal, "stop", BOARD, "--column", "Done")
    assert (empty.exit_code, "nothing is done" in empty.output) == (1, True)
