"""`cardinal boards` lists the boards that are served, and refuses words that name none."""

import json
from dataclasses import replace

import pytest

from bot.system.config import Config
from ledger.events.board import BoardServed
from ledger.ids import BoardId, CardId
from ledger.log import event_store
from tests.bot.cli.conftest import AT, Cardinal
from tests.ledger.samples import board_seen, card_seen
from tests.ledgers import new_ledger


def test_every_board_is_listed_with_its_weight_and_policy(cardinal: Cardinal, config: Config) -> None:
    engine, second = new_ledger(config.database_url), BoardId("PVT_2")
    with event_store.writing(engine) as db:
        event_store.append(db, replace(board_seen(), board_id=second, owner="globex", number=7), at=AT)
        event_store.append(db, BoardServed(second, "globex/handbook", 3), at=AT)
    engine.dispose()
    heads, *rows = cardinal("boards", "list").stdout.splitlines()
    assert heads.split()[0] == "board"
    assert rows[-1].split() == ["globex/7", board_seen().title, "globex/handbook", "3"]
    listed = json.loads(cardinal("boards", "list", "--json").stdout)["boards"][-1]
    assert (listed["board"], listed["weight"], listed["runs"]) == ("globex/7", 3, 0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("add", "acme"), "acme is not a board: write OWNER/NUMBER, such as acme/1"),
        (("remove", "a/../1"), "is not a board"),
        (("add", "acme/2", "--policy-repository", "board"), "--policy-repository needs an owner and a name"),
        (("add", "acme/2", "--weight", "0"), "0 is not in the range 1<=x<=100"),
    ],
)
def test_what_names_no_board_is_refused(cardinal: Cardinal, words: tuple[str, ...], said: str) -> None:
    refused = cardinal("boards", *words)
    assert refused.exit_code == 2
    assert said in refused.output


def test_an_issue_on_two_boards_is_two_cards_and_a_command_asks_which(
    cardinal: Cardinal, config: Config
) -> None:
    engine, second = new_ledger(config.database_url), BoardId("PVT_2")
    with event_store.writing(engine) as db:
        event = card_seen()
        event_store.append(db, event, replace(event, card_id=CardId("PVTI_2"), board_id=second), at=AT)
    engine.dispose()
    refused = cardinal("explain", f"{event.repository}#{event.number}")
    assert refused.exit_code == 2
    assert f"{event.card_id} (board {event.board_id}), PVTI_2 (board PVT_2)" in refused.output.replace(
        "\n", " "
    )
    assert cardinal("explain", "PVTI_2").exit_code == 0
