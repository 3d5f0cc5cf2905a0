"""`cardinal watch` of one board."""

from sqlalchemy import Engine

from ledger.events.board import BoardSeen
from ledger.events.conversation import PersonSaid
from ledger.ids import BoardId
from ledger.log import event_store
from tests.bot.cli.conftest import AT, CARD, Cardinal


def test_watch_prints_what_happens_on_one_board(cardinal: Cardinal, story: Engine) -> None:
    args = ("watch", "--from", "0", "--once")
    assert cardinal(*args, "--board", "ACME/1").stdout == cardinal(*args).stdout != ""
    with event_store.writing(story) as db:
        event_store.append(db, BoardSeen(BoardId("PVT_2"), "acme", 2, "", "", (), ()), at=AT)
    assert cardinal(*args, "--board", "acme/2").stdout == ""
    assert "no board named 'acme/9'" in cardinal(*args, "--board", "acme/9").stderr


def test_words_of_people_are_printed_whole(cardinal: Cardinal, story: Engine) -> None:
    event = PersonSaid(CARD, 99, "issue", "bob", True, f"{'w' * 3000} is the end")
    with event_store.writing(story) as db:
        event_store.append(db, event, at=AT)
    for args in (("watch", "--once"), ("show", "acme/shop#1")):
        assert " is the end\n" in cardinal(*args).stdout
