"""A worker of somebody's own claims a card, keeps its claim alive, and hands the work in."""

import json
import subprocess
import sys
from datetime import datetime
from typing import Any

import pytest

from bot.scheduler import dispatch
from bot.web.mcp.tools import list_tools
from forge.store.models import Role
from ledger.db.clock import database_now
from ledger.events.conversation import HandedOver
from ledger.events.run import FinalReported, RunClaimed, RunEnded, RunQueued
from ledger.log import event_store
from ledger.queue import leases
from tests.bot.cli.test_job import Shell, shell
from tests.bot.flows.runs.test_dependencies import block, close
from tests.bot.flows.settings import with_column
from tests.bot.web.api.program import Program, lying, path_of
from tests.bot.web.mcp.test_stdio import served
from tests.bot.web.pages.world import Pages
from tests.house.source import ROOT

__all__ = ["shell"]


def claimed(program: Program, path: str, **fields: Any) -> Any:
    answer = program.send("POST", f"{path}/claim", fields)
    assert answer.status_code == 200, answer.text
    return answer.get_json()


def report(run: Any, **fields: Any) -> dict[str, Any]:
    return {"generation": run["generation"], "outcome": "succeeded", "done": "Measured.", **fields}


def expire(pages: Pages, run: Any) -> None:
    engine = pages.cardinal.services.engine
    with event_store.writing(engine) as db:
        assert leases.lapse(db, leases.holder(db, f"run:{run['run']}"))
    dispatch.reap_runs(engine, now=pages.cardinal.services.now())
    pages.cardinal.catch_up()


def test_a_program_claims_a_card_works_and_hands_it_in_like_a_run(pages: Pages) -> None:
    cardinal, bob = pages.cardinal, Program(pages, "bob")
    item, later = lying(pages), cardinal.new("Build on it")
    block(cardinal, later, item)
    cardinal.catch_up()
    path = path_of(pages, item)
    run = claimed(bob, path)
    assert (run["attempt"], "Measure" in run["briefing"]) == (2, True)
    assert cardinal.ready() == ()
    assert cardinal.card(item).state == "working"
    beat = bob.send("POST", f"/runs/{run['run']}/heartbeat", {"generation": 1, "progress": "half\nof it"})
    assert (beat.status_code, beat.get_json()["until"] > run["until"]) == (200, True), beat.text
    assert bob.get(f"/runs/{run['run']}")["last_line"] == "half of it"
    boards = bob.get("/boards/acme/1?limit=9")["columns"]
    for listed in (bob.get("/jobs")["jobs"], [job for column in boards for job in column["listed"]]):
        assert "half of it" in [job["why"] for job in listed if job["state"] == "working"]
    cardinal.say(item, "/cardinal redirect In milliseconds, please.")
    cardinal.catch_up()
    beat = bob.send("POST", f"/runs/{run['run']}/heartbeat", {"generation": 1})
    assert beat.get_json()["messages"] == ["alice: In milliseconds, please."]
    sent = report(run, changed=["t.csv"], check=["the sum"], open_questions=["why?"], metadata={"ms": 12})
    for _ in range(2):
        ended = bob.send("POST", f"/runs/{run['run']}/report", sent, Idempotency_Key="k")
        assert (ended.status_code, ended.get_json()["ending"]) == (200, "succeeded"), ended.text
    assert len(cardinal.events(FinalReported)) == 1
    cardinal.catch_up()
    assert cardinal.card(item).state == "work_complete"
    cardinal.comment(item, "Measured.", "the sum")
    job = bob.get(path)
    newest = job["runs"][0]
    assert (newest["run"], newest["agent"], newest["status"]) == ("r2", "own", "succeeded")
    assert (run["branch"] != "", newest["branch"]) == (True, "")  # it pushed none
    assert job["report"]["metadata"] == {"ms": 12}
    pages.browser("bob").get(f"/runs/{run['run']}")
    close(cardinal, item)
    cardinal.drag(later, "In Progress")
    cardinal.catch_up()
    told = cardinal.claimed(later)[0].briefing.text
    for text in ("r2 by a worker of bob, succeeded", "Measured.", "to check: the sum", "- ms: 12"):
        assert text in told, text
    cardinal.catch_up()
    cardinal.assert_no_leftovers()


