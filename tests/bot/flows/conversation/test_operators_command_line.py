"""The operator's commands on the host: the same as a comment's, told on the card, without GitHub's answer."""

import json
from datetime import timedelta

import pytest
from click.testing import CliRunner, Result

from bot.cli import CliError, _operator, main
from forge.store.board import Item
from ledger.events.board import BoardHalted, Column, HaltLifted, StopLifted, StopOrdered
from ledger.events.conversation import CommandGiven, CommandRefused, HandedOver
from ledger.events.run import RunQueued
from ledger.ids import BoardId
from ledger.log import event_store
from ledger.states import Ending, RunState
from ledger.views.boards import BoardRow
from rules.policy.model import DEFAULT_TEXT
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.pulls.test_gate import SOUND, push
from tests.bot.flows.pulls.test_review import delivered
from tests.ledger.samples import NOW

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
    status = typed(cardinal, "command", name, "status").stdout.splitlines()
    assert [line[:2] for line in status[1:3]] == ["- ", "- "]  # one that has lines keeps them


def test_what_is_completed_from_a_shell_is_handed_over_with_its_metadata(cardinal: Cardinal) -> None:
    item = cardinal.new("Design")
    cardinal.catch_up()
    card = cardinal.card(item)
    name = f"{card.repository}#{card.number}"
    wrong = typed(cardinal, "complete", name, "Port 80.", "--metadata", "port")
    assert (wrong.exit_code, "write NAME=VALUE" in wrong.stderr) == (2, True), wrong.output
    large = typed(cardinal, "complete", name, "--metadata", f"a={'x' * 9_000}")
    assert (large.exit_code, "leave out what nobody needs" in large.stderr) == (2, True), large.output
    done = typed(cardinal, "complete", name, "Port", "80.", "--metadata", "port=80", "--metadata", "os=linux")
    assert done.exit_code == 0, done.output
    (handed_over,) = cardinal.events(HandedOver)
    assert (handed_over.by, handed_over.text) == ("the operator", "Port 80.")
    assert handed_over.metadata == {"port": 80, "os": "linux"}
    cardinal.catch_up()
    assert cardinal.card(item).column == "Done"


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


@pytest.mark.parametrize("words", [("approve",), ("answer", "1")])
def test_a_word_that_names_no_run_reaches_no_later_one_either(
    cardinal: Cardinal, item: Item, words: tuple[str, ...]
) -> None:
    first = cardinal.run_of(item).run_id
    assert typed(cardinal, "stop", first, "--cancel").exit_code == 0
    cardinal.catch_up()
    cardinal.say(item, "/cardinal retry")
    cardinal.catch_up()
    given, later = len(cardinal.events(CommandGiven)), cardinal.run_of(item).run_id
    late = typed(cardinal, "command", first, *words)
    assert (late.exit_code, f"give the command to {later}" in late.output) == (1, True)
    assert len(cardinal.events(CommandGiven)) == given


def test_a_card_is_named_by_its_id_where_its_issue_is_on_several_boards(
    cardinal: Cardinal, item: Item
) -> None:
    assert typed(cardinal, "stop", cardinal.card(item).card_id).exit_code == 0
    assert [event.scope for event in cardinal.events(StopOrdered)] == ["card"]
    unknown = typed(cardinal, "stop", "r99")
    assert (unknown.exit_code, "no run named" in unknown.output) == (2, True)


def test_a_word_for_a_card_is_not_given_to_whichever_card_of_a_board(cardinal: Cardinal, item: Item) -> None:
    given = len(cardinal.events(CommandGiven))
    refused = typed(cardinal, "command", BOARD, "block", "freeze")
    assert (refused.exit_code, len(cardinal.events(CommandGiven))) == (2, given)


def test_what_the_policy_refuses_to_every_role_is_refused_and_exits_with_one(
    cardinal: Cardinal, item: Item
) -> None:
    cardinal.set_policy(f"{DEFAULT_TEXT}  commands: {{cancel: ['@alice']}}\n")
    cardinal.catch_up()
    refused = typed(cardinal, "command", cardinal.run_of(item).run_id, "cancel")
    assert (refused.exit_code, "needs" in refused.output) == (1, True)
    assert len(cardinal.events(CommandRefused)) == 1
    assert typed(cardinal, "stop", "acme/shop#999").exit_code == 2


@pytest.fixture
def empty(cardinal: Cardinal) -> Cardinal:
    """Return a board without a card."""
    for item in list(cardinal.project.items):
        cardinal.forge.store.projects.delete_item(item, actor=cardinal.person("alice"))
    cardinal.catch_up()
    return cardinal


@pytest.mark.parametrize("words", [(BOARD,), (BOARD, "--column", COLUMN.upper())])
def test_a_board_or_column_without_an_issue_is_stopped_for_cards_that_come_later_and_goes_on(
    empty: Cardinal, words: tuple[str, ...]
) -> None:
    scope, cardinal = "column" if len(words) > 1 else "board", empty
    assert "is not stopped." in typed(cardinal, "resume", *words).output
    for said in ("is stopped.", "is already stopped."):
        stopped = typed(cardinal, "stop", *words, "--json")
        assert (stopped.exit_code, json.loads(stopped.stdout)["answer"]) == (0, f"The {scope} {said}")
    item = cardinal.new(column=COLUMN)
    cardinal.catch_up()
    assert (cardinal.run_of(item).state, cardinal.ready()) == (RunState.QUEUED, ())
    assert [event.target for event in cardinal.events(StopOrdered)] == [
        COLUMN if scope == "column" else cardinal.board_id
    ]
    assert typed(cardinal, "resume", *words).exit_code == 0
    assert cardinal.ready() == (cardinal.run_of(item).run_id,)


