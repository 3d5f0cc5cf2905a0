"""Examinations: the newest findings of each host and subject, within bounds."""

from sqlalchemy import Engine

from ledger.db.tables import ExaminationSubject
from ledger.log import event_store
from ledger.queue import examinations, hosts
from ledger.queue.examinations import MAX_CHARS, MAX_RESULTS, KeptResult
from tests.ledger.queue.test_hosts import beat

HOST, ALL = ExaminationSubject
GOOD = KeptResult("disk", "ok", "9 GB are free", "")


def test_the_newest_findings_replace_those_before_and_go_with_their_host(ledger: Engine) -> None:
    beat(ledger, "b")
    with event_store.writing(ledger) as db:
        examinations.record_examination(db, "b", HOST, "first", [GOOD, GOOD])
        examinations.record_examination(db, "b", ALL, "first", [])
        examinations.record_examination(db, "c", HOST, "first", [GOOD])
        examinations.record_examination(db, "b", HOST, "second", [GOOD])
        rows = examinations.all_hosts(db, HOST)
        assert [(row.host, row.examiner, row.read()) for row in rows] == [
            ("b", "second", (GOOD,)),
            ("c", "first", (GOOD,)),
        ]
        assert hosts.remove_host(db, "b")
        assert [row.host for row in examinations.all_hosts(db, HOST)] == ["c"]
        assert examinations.all_hosts(db, ALL) == ()


def test_too_many_and_too_long_findings_are_cut(ledger: Engine) -> None:
    long = KeptResult("disk", "warn", "\0\ud800" + "x" * MAX_CHARS, "y" * MAX_CHARS * 2)
    with event_store.writing(ledger) as db:
        examinations.record_examination(db, "b", HOST, "first", [long] * (MAX_RESULTS + 1))
        (row,) = examinations.all_hosts(db, HOST)
    assert len(row.read()) == MAX_RESULTS
    assert {len(text) for text in row.read()[0][2:]} == {MAX_CHARS}