def test_of_two_claimers_one_wins_and_a_key_claims_once(pages: Pages) -> None:
    bob, alice = Program(pages, "bob"), Program(pages, "alice")
    path = path_of(pages, lying(pages))
    first = bob.send("POST", f"{path}/claim", {}, Idempotency_Key="k").get_json()
    assert bob.send("POST", f"{path}/claim", {}, Idempotency_Key="k").get_json()["run"] == first["run"]
    reused = bob.send("POST", f"{path}/claim", {"lease_s": 60}, Idempotency_Key="k")
    assert (reused.status_code, reused.get_json()["code"]) == (409, "reused_key")
    for program in (alice, bob):
        second = program.send("POST", f"{path}/claim", {})
        assert (second.status_code, second.get_json()["code"]) == (409, "taken"), second.text
        assert "r2 of bob has not ended" in second.get_json()["detail"]
    for wrong in ("heartbeat", "report"):
        sent = {"generation": 1} if wrong == "heartbeat" else report(first)
        answer = alice.send("POST", f"/runs/{first['run']}/{wrong}", sent)
        assert (answer.status_code, answer.get_json()["code"]) == (409, "stale"), answer.text
    assert len(pages.cardinal.events(RunClaimed)) == 1


def test_a_claim_that_ran_out_is_lost_the_card_is_free_and_its_old_worker_is_refused(pages: Pages) -> None:
    cardinal, bob = pages.cardinal, Program(pages, "bob")
    item = lying(pages)
    path = path_of(pages, item)
    first = claimed(bob, path, lease_s=10)
    expire(pages, first)
    lost = bob.get(f"/runs/{first['run']}")
    assert (lost["ending"], "no heartbeat" in lost["reason"]) == ("lost", True)
    cardinal.comment(item, "no heartbeat", "/cardinal retry")
    second = claimed(bob, path)
    assert second["attempt"] == first["attempt"] + 1
    for name, sent in (("heartbeat", {"generation": 1}), ("report", report(first))):
        answer = bob.send("POST", f"/runs/{first['run']}/{name}", sent)
        assert (answer.status_code, answer.get_json()["code"]) == (409, "stale"), answer.text
        assert "has ended: lost: the worker of bob sent no heartbeat" in answer.get_json()["detail"]
    wrong = bob.send("POST", f"/runs/{second['run']}/heartbeat", {"generation": 2})
    assert (wrong.status_code, wrong.get_json()["code"]) == (409, "stale")


def test_a_failure_is_a_failed_run_with_its_report(pages: Pages) -> None:
    cardinal, bob = pages.cardinal, Program(pages, "bob")
    item = lying(pages)
    run = claimed(bob, path_of(pages, item))
    sent = report(run, outcome="failed", done="The disk is full.", metadata={"free": 0})
    assert bob.send("POST", f"/runs/{run['run']}/report", sent).get_json()["ending"] == "failed"
    cardinal.catch_up()
    assert cardinal.card(item).state == "failed"
    cardinal.comment(item, "The disk is full.")
    again = claimed(bob, path_of(pages, item))
    assert "failed gave_up" in again["briefing"]
    assert "The disk is full." in again["briefing"]


@pytest.mark.parametrize(("command", "ending"), [("cancel", "cancelled"), ("pause", "")])
def test_a_worker_that_people_stop_is_told_at_its_next_word(pages: Pages, command: str, ending: str) -> None:
    cardinal, bob = pages.cardinal, Program(pages, "bob")
    item = lying(pages)
    path = path_of(pages, item)
    run = bob.send("POST", f"{path}/claim", {}, Idempotency_Key="k").get_json()
    cardinal.say(item, f"/cardinal {command}")
    cardinal.catch_up()
    told = bob.send("POST", f"/runs/{run['run']}/report", report(run))
    assert (told.status_code, told.get_json()["code"]) == (409, "stopped"), told.text
    cardinal.catch_up()
    assert bob.get(f"/runs/{run['run']}")["ending"] == ending
    if command == "cancel":
        assert bob.get(path)["report"]["done"] == "Measured."
        return
    waits = bob.send("POST", f"{path}/claim", {})
    assert (waits.status_code, waits.get_json()["code"]) == (409, "taken"), waits.text
    cardinal.say(item, "/cardinal resume")
    cardinal.catch_up()
    again = claimed(bob, path)
    assert (again["run"], again["generation"]) == (run["run"], 2)
    late = bob.send("POST", f"{path}/claim", {}, Idempotency_Key="k")
    assert (late.status_code, late.get_json()["code"]) == (409, "stale"), late.text  # another process has it
    stale = bob.send("POST", f"/runs/{run['run']}/heartbeat", {"generation": 1})
    assert stale.get_json()["code"] == "stale"


