"""A slow answer of GitHub about one reader keeps up nobody else, and never all threads."""

from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Event, Semaphore

import pytest

from bot.github.client import Hub
from bot.github.person_access import PersonAccess
from bot.system.secret import Secret
from bot.web.authorization import AT_ONCE, KEPT_S, BusyError, Readers
from ledger.queue.sign_ins import SignIn
from tests.bot.flows.opening import opened

WAIT_S = 60


def list_nothing(token: Secret, owners: Collection[str]) -> PersonAccess:
    """Return what a person may read who was given nothing by name."""
    return PersonAccess((), frozenset())


def list_all_of_acme(token: Secret, owners: Collection[str]) -> PersonAccess:
    """Return the same, from a listing that has all of acme's."""
    return PersonAccess((), frozenset({"acme"}))


def test_a_check_that_hangs_keeps_up_its_own_reader_alone_until_too_many_hang(tmp_path: Path) -> None:
    hung, goes_on = Semaphore(0), Event()
    with ExitStack() as until_then:
        cardinal = until_then.enter_context(opened(tmp_path))

        def hub_of(repository: str) -> Hub:
            if repository == "acme/slow":
                hung.release()
                assert goes_on.wait(WAIT_S)
            return cardinal.services.hub

        def asks_slowly(visit: SignIn) -> bool:
            threads.submit(readers.may, visit, frozenset({"acme/slow"}), now)
            return hung.acquire(timeout=WAIT_S)

        readers, now = Readers(hub_of, cardinal.clock, list_nothing, turn_s=0.1), cardinal.clock()
        alice, bob, carol = (
            SignIn(cardinal.person(name).id, name, now) for name in ("alice", "bob", "carol")
        )
        shop, board = frozenset({"acme/shop"}), frozenset({"acme/board"})
        threads = until_then.enter_context(ThreadPoolExecutor(AT_ONCE))
        until_then.callback(goes_on.set)
        assert readers.may(alice, shop, now)
        assert asks_slowly(alice)
        assert readers.may(bob, shop, now)
        assert readers.may(alice, shop, now)  # that is known
        with pytest.raises(BusyError, match="other requests are being checked"):
            readers.may(alice, board, now)
        assert all(asks_slowly(SignIn(number, f"stranger{number}", now)) for number in range(1, AT_ONCE))
        assert readers.may(bob, shop, now)
        with pytest.raises(BusyError, match="other requests are being checked"):
            readers.may(carol, shop, now)
        goes_on.set()
        threads.shutdown()
        assert readers.may(carol, shop, now)
        assert readers.may(alice, board, now)


def test_open_pages_of_hundreds_of_people_do_not_use_up_what_the_app_may_ask(tmp_path: Path) -> None:
    with opened(tmp_path) as cardinal:
        readers = Readers(lambda _: cardinal.services.hub, cardinal.clock, list_all_of_acme)
        begin = cardinal.clock()
        since = {"acme/shop": begin, "acme/board": begin}
        before = len(cardinal.calls("/"))
        for _ in range(20):  # for an hour
            for number in range(200):
                visit = SignIn(1000 + number, f"stranger{number}", begin)
                readers.lend(visit, Secret("ghu_1"))
                assert readers.readable(visit, since) == since.keys()
            cardinal.clock.forward(KEPT_S)
        assert 0 < len(cardinal.calls("/")) - before <= 20
