"""PostgreSQL goes away below the workers, and ends their sessions in the middle of a transaction."""

import os
from pathlib import Path

import psycopg
import pytest

from tests.bench import yardstick
from tests.waiting import until

SHARE = 0.05  # of the yardstick's times
ENDED = 5  # moments at which sessions are ended


@pytest.mark.timeout(600)
def test_what_was_accepted_is_in_the_log_once_after_a_restart_and_ended_sessions() -> None:
    if os.geteuid() != 0 or not any(Path("/usr/lib/postgresql").glob("*/bin/postgres")):
        pytest.skip("needs root and PostgreSQL's server: run scripts/services as root")
    with yardstick.running(1, SHARE, yardstick.RATE, cards=5) as fleet:
        until(
            lambda: any(it["kind"] == "accepted" for _, it in fleet.replicas[0].records), "jobs are accepted"
        )
        yardstick.restart_database(fleet)
        with psycopg.connect(fleet.url, autocommit=True) as db:
            for _ in range(ENDED):  # a quick machine is at work for a moment only
                until(lambda: yardstick.end_those_at_work(db), "a session at work is ended", every_s=0)
        assert yardstick.find_wrong_jobs(fleet) == []
