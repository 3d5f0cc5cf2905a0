"""`cardinal folders`: the folders of a home, and the history of one."""

from sqlalchemy import Engine

from ledger.events.workspace import FolderKept
from ledger.ids import RunId
from ledger.log import event_store
from tests.bot.cli.conftest import AT, BOARD, Cardinal


def test_folders_and_their_history_are_shown(story: Engine, cardinal: Cardinal) -> None:
    assert "no folders yet" in cardinal("folders").output
    with event_store.writing(story) as db:
        for commit, files, size in (("c1", 1, 10), ("c2", 3, 30)):
            kept = FolderKept(RunId("r1"), f"{BOARD}:acme/shop:journal", commit, "d" * 64, files, size, 1, 1)
            event_store.append(db, kept, at=AT)
    listed = cardinal("folders", "--board", "acme/1").output
    assert [row.split()[1:6] for row in listed.splitlines()[1:]] == [
        ["acme/shop", "journal", "3", "30", "r1"]
    ]
    history = cardinal("folders", "journal").output
    assert [row.split()[-2:] for row in history.splitlines()[1:]] == [["3", "30"], ["1", "10"]]
    assert "no run has kept files in a folder other yet" in cardinal("folders", "other").output
