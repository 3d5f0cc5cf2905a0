"""A program makes a job: one card for one request, where its account may put one, for that account."""

from datetime import timedelta

import pytest

from bot.github.api import roles
from bot.runspec import briefing
from bot.web.api.operation import KEPT
from bot.web.api.operations import create_job
from bot.web.authorization import KEPT_S
from bot.web.site import holds
from ledger.events.board import CardMoved, StopOrdered, WorkStalled
from ledger.events.budget import BudgetRaised
from ledger.events.instruction import SkillsPinned
from ledger.events.job import JobMade
from ledger.events.placement import RepositoryResolved
from ledger.events.run import RunQueued
from ledger.ids import RunId
from ledger.log import event_store
from ledger.queue import hosts
from rules.policy.column import ColumnPolicy
from tests.bot.flows.board.test_placement import NAMED
from tests.bot.flows.people import issue_of
from tests.bot.flows.settings import POLICY, with_column
from tests.bot.web.api.program import Program, path_of
from tests.bot.web.pages.test_artifacts import hide
from tests.bot.web.pages.test_runs import happens
from tests.bot.web.pages.world import Pages

WISH = {"board": "acme/1", "repository": "acme/shop", "title": "Say @hello", "body": "In the shop, @alice."}


def test_a_program_makes_one_card_for_its_account_however_often_it_asks(pages: Pages) -> None:
    cardinal = pages.cardinal
    first = cardinal.new(column="Tasks")
    cardinal.catch_up()
    bob = Program(pages, "bob")
    parent = path_of(pages, first).removeprefix("/jobs/").replace("shop/", "shop#")
    wish = {**WISH, "column": "in progress", "labels": ["chore"], "parents": [parent], "skills": ["tidy"]}
    for spelt in ({"repository": "ACME/Shop", "parents": [parent.upper()]}, {}):
        answer = bob.send("POST", "/jobs", {**wish, **spelt}, Idempotency_Key="k")
        assert (answer.status_code, answer.get_json()["number"]) == (200, 0), answer.text
    other = bob.send("POST", "/jobs", {**wish, "title": "Say more"}, Idempotency_Key="k")
    assert (other.status_code, other.get_json()["code"]) == (409, "reused_key")
    cardinal.catch_up()
    (made,) = cardinal.events(JobMade)
    assert bob.get(f"/requests/{answer.get_json()['request']}")["number"] == made.number
    assert made.repository == "acme/shop"
    job = bob.get(f"/jobs/acme/shop/{made.number}")
    assert (job["column"], job["labels"], job["runs"][0]["by"]) == ("In Progress", ["chore"], "bob")
    assert [(it.by_cardinal, it.by) for it in cardinal.events(CardMoved)] == [(True, "bob")]
    assert [(it.names, it.by) for it in cardinal.events(SkillsPinned)] == [(("tidy",), "bob")]
    item = next(it for it in cardinal.project.items if getattr(it.content, "number", 0) == made.number)
    assert "by a program (token" in (body := issue_of(item).body or "")
    assert "@alice" not in body
    assert ("<!-- cardinal:" in body, "<!--" in job["body"], "In the shop" in job["body"]) == (
        True,
        False,
        True,
    )
    assert f"waiting for #{parent.partition('#')[2]}" in job["why"]
    words = briefing.write(cardinal.services, cardinal.card(item), RunId("r1")).text
    assert words.startswith("# Say @")
    assert "## Description, by bob\nIn the shop" in words
    assert Program(pages, "alice").send("GET", f"/requests/{made.key}").status_code == 404
    cardinal.assert_nothing_is_stuck()


def test_a_request_that_was_made_is_answered_though_it_would_not_fit_any_more(pages: Pages) -> None:
    first = pages.cardinal.new(column="Tasks")
    pages.cardinal.catch_up()
    bob, path = Program(pages, "bob"), path_of(pages, first)
    wish = {**WISH, "parents": [path.removeprefix("/jobs/").replace("shop/", "shop#")]}
    made = bob.send("POST", "/jobs", wish, Idempotency_Key="k")
    bob.command(path, "archive")
    pages.cardinal.catch_up()
    assert bob.send("POST", "/jobs", wish, Idempotency_Key="another").status_code == 422
    again = bob.send("POST", "/jobs", wish, Idempotency_Key="k")
    assert (again.status_code, again.get_json()["request"]) == (200, made.get_json()["request"]), again.text