@pytest.mark.parametrize(("command", "state"), [("cancel", "ended"), ("pause board", "parked")])
def test_one_that_says_nothing_is_stopped_all_the_same_however_long_its_claim_lasts(
    pages: Pages, command: str, state: str
) -> None:
    cardinal, bob = pages.cardinal, Program(pages, "bob")
    item = lying(pages)
    run = claimed(bob, path_of(pages, item), lease_s=86_400)
    cardinal.say(item, f"/cardinal {command}", who="alice")
    cardinal.catch_up()
    engine = cardinal.services.engine
    assert dispatch.reap_runs(engine, now=cardinal.services.now()) == ()
    cardinal.clock.forward(121)
    assert dispatch.reap_runs(engine, now=cardinal.services.now(), outage=True) == ()
    assert dispatch.reap_runs(engine, now=cardinal.services.now()) == (run["run"],)
    assert dispatch.reap_runs(engine, now=cardinal.services.now()) == ()
    assert cardinal.run_of(item).state == state
    late = bob.send("POST", f"/runs/{run['run']}/report", report(run))
    assert (late.status_code, late.get_json()["code"]) == (409, "stale"), late.text


def test_rights_limits_stops_and_dependencies_hold_for_a_claim_too(pages: Pages) -> None:
    cardinal, bob = pages.cardinal, Program(pages, "bob")
    item = lying(pages)
    path = path_of(pages, item)

    def refused(program: Program, status: int, words: str, where: str = path) -> None:
        answer = program.send("POST", f"{where}/claim", {})
        assert (answer.status_code, words in answer.get_json()["detail"]) == (status, True), answer.text

    refused(Program(pages, "mallory"), 403, "needs")
    planned = cardinal.new("Later")
    cardinal.catch_up()
    refused(bob, 409, "no agent works in this column", path_of(pages, planned))
    blocker, blocked = cardinal.new("First"), lying(pages, "Second")
    block(cardinal, blocked, blocker)
    cardinal.catch_up()
    refused(bob, 409, "waiting for", path_of(pages, blocked))
    cardinal.say(item, "/cardinal pause board")
    cardinal.catch_up()
    refused(bob, 409, "cannot be claimed now")
    cardinal.say(item, "/cardinal resume board")
    cardinal.catch_up()
    queued = cardinal.new("Busy", column="In Progress")
    cardinal.catch_up()
    refused(bob, 409, "is queued for the agent scripted", path_of(pages, queued))
    assert not cardinal.events(RunClaimed)
    assert len(cardinal.events(RunQueued)) == 3  # what was refused left no run
    before = len(cardinal.events(RunQueued))
    claimed(bob, path)
    assert len(cardinal.events(RunQueued)) == before + 1
    assert [it.ending for it in cardinal.events(RunEnded) if it.ending == "lost"] == []


def test_who_may_start_no_run_claims_only_one_that_waits_for_a_worker(pages: Pages) -> None:
    cardinal, bob = pages.cardinal, Program(pages, "bob")
    cardinal.set_policy(with_column(agent="own") + "  commands: {retry: admin}\n")
    cardinal.catch_up()
    idle, waiting = lying(pages), cardinal.new("Count me", column="In Progress")
    cardinal.catch_up()
    refused = bob.send("POST", f"{path_of(pages, idle)}/claim", {})
    assert (refused.status_code, "/cardinal retry needs the role admin" in refused.text) == (403, True)
    assert claimed(bob, path_of(pages, waiting))["attempt"] == 1


