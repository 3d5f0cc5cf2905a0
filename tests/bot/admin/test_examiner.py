"""The scheduler has the doctor look at each host, and now and then at everything, and keeps the findings."""

import os
from dataclasses import replace
from pathlib import Path

from bot.admin.doctor import checks, checks_of_host
from bot.admin.examination import examine_due
from bot.system import lock_file
from bot.system.lock_file import Presence
from ledger.db.tables import ExaminationSubject
from ledger.log import event_store
from ledger.queue import examinations
from ledger.queue.examinations import ExaminationRow, Level
from tests.bot.flows.cardinal import Cardinal
from tests.ledgers import new_ledger

HOST, ALL = ExaminationSubject


def kept(cardinal: Cardinal, subject: ExaminationSubject) -> dict[str, ExaminationRow]:
    with event_store.reading(cardinal.services.engine) as db:
        return {row.host: row for row in examinations.all_hosts(db, subject)}


def test_each_host_is_looked_at_and_the_rest_once_for_all(cardinal: Cardinal) -> None:
    home = cardinal.services.config.home
    (home / "run").mkdir(parents=True, exist_ok=True)
    lock_file.record_presence(home, Presence(os.getpid(), "http://127.0.0.1:1", {}))
    for host in ("b", "c", "b"):
        examine_due(replace(cardinal.services, host=host))
    of_hosts, of_all = kept(cardinal, HOST), kept(cardinal, ALL)
    assert (set(of_hosts), set(of_all)) == ({"b", "c"}, {"b"})
    own = {finding.name for finding in of_hosts["b"].read()}
    assert {"disk", "up", "redis"} <= own
    assert not own & {finding.name for finding in of_all["b"].read()}
    levels = {finding.name: finding.level for finding in of_all["b"].read()}
    assert "signature" not in levels  # it would leave a delivery behind each time
    assert (levels["inbox"], of_all["b"].examiner) == (Level.OK, "the scheduler")


def test_nothing_is_looked_for_before_a_board_was_seen(cardinal: Cardinal, tmp_path: Path) -> None:
    engine = new_ledger(f"sqlite:///{tmp_path / 'new.db'}")
    examine_due(replace(cardinal.services, engine=engine, host="b"))
    with event_store.reading(engine) as db:
        assert [row.host for row in examinations.all_hosts(db, HOST)] == ["b"]
        assert examinations.all_hosts(db, ALL) == ()
    engine.dispose()


def test_what_is_said_of_a_host_is_part_of_what_the_doctor_says() -> None:
    assert set(checks_of_host()) < set(checks())