def test_what_became_of_a_request_is_told_without_holding_the_ledger_while_github_is_asked(
    pages: Pages, caplog: pytest.LogCaptureFixture
) -> None:
    bob = Program(pages, "bob")
    made = bob.send("POST", "/jobs", WISH).get_json()
    pages.cardinal.clock.forward(KEPT_S + 1)
    assert bob.get(f"/requests/{made['request']}") == made
    services = pages.cardinal.services
    with event_store.reading(services.engine), pytest.raises(AssertionError, match="inside a transaction"):
        roles.role(services.hub, "acme/shop", "bob")
    assert "asked inside a transaction of the ledger call=GET /repos/acme/shop" in caplog.text


def test_the_answer_says_why_no_run_would_start(pages: Pages) -> None:
    engine, bob = pages.cardinal.services.engine, Program(pages, "bob")
    no_host = holds.NO_HOST.format(workers="`cardinal up` or `cardinal work`")

    def warnings() -> list[str]:
        answer = bob.send("POST", "/jobs", {**WISH, "column": "In Progress"})
        lines: list[str] = answer.get_json()["warnings"]
        return lines

    assert warnings() == [no_host]
    with event_store.writing(engine) as db:
        hosts.beat(db, "a", slots=2, labels=(), version="1")
    assert warnings() == []
    happens(pages, WorkStalled(pages.cardinal.board_id, 2))
    assert warnings() == [holds.STALLED]
    with event_store.writing(engine) as db:
        hosts.drain(db, "a", drained=True)
    assert warnings() == [no_host]
    happens(pages, StopOrdered(pages.cardinal.board_id, "column", "Planning", "alice"))
    assert warnings() == [no_host]
    happens(pages, StopOrdered(pages.cardinal.board_id, "column", "In Progress", "alice"))
    happens(pages, StopOrdered(pages.cardinal.board_id, "board", "", "alice"))
    stopped = {line.partition(" is ")[0] for line in warnings()}
    assert {"The board", "The column In Progress"} < stopped


def test_the_answer_names_the_labels_of_its_column_that_no_host_at_work_has(pages: Pages) -> None:
    cardinal, bob = pages.cardinal, Program(pages, "bob")
    cardinal.set_policy(with_column(runs_on="[gpu, eu]"))
    cardinal.catch_up()

    def warnings(column: str) -> list[str]:
        lines: list[str] = bob.send("POST", "/jobs", {**WISH, "column": column}).get_json()["warnings"]
        return lines

    def beat(name: str, *labels: str, drained: bool = False) -> None:
        with event_store.writing(cardinal.services.engine) as db:
            hosts.beat(db, name, slots=2, labels=labels, version="1")
            hosts.drain(db, name, drained=drained)

    beat("a", "gpu")
    beat("b", "eu")
    beat("c", "gpu", "eu", drained=True)
    (lacking,) = warnings("in progress")
    assert lacking.startswith(
        "No host that takes runs has the labels gpu, eu: start one with `CARDINAL_LABELS=gpu,eu`"
    )
    assert (warnings("Planning"), warnings("")) == ([], [])
    happens(pages, StopOrdered(cardinal.board_id, "column", "In Progress", "alice"))
    assert [it.partition(" is ")[0] for it in warnings("in progress")] == ["The column In Progress", lacking]
    beat("c", "gpu", "eu", "fast")
    assert len(warnings("In Progress")) == 1


FLOWS = "  workflows: {docs: {stages: [{name: write, persona: docs-writer}]}}\n"