def test_a_card_that_is_worked_on_where_the_account_reads_nothing_is_not_claimed(pages: Pages) -> None:
    cardinal = pages.cardinal
    named = '  repositories: {home: named, labels: {"area:shop": acme/shop}}\n'
    cardinal.set_policy(with_column(on_entry="[]") + named)
    store, alice = cardinal.forge.store, cardinal.person("alice")
    cardinal.repo.private = True
    issue = store.issues.create(cardinal.home_repo, "Add them up", "Please.", actor=alice)
    store.issues.set_labels(issue, ["area:shop"], actor=alice)
    item = store.projects.add(cardinal.project, issue, actor=alice)
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    store.repos.set_role(cardinal.home_repo, cardinal.person("mallory"), Role.WRITE)
    path = path_of(pages, item)
    answer = Program(pages, "mallory").send("POST", f"{path}/claim", {})
    assert (answer.status_code, "may not read" in answer.text) == (403, True), answer.text
    assert not cardinal.events(RunQueued)
    assert claimed(Program(pages, "alice"), path)["repository"] == "acme/shop"


def test_a_full_column_takes_no_claim_and_a_claim_fills_it_for_agents(pages: Pages) -> None:
    cardinal, bob = pages.cardinal, Program(pages, "bob")
    cardinal.set_policy(with_column(concurrency="1"))
    cardinal.catch_up()
    first, second = lying(pages), lying(pages)
    run = claimed(bob, path_of(pages, first))
    full = bob.send("POST", f"{path_of(pages, second)}/claim", {})
    assert (full.status_code, "In Progress is full with 1 run" in full.text) == (409, True), full.text
    cardinal.new("For an agent", column="In Progress")
    cardinal.catch_up()
    assert cardinal.ready() == ()
    bob.send("POST", f"/runs/{run['run']}/report", report(run))
    assert len(cardinal.ready()) == 1


def test_a_column_that_investigates_gets_the_report_as_its_findings(pages: Pages) -> None:
    cardinal, bob = pages.cardinal, Program(pages, "bob")
    cardinal.set_policy(with_column(agent="own", mode="investigate"))
    cardinal.catch_up()
    item = cardinal.new("Why?", column="In Progress")
    cardinal.catch_up()
    run = claimed(bob, path_of(pages, item))
    ended = bob.send("POST", f"/runs/{run['run']}/report", report(run, done="The cache is cold."))
    assert ended.status_code == 200, ended.text
    cardinal.catch_up()
    assert (cardinal.card(item).state, run["run"]) == ("work_complete", "r1")
    cardinal.comment(item, "The cache is cold.")
    cardinal.assert_no_leftovers()


def test_a_heartbeat_keeps_the_claim_as_long_as_it_was_and_may_name_another_length(pages: Pages) -> None:
    bob = Program(pages, "bob")
    run = claimed(bob, path_of(pages, lying(pages)), lease_s=60)

    def left_s(**more: int) -> float:
        beat = bob.send("POST", f"/runs/{run['run']}/heartbeat", {"generation": 1, **more})
        assert beat.status_code == 200, beat.text
        until = datetime.fromisoformat(beat.get_json()["until"])
        with event_store.reading(pages.cardinal.services.engine) as db:
            return (until - database_now(db)).total_seconds()

    assert 0 < left_s() <= 60
    assert 60 < left_s(lease_s=600) <= 600
    assert 0 < left_s() <= 60


def test_while_the_ledger_was_away_no_claim_is_lost_and_one_that_is_late_may_go_on(pages: Pages) -> None:
    cardinal, bob = pages.cardinal, Program(pages, "bob")
    run = claimed(bob, path_of(pages, lying(pages)), lease_s=10)
    engine = cardinal.services.engine
    with event_store.writing(engine) as db:
        assert leases.lapse(db, leases.holder(db, f"run:{run['run']}"))
    assert dispatch.reap_runs(engine, now=cardinal.services.now(), outage=True) == ()
    beat = bob.send("POST", f"/runs/{run['run']}/heartbeat", {"generation": 1})
    assert beat.status_code == 200, beat.text
    assert dispatch.reap_runs(engine, now=cardinal.services.now()) == ()


