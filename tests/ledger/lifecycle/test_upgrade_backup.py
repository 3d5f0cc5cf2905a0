"""An older ledger is backed up before an upgrade writes to it, and the copy leads back."""

import os
import resource
import shutil
import signal
import stat
import sys
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Connection, event

from ledger.errors import BackupError
from ledger.lifecycle.backup import restore
from ledger.lifecycle.migrate import current_number, newest_migration
from ledger.lifecycle.open import connect, open_ledger
from ledger.lifecycle.upgrade import upgrade_ledger
from ledger.lifecycle.upgrade_backup import KEPT, back_up
from ledger.log import event_store, hash_chain
from tests.ledger.older import DIGEST, NUMBER, VERSION, make_older
from tests.ledger.samples import NOW, board_seen, card_seen, run_queued
from tests.ledgers import new_ledger

EVENTS = 3


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Return the address of a ledger with EVENTS events, as the version before left it."""
    place = f"sqlite:///{tmp_path}/data/ledger.db"
    engine = new_ledger(place)
    with event_store.writing(engine) as db:
        event_store.append(db, board_seen(), card_seen(), run_queued(), at=NOW)
    make_older(engine)
    return place


def file_of(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


def copies(url: str) -> set[Path]:
    return {*file_of(url).parent.glob("upgrade-from-*")}


def number_of(url: str) -> int:
    """Return the ledger's migration, where all its events are there."""
    engine = connect(url)
    with event_store.reading(engine) as db:
        assert hash_chain.verify_chain(db).events == EVENTS
        number = current_number(db)
    engine.dispose()
    return number


def test_an_older_ledger_is_backed_up_and_comes_back_by_the_command_that_is_said(url: str) -> None:
    said: list[str] = []
    open_ledger(url, before=partial(back_up, say=said.append)).dispose()
    assert number_of(url) == newest_migration()
    (file,) = copies(url)
    assert file.name.startswith(f"upgrade-from-{VERSION}-{DIGEST[:8]}-")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert f"`cardinal restore {file} --overwrite-newer`" in said[0]
    restore(file, url, overwrite_newer=True)
    assert number_of(url) == NUMBER


def die_at(step: int, url: str) -> bool:
    """Upgrade in a process that is killed before its step of that number; return whether it had so many.

    A step is a change of the ledger, or a call about the copy.
    """
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    left = iter(range(step))

    def count() -> None:
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)

    def statement(_db: Connection, _cursor: object, text: str, *_rest: object) -> None:
        if text.lstrip().startswith(("ALTER", "CREATE", "INSERT", "UPDATE")):
            count()

    def call(name: str, args: tuple[object, ...]) -> None:
        if name in {"os.remove", "os.rename"} and "upgrade-from-" in str(args[0]):
            count()

    code = 1
    try:
        engine = connect(url)
        event.listen(engine, "before_cursor_execute", statement)
        sys.addaudithook(call)
        upgrade_ledger(engine, before=partial(back_up, say=print))
        code = 0
    finally:
        os._exit(code)  # the rest of this test is not for the fork


def test_an_upgrade_that_is_killed_before_any_step_loses_nothing(url: str) -> None:
    file = file_of(url)
    whole, step = file.read_bytes(), 0
    while die_at(step, url):
        assert number_of(url) == NUMBER
        file.write_bytes(whole)
        step += 1
    assert step > 5  # a table, the copy, its name, what is left of it, the migration, its record
    assert number_of(url) == newest_migration()
    (copy,) = copies(url)  # no unfinished one, and one alone of the version before
    assert number_of(f"sqlite:///{copy}") == NUMBER


def test_without_room_for_the_copy_nothing_is_upgraded(url: str) -> None:
    file = file_of(url)
    os.truncate(file, shutil.disk_usage(file.parent).total)  # a hole: it takes no room itself
    with pytest.raises(BackupError, match=r"not upgraded, .* needs [0-9.]+ MB, .* has [0-9.]+: make room"):
        open_ledger(url, before=partial(back_up, say=print))
    with file.open(
        "rb"
    ) as opened:  # what SQLite says of it, which may have grown: sqlite.org/fileformat.html
        header = opened.read(32)
    os.truncate(file, int.from_bytes(header[16:18]) * int.from_bytes(header[28:]))
    assert number_of(url) == NUMBER
    assert copies(url) == set()


def test_a_disk_that_is_full_in_the_middle_of_the_copy_leaves_nothing_of_it(url: str) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_of(url).stat().st_size // 2, limits[1]))
    try:
        with pytest.raises(BackupError, match=r"not upgraded, .* cannot be written: .*; make room there"):
            open_ledger(url, before=partial(back_up, say=print))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert number_of(url) == NUMBER
    assert copies(url) == set()


def test_a_ledger_with_a_torn_page_is_not_upgraded(url: str) -> None:
    engine = connect(url)
    with event_store.writing(engine) as db:
        db.exec_driver_sql("CREATE TABLE left_over AS SELECT randomblob(9000) AS page")
    engine.dispose()
    with file_of(url).open("r+b") as file:
        file.seek(-4096, os.SEEK_END)
        file.write(b"\xff" * 4096)
    with pytest.raises(BackupError, match=r"not upgraded, .* no sound ledger"):
        open_ledger(url, before=partial(back_up, say=print))
    assert number_of(url) == NUMBER
    assert copies(url) == set()


def test_three_back_ups_are_kept_and_whatever_else_lies_there(url: str) -> None:
    folder = file_of(url).parent
    own = folder / "ledger-20200101T000000.db"
    older = [folder / f"upgrade-from-0.0.{n}-0123abcd-2025010{n}T000000.db" for n in range(1, 5)]
    for file in (own, *older, folder / f"{older[0].name}.partial"):
        file.touch()
    open_ledger(url, before=partial(back_up, say=print)).dispose()
    (new,) = folder.glob(f"upgrade-from-{VERSION}-*")
    assert copies(url) == {new, *older[1 - KEPT :]}
    assert own.exists()


def test_a_ledger_of_this_version_is_not_backed_up_nor_a_new_one(url: str) -> None:
    open_ledger(url).dispose()
    for place in (url, f"{url}.new"):
        open_ledger(place, before=partial(back_up, say=print)).dispose()
    assert copies(url) == set()
