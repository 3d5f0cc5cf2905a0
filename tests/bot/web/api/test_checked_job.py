"""A job whose branch somebody pushed to: the gate's own check of it is not the job's run."""

from dataclasses import replace

from ledger.events.run import CHECK, RunQueued
from ledger.ids import RunId
from ledger.log import event_store
from tests.bot.web.api.program import Program, path_of
from tests.bot.web.pages.forms import asked
from tests.bot.web.pages.world import Pages


def test_a_job_keeps_its_run_its_plan_and_its_question_while_the_gate_checks_a_push(pages: Pages) -> None:
    item = asked(pages, "8080", "8081")
    bob, path = Program(pages, "bob"), path_of(pages, item)
    before = bob.send("GET", path).get_json()
    (queued,) = pages.cardinal.events(RunQueued)
    services = pages.cardinal.services
    with event_store.writing(services.engine) as db:
        check = replace(queued, run_id=RunId("r99"), kind=CHECK, by="push")
        event_store.append(db, check, at=services.now())
    after = bob.send("GET", path).get_json()
    assert [it["run"] for it in after["runs"]] == ["r99", before["run"]]
    assert before["question"] is not None
    for name in ("run", "usd", "plan", "question"):
        assert after[name] == before[name]
