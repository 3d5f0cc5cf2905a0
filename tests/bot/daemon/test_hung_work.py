"""Work that hangs its worker, so that no thread and no signal gets its turn there, is not done for ever."""

import os
import re
import signal
from pathlib import Path
from tempfile import TemporaryDirectory

from bot.daemon.child import ProcessRole, Ready
from bot.daemon.group import ProcessGroup
from bot.daemon.workers import take_over
from bot.state.hang_guard import SetAsideError, guard_hangs
from bot.system.current_work import BYTES, CurrentWork, list_work_names, working_on
from ledger.lifecycle.open import open_ledger
from ledger.log import event_store
from ledger.queue import hangs
from tests.waiting import until

SILENT_S = 0.5


def run_group(url: str, refused: Path) -> None:
    """Run a group of one worker whose one piece of work never ends."""
    current = CurrentWork()

    def work(ready: Ready) -> None:
        engine = open_ledger(url)
        take_over(current, lambda: engine)
        ready()
        try:
            with working_on("card:before"), guard_hangs(engine, "card:C1"):
                re.match(r"(a+)+$", "a" * 64 + "b")
        except SetAsideError as error:
            refused.write_text(str(error))
            while True:
                ready()
                signal.sigtimedwait((), 0.1)

    role = ProcessRole("control-1", work, silent_s=SILENT_S, on_hang=current.mark_hung)
    ProcessGroup((role,), lambda _line: None).run()


def test_work_that_hangs_its_worker_is_set_aside_after_three_kills_and_named(tmp_path: Path) -> None:
    url, refused = f"sqlite:///{tmp_path / 'ledger.db'}", tmp_path / "refused"
    engine = open_ledger(url)
    pid = os.fork()
    if not pid:
        try:
            run_group(url, refused)
        finally:
            os._exit(0)
    try:
        until(refused.exists, "the work is refused")
    finally:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)
    with event_store.reading(engine) as db:
        (hang,) = hangs.all_hangs(db)
    assert (hang.name, hang.times, hang.set_aside) == ("card:C1", hangs.MAX_HANGS, True)
    assert "card:C1 was not done: it hung its worker 3 times" in refused.read_text()
    engine.dispose()


def test_the_names_of_current_work_are_those_that_hung_once_they_are_marked() -> None:
    current = CurrentWork()
    assert current.replace(("a", "b")) == ()
    assert (current.names(), current.hung) == (("a", "b"), ())
    current.mark_hung()
    assert current.hung == ("a", "b")
    assert current.replace(()) == ("a", "b")
    current.mark_hung()
    assert not current.hung


def test_a_fork_that_is_killed_leaves_none_of_its_work_with_whoever_forked_it() -> None:
    with working_on("card:C1"):
        pid = os.fork()
        if not pid:
            with working_on("run:r1"):
                os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(pid, 0)
        assert list_work_names() == ("card:C1",)


def test_current_work_keeps_whole_names_only() -> None:
    current = CurrentWork()
    current.replace(tuple("ä" * 500 for _ in range(BYTES // 500)))
    assert set(current.names()) == {"ä" * 500}


def test_hangs_count_in_a_row_and_are_forgotten_by_whoever_gets_through() -> None:
    with TemporaryDirectory() as folder:
        engine = open_ledger(f"sqlite:///{folder}/ledger.db")
        for times in (1, 2):
            with event_store.writing(engine) as db:
                assert [hang.times for hang in hangs.count_hang(db, ("card:C1", "card:C2"))] == [times, times]
        with guard_hangs(engine, "card:C1"):
            pass
        with event_store.reading(engine) as db:
            assert hangs.hang_counts(db, ("card:C1", "card:C2", "card:C3")) == {"card:C2": 2}
        engine.dispose()