def test_an_empty_board_goes_on_after_a_stop_and_after_a_halt(empty: Cardinal) -> None:
    cardinal = empty
    halt = BoardHalted(cardinal.board_id, "anthropic:503", "away", cardinal.clock() + timedelta(hours=1), 1)
    with event_store.writing(cardinal.services.engine) as db:
        event_store.append(db, halt, at=cardinal.clock())
    assert typed(cardinal, "stop", BOARD).exit_code == 0
    for said in ("The board is resumed.", "The board is not stopped."):
        assert typed(cardinal, "resume", BOARD).stdout == f"{BOARD}: {said}\n"
    assert (len(cardinal.events(StopLifted)), len(cardinal.events(HaltLifted))) == (1, 1)


def test_an_empty_column_is_stopped_by_its_one_name_and_by_whom_the_policy_lets(empty: Cardinal) -> None:
    cardinal = empty
    unknown = typed(cardinal, "stop", BOARD, "--column", "Nowhere")
    assert (unknown.exit_code, "In Progress" in unknown.output) == (2, True)
    for words in (
        ("stop", BOARD, "--cancel"),
        ("command", BOARD, "answer", "2"),
        ("command", BOARD, "pause", "x"),
    ):
        other = typed(cardinal, *words)
        assert (other.exit_code, "only pause and resume" in other.output) == (2, True)
    cardinal.set_policy(f"{DEFAULT_TEXT}  commands: {{stop-all: ['@alice']}}\n")
    cardinal.catch_up()
    refused = typed(cardinal, "stop", BOARD, "--column", COLUMN)
    assert (refused.exit_code, "needs" in refused.output) == (1, True)
    assert cardinal.events(StopOrdered) == []


def test_of_columns_that_differ_in_case_alone_the_exact_name_counts() -> None:
    columns = (Column("a", "Doing", ""), Column("b", "DOING", ""), Column("c", "Done", ""))
    board = BoardRow(BoardId("PVT_1"), "acme", 1, "", "", columns, (), NOW)
    assert [_operator.board_column(board, name) for name in ("DOING", "Doing", "done")] == [
        "DOING",
        "Doing",
        "Done",
    ]
    with pytest.raises(CliError, match="choose Doing or DOING"):
        _operator.board_column(board, "doing")


def test_what_is_not_alive_cannot_be_stopped_and_nothing_is_told(cardinal: Cardinal, item: Item) -> None:
    card, run_id = cardinal.card(item), cardinal.run_of(item).run_id
    name = f"{card.repository}#{card.number}"
    assert typed(cardinal, "stop", name, "--cancel").exit_code == 0
    cardinal.catch_up()
    count = cardinal.count()
    for words in ((name, "--cancel"), (run_id,), (run_id, "--cancel")):
        late = typed(cardinal, "stop", *words)
        assert (late.exit_code, "nothing was done" in late.output) == (1, True), late.output
    assert cardinal.count() == count
    assert typed(cardinal, "stop", name).exit_code == 0  # the card: its next run waits


def test_a_run_that_only_checks_is_ended_by_its_card(cardinal: Cardinal) -> None:
    item = delivered(cardinal)
    push(cardinal, cardinal.pull_of(item), SOUND)
    cardinal.catch_up()
    run_id = cardinal.events(RunQueued)[-1].run_id
    alone = typed(cardinal, "stop", run_id, "--cancel")
    assert (alone.exit_code, "only checks a commit" in alone.output) == (1, True)
    card = cardinal.card(item)
    assert typed(cardinal, "stop", f"{card.repository}#{card.number}", "--cancel").exit_code == 0
    cardinal.catch_up()
    assert cardinal.run(run_id).ending is Ending.CANCELLED


def test_a_slash_command_is_a_verb_and_a_wrong_one_is_told_to_nobody(cardinal: Cardinal, item: Item) -> None:
    card, run_id = cardinal.card(item), cardinal.run_of(item).run_id
    name = f"{card.repository}#{card.number}"
    before = cardinal.told(item)
    wrong = (
        (("aprove", run_id), "Did you mean one of: 'approve'"),
        (("command", name, "aprove"), "Did you mean /cardinal approve?"),
        (("command", name, "approve", "it"), "/cardinal approve takes no text"),
        (("command", run_id, "answer"), "/cardinal answer needs a text"),
        (("answer", run_id), "Missing argument 'TEXT...'"),
        (("approve", name, "now"), "unexpected extra argument"),
        (("approve",), "Missing argument 'TARGET'"),
    )
    for words, said in wrong:
        refused = typed(cardinal, *words)
        assert (refused.exit_code, said in refused.stderr) == (2, True), refused.output
    cardinal.catch_up()
    assert cardinal.told(item) == before
    assert (cardinal.events(CommandGiven), cardinal.events(CommandRefused)) == ([], [])
    for words, code in (
        (("pause", run_id), 0),
        (("redirect", name, "Use", "the old port"), 1),  # no plan waits
        (("approve", run_id), 0),
        (("pause", run_id), 0),  # as the approval, it is so already
        (("status", run_id), 0),
    ):
        done = typed(cardinal, *words, "--json")
        assert done.exit_code == code, done.output
        document = json.loads(done.stdout)
        assert (document["command"], document["done"]) == (words[0], not code)
    refused = typed(cardinal, "redirect", name, "Again")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr.startswith(f"Error: {name}: No plan of {run_id} is waiting.")
    given = [(event.command, event.argument) for event in cardinal.events(CommandGiven)]
    after = [("pause", ""), ("status", ""), ("redirect", "Again")]
    assert given == [("pause", ""), ("redirect", "Use the old port"), ("approve", ""), *after]
    assert typed(cardinal, "logs", run_id).stdout == typed(cardinal, "log", run_id).stdout != ""
