"""The demo's whole story on PostgreSQL, and on an Enterprise Server; else it is played in tests/install."""

import json
import os
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import Engine, create_engine, make_url, text

from forge.demo import launch
from forge.demo.stage import Stage
from forge.demo.story import STEPS, play

# Pauses that are there for people's eyes and for GitHub's hour, and prove nothing here.
BRISK = {"CARDINAL_TICK_S": "0.2", "CARDINAL_DEBOUNCE_S": "0.2", "CARDINAL_PROGRESS_EVERY_S": "0.5"}
WITH_POSTGRESQL = bool(os.environ.get("CARDINAL_TEST_POSTGRESQL") or os.environ.get("CI"))


@pytest.mark.soak(
    instead="tests/bot/flows/test_enterprise_server.py::test_a_card_is_delivered_checked_reviewed_and_merged_there"
)
@pytest.mark.timeout(480)
def test_the_story_ends_the_same_on_an_enterprise_server(tmp_path: Path) -> None:
    with launch.running(tmp_path, settings=BRISK, server=launch.SERVER) as scene:
        told = play(Stage(scene.team))
    assert [one.step for one in told] == [step.name for step in STEPS]


if WITH_POSTGRESQL:

    @pytest.mark.timeout(480)
    def test_the_story_ends_the_same_on_postgresql(tmp_path: Path, postgresql_url: str) -> None:
        server, schema = make_url(postgresql_url), f"story_{uuid4().hex}"
        admin = create_engine(server)
        with admin.begin() as db:
            db.execute(text(f"CREATE SCHEMA {schema}"))
        url = server.update_query_dict({"options": f"-csearch_path={schema}"}).render_as_string(False)
        try:
            with launch.running(tmp_path, settings={**BRISK, "CARDINAL_DATABASE_URL": url}) as scene:
                told = play(Stage(scene.team))
                before = _events(admin, schema)  # a heartbeat may come between any two looks
                audit = scene.command("audit", "verify", "--json")
                after = _events(admin, schema)
            assert [one.step for one in told] == [step.name for step in STEPS]
            assert audit.returncode == 0, audit.stderr
            assert 100 < before <= json.loads(audit.stdout)["events"] <= after
        finally:
            with admin.begin() as db:
                db.execute(text(f"DROP SCHEMA {schema} CASCADE"))
            admin.dispose()

    def _events(admin: Engine, schema: str) -> int:
        with admin.begin() as db:
            return int(db.execute(text(f"SELECT count(*) FROM {schema}.events")).scalar_one())
