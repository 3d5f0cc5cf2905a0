"""All hosts of a ledger have one time: its database's."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.system import clock
from bot.system.clock import LedgerClock, ledger_clock, utc_now
from ledger.lifecycle.open import open_ledger
from tests.ledgers import Hand, new_ledger
from tests.wire import wired

OFF = timedelta(days=3)


def test_a_host_goes_by_the_databases_clock_and_counts_on_while_it_is_away(postgresql_ledger: str) -> None:
    with wired(postgresql_ledger) as (url, wire):
        engine = open_ledger(url)
        hand = Hand(engine, datetime.now(UTC) + OFF)
        time_of = ledger_clock(engine)
        first = time_of()
        assert timedelta() <= first - hand.at < timedelta(seconds=30)
        engine.dispose()
        wire.cut()
        assert isinstance(time_of, LedgerClock)
        time_of._read_at -= clock.REREAD_S + 1
        assert timedelta() < time_of() - first < timedelta(seconds=30)
        wire.mend()
        hand.at += OFF
        time_of._read_at -= clock.REREAD_S + 1
        assert timedelta() <= time_of() - hand.at < timedelta(seconds=30)
        engine.dispose()


def test_the_clock_of_a_ledger_in_a_file_is_this_machines(tmp_path: Path) -> None:
    engine = new_ledger(f"sqlite:///{tmp_path}/ledger.db")
    assert ledger_clock(engine) is utc_now
    engine.dispose()