def test_what_is_handed_in_is_bounded(pages: Pages) -> None:
    bob = Program(pages, "bob")
    run = claimed(bob, path_of(pages, lying(pages)))
    for wrong in (
        {"done": ""},
        {"done": "x" * 8_001},
        {"changed": ["x"] * 41},
        {"check": ["x" * 501]},
        {"metadata": {"a": "x" * 9_000}},
        {"outcome": "lost"},
        {"generation": 0},
        {"extra": 1},
    ):
        answer = bob.send("POST", f"/runs/{run['run']}/report", {**report(run), **wrong})
        assert answer.status_code == 422, answer.text
    assert not pages.cardinal.events(FinalReported)


def test_the_script_of_the_docs_does_the_cards_that_wait_for_it(pages: Pages) -> None:
    cardinal, bob = pages.cardinal, Program(pages, "bob")
    cardinal.set_policy(with_column(agent="own"))
    cardinal.catch_up()
    blocker, blocked = cardinal.new("First"), cardinal.new("Second")
    block(cardinal, blocked, blocker)
    item = cardinal.new("Count me", column="In Progress")
    cardinal.catch_up()
    cardinal.drag(blocked, "In Progress")
    cardinal.catch_up()
    run = cardinal.run_of(item)
    assert (run.agent, cardinal.ready()) == ("own", ())
    assert cardinal.card(item).because == f"{run.run_id} is waiting for a worker of your own to claim it"
    waits = bob.send("POST", f"{path_of(pages, blocked)}/claim", {})
    assert "waiting for" in waits.get_json()["detail"], waits.text
    close(cardinal, blocker)
    cardinal.catch_up()
    with served(pages) as address:
        environ = {"CARDINAL_URL": address, "CARDINAL_TOKEN": bob.token}
        command = (sys.executable, str(ROOT / "docs" / "worker.py"), "In Progress")
        subprocess.run(command, env=environ, check=True, timeout=60)
    cardinal.catch_up()
    for done in (item, blocked):
        assert cardinal.card(done).state == "work_complete"
        report = bob.get(path_of(pages, done))["report"]
        assert report["done"] == f"Counted {report['metadata']['words']} words."
        cardinal.comment(done, f"It has {report['metadata']['words']} words.")
    assert len(cardinal.events(RunClaimed)) == 2
    cardinal.assert_no_leftovers()


def test_a_worker_at_the_command_line_and_in_mcp_has_the_same_operations(pages: Pages, shell: Shell) -> None:
    cardinal = pages.cardinal
    card = cardinal.card(lying(pages))
    name = f"{card.repository}#{card.number}"
    run = json.loads(shell("claim", name, "--lease-s", "60", "--json").stdout)
    beat = shell("heartbeat", run["run"], str(run["generation"]), "--progress", "half", "--json")
    assert (beat.exit_code, "until" in beat.stdout) == (0, True), beat.output
    given = (
        "--metadata",
        "ms=12",
        "--metadata",
        'tags=["a", "b"]',
        "--metadata",
        "note=x=y",
        "--check",
        "sum",
    )
    ended = shell("hand-in", run["run"], str(run["generation"]), "succeeded", "Measured.", *given)
    assert ended.exit_code == 0, ended.output
    (final,) = cardinal.events(FinalReported)
    assert (final.check, final.metadata) == (("sum",), {"ms": 12, "tags": ["a", "b"], "note": "x=y"})
    again = shell("heartbeat", run["run"], "1")
    assert (again.exit_code, "has ended" in again.stderr) == (1, True), again.output
    done = shell("command", "complete", name, "--text", "Port 80.", "--metadata", "port=80", "--json")
    assert (done.exit_code, json.loads(done.stdout)["done"]) == (0, True), done.output
    (handed_over,) = cardinal.events(HandedOver)
    assert (handed_over.by, handed_over.metadata) == ("bob", {"port": 80})
    assert {"claim_job", "heartbeat_run", "hand_in_run"} <= {tool.name for tool in list_tools()}