def test_a_job_that_its_account_may_not_make_is_not_made(pages: Pages) -> None:
    capped = POLICY.replace("runs: 4,", "runs: 4, minutes_per_run: 120,")
    pages.cardinal.set_policy(f"{capped}{FLOWS}  commands: {{skills: admin, workflow: admin}}\n")
    pages.cardinal.catch_up()
    for login, more, status in (
        ("mallory", {}, 403),
        ("bob", {"repository": "globex/secret"}, 422),
        ("bob", {"column": "Nowhere"}, 422),
        ("bob", {"parents": ["acme/shop#999"]}, 422),
        ("bob", {"parents": ["acme/shop#x"]}, 422),
        ("bob", {"skills": ["../evil"]}, 422),
        ("bob", {"skills": ["tidy"]}, 403),
        ("bob", {"board": "acme/9"}, 404),
        ("bob", {"budget": 2.5}, 403),
        ("bob", {"workflow": "docs"}, 403),
        ("alice", {"workflow": "dosc"}, 422),
        ("alice", {"budget": 1001}, 422),
        ("alice", {"budget": -1}, 422),
        ("bob", {"minutes": 20}, 403),
        ("bob", {"turns": 20}, 403),
        ("alice", {"minutes": 121}, 422),
        ("alice", {"minutes": 1441}, 422),
        ("alice", {"turns": -1}, 422),
        ("bob", {"priority": "soon"}, 422),
        ("bob", {"agent": "codex"}, 422),
        ("bob", {"agent": "scripted", "model": "other"}, 422),
        ("bob", {"model": "other"}, 422),
    ):
        answer = Program(pages, login).send("POST", "/jobs", {**WISH, **more})
        assert answer.status_code == status, (login, more, answer.text)
    pages.cardinal.catch_up()
    assert pages.cardinal.events(JobMade) == []


def test_a_line_of_a_job_s_description_counts_as_of_its_account(pages: Pages) -> None:
    pages.cardinal.set_policy(NAMED.replace("move: [write,", "move: [write, '@mallory',"))
    pages.cardinal.catch_up()
    wish = {**WISH, "repository": "acme/board", "body": "Please.\n\nRepo: acme/shop"}
    for login in ("alice", "mallory"):
        assert Program(pages, login).send("POST", "/jobs", wish).status_code == 200, login
        pages.cardinal.catch_up()
    taken, refused = (pages.cardinal.events(RepositoryResolved)[place] for place in (0, -1))
    assert (taken.repository, taken.rule) == ("acme/shop", "line")
    assert (refused.repository, "`mallory`, who has no write access" in refused.problem) == ("", True)


def test_who_may_move_cards_makes_none_in_a_repository_that_they_may_not_read(pages: Pages) -> None:
    pages.cardinal.set_policy(POLICY.replace("move: [write,", "move: [write, '@mallory',"))
    pages.cardinal.catch_up()
    assert Program(pages, "mallory").send("POST", "/jobs", WISH).status_code == 200
    hide(pages.cardinal)
    pages.cardinal.clock.forward(KEPT.total_seconds())
    refused = Program(pages, "mallory").send("POST", "/jobs", WISH)
    assert (refused.status_code, "may not read acme/shop" in refused.text) == (403, True)


def test_a_job_s_runs_have_its_workflow_and_the_first_the_budget_that_its_account_may_give(
    pages: Pages,
) -> None:
    alice, cardinal = Program(pages, "alice"), pages.cardinal
    cardinal.set_policy(f"{POLICY}{FLOWS}")
    cardinal.catch_up()
    alice.send("POST", "/jobs", {**WISH, "column": "In Progress", "budget": 2.5, "workflow": "docs"})
    cardinal.catch_up()
    (queued,) = cardinal.events(RunQueued)
    assert (queued.workflow, queued.workflow_rule, queued.workflow_value) == ("docs", "command", "alice")
    (raised,) = cardinal.events(BudgetRaised)
    assert (raised.usd, raised.by) == (2.5, "alice")
    (made,) = cardinal.events(JobMade)
    item = next(it for it in cardinal.project.items if getattr(it.content, "number", 0) == made.number)
    cardinal.say(item, "/cardinal cancel")
    cardinal.catch_up()
    cardinal.say(item, "/cardinal retry")
    cardinal.catch_up()
    assert cardinal.run_of(item).attempt == 2
    assert len(cardinal.events(BudgetRaised)) == 1


def test_a_job_s_runs_have_the_agent_the_limits_and_the_priority_that_its_program_asked_for(
    pages: Pages,
) -> None:
    alice, cardinal = Program(pages, "alice"), pages.cardinal
    cardinal.set_policy(with_column(agents="[scripted/other]") + "  queue_order: priority\n")
    cardinal.catch_up()
    wish = {
        "agent": "scripted",
        "model": "other",
        "minutes": 120,
        "turns": 7,
        "priority": "urgent",
        "effort": "high",
    }
    made = alice.send("POST", "/jobs", {**WISH, "column": "In Progress", **wish})
    assert made.status_code == 200, made.text
    cardinal.catch_up()
    (job,) = cardinal.events(JobMade)
    item = next(it for it in cardinal.project.items if getattr(it.content, "number", 0) == job.number)
    run = cardinal.run_of(item)
    settings = ColumnPolicy.model_validate_json(run.settings)
    assert (run.played_by, run.priority, settings.model) == ("scripted/other", "urgent", "other")
    assert (settings.timeout_minutes, settings.max_turns, settings.budget_usd) == (120, 7, 2.0)
    assert (settings.effort, run.played) == ("high", "scripted, effort high")


def test_a_program_in_a_loop_ends_at_a_limit_and_a_key_is_free_again_after_a_day(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(create_job, "MAX_A_DAY", 2)
    bob = Program(pages, "bob")
    answers = [bob.send("POST", "/jobs", WISH, Idempotency_Key=f"k{number}") for number in (1, 2, 3, 1)]
    assert [it.status_code for it in answers] == [200, 200, 429, 200]
    assert answers[2].get_json()["code"] == "too_many_jobs"
    requests = [answers[place].get_json()["request"] for place in (0, 1, 3)]
    assert requests == [requests[0], requests[1], requests[0]]
    pages.cardinal.clock.forward(KEPT / timedelta(seconds=1) + 1)
    assert bob.send("POST", "/jobs", WISH, Idempotency_Key="k1").get_json()["request"] not in requests
    pages.cardinal.catch_up()
    assert len(pages.cardinal.events(JobMade)) == 3


def test_a_job_that_was_asked_for_is_pending_until_its_card_is_known(pages: Pages) -> None:
    cardinal, bob, carol = pages.cardinal, Program(pages, "bob"), Program(pages, "carol")
    made = bob.send("POST", "/jobs", WISH).get_json()
    assert (made["state"], made["number"]) == ("pending", 0)
    assert bob.get(f"/jobs/{made['request']}") == bob.get(f"/requests/{made['request']}") == made
    early = bob.send("GET", "/jobs/acme/shop/0")
    assert (early.status_code, "/requests/" in early.get_json()["detail"]) == (422, True), early.text
    cardinal.publish()
    made = bob.get(f"/requests/{made['request']}")
    assert (made["state"], made["number"] > 0) == ("made", True)
    path = f"/jobs/acme/shop/{made['number']}"
    job = bob.get(path.replace("acme/shop", "ACME/Shop"))
    assert (job["title"], job["why"]) == ("Say @hello", "pending: its card is being made")
    assert (job["board"], job["runs"], job["offers"]) == ("acme/1", [], [])
    for early in (bob.send("GET", f"{path}/explanation"), bob.command(path, "status")):
        assert (early.status_code, early.get_json()["code"]) == (503, "pending"), early.text
        assert "spelling" not in early.text
        assert early.headers["Retry-After"] == "2"
    assert carol.send("GET", path).status_code == 404
    assert bob.send("GET", f"{path}0").status_code == 404
    cardinal.catch_up()
    assert "pending" not in bob.get(path)["why"]
    assert bob.command(path, "status").status_code == 200
