"""The API's door: who comes in, what a request may say, and that it acts once."""

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from bot.web.acting.record import RECORDED
from bot.web.api import door
from bot.web.api.operation import OPERATIONS
from bot.web.api.operations import list_jobs
from bot.web.authorization import KEPT_S
from ledger.events.board import CardArchived
from ledger.events.conversation import CommandGiven, CommandRefused
from ledger.events.run import RunStopAsked
from ledger.ids import CardId
from ledger.log import event_store
from ledger.queue import api_tokens
from ledger.queue.api_tokens import Scope, TokenRow
from ledger.states import RunState
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.people import issue_of
from tests.bot.flows.settings import POLICY
from tests.bot.web.api.program import CLAIMING, LIVES, Program, lying, path_of
from tests.bot.web.api.test_create_job import WISH
from tests.bot.web.pages.forms import asked, at_work, commands
from tests.bot.web.pages.test_artifacts import hide
from tests.bot.web.pages.world import Pages
from tests.waiting import until


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_program_answers_a_question_as_its_account_and_the_card_reports_it(pages: Pages) -> None:
    item = asked(pages, "8080", "8081")
    bob, path = Program(pages, "bob"), path_of(pages, item)
    job = bob.get(path)
    assert bob.get(path.replace("acme/shop", "ACME/Shop")) == job
    question = job["question"]
    assert (job["state"], question["choices"]) == ("needs_input", ["8080", "8081"])
    offer = next(it for it in job["offers"] if it["name"] == f"answer:{question['question']}")
    assert offer["choices"] == ["1", "2"]
    answer = bob.command(path, offer["name"], "2")
    assert answer.status_code == 200, answer.text
    receipt = answer.get_json()
    assert (receipt["answer"], receipt["done"]) == (RECORDED.format(command="answer"), True)
    (given,) = pages.cardinal.events(CommandGiven)
    assert (given.by, given.role, given.place, given.via) == ("bob", "write", "api", "ci")
    assert given.source == f"api:{offer['name']}"
    assert pages.cardinal.run_of(item).state is RunState.QUEUED
    pages.cardinal.catch_up()
    assert pages.cardinal.comment(item, "gave `/cardinal answer` by a program")
    pages.cardinal.assert_nothing_is_stuck()


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_request_acts_once_under_its_key_and_another_one_does_not_get_its_place(pages: Pages) -> None:
    item = at_work(pages)
    bob, path = Program(pages, "bob"), path_of(pages, item)
    first = bob.command(path, "pause", Idempotency_Key="k1").get_json()
    again = bob.command(path, "pause", Idempotency_Key="k1").get_json()
    assert (first["again"], again["again"]) == (False, True)
    assert {**first, "again": True} == again
    other = bob.command(path, "cancel", Idempotency_Key="k1")
    assert (other.status_code, other.get_json()["code"]) == (409, "reused_key")
    assert [it.how for it in pages.cardinal.events(RunStopAsked)] == ["pause"]
    carol = Program(pages, "carol")  # a key is its token's own
    assert carol.command(path, "cancel", Idempotency_Key="k1").status_code == 200
    assert len(commands(pages)) == 2
    assert bob.command(path, "cancel", Idempotency_Key="ä").status_code == 400


def test_a_key_that_acted_gets_its_receipt_whatever_the_pace_and_wherever_the_card_is(pages: Pages) -> None:
    pages.cardinal.set_policy(POLICY.replace("limits: {", "limits: {commands_per_minute: 2, "))
    item = pages.cardinal.new("Old", column="Tasks")
    pages.cardinal.catch_up()
    bob, path = Program(pages, "bob"), path_of(pages, item)
    receipts = [bob.command(path, word, Idempotency_Key=word) for word in ("status", "archive")]
    assert bob.command(path, "status", Idempotency_Key="another").status_code == 429
    pages.cardinal.catch_up()
    for word, first in zip(("status", "archive"), receipts, strict=True):
        again = bob.command(path, word, Idempotency_Key=word).get_json()
        assert (again["seq"], again["again"]) == (first.get_json()["seq"], True)
    assert bob.command(path, "cancel", Idempotency_Key="status").status_code == 409


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_refused_command_is_refused_each_time_and_said_once(pages: Pages) -> None:
    item = at_work(pages)
    mallory, path = Program(pages, "mallory"), path_of(pages, item)
    for _ in range(2):
        refused = mallory.command(path, "cancel", Idempotency_Key="k1")
        assert (refused.status_code, refused.get_json()["code"]) == (403, "refused")
        assert "needs the role" in refused.get_json()["detail"]
    (event,) = pages.cardinal.events(CommandRefused)
    assert (event.command, event.via) == ("api:cancel", "ci")


def test_a_job_names_its_assignees_and_is_listed_by_them(pages: Pages) -> None:
    items, issues = [pages.cardinal.new(), pages.cardinal.new()], pages.cardinal.forge.store.issues
    issues.set_assignees(issue_of(items[1]), ["bob"], actor=pages.cardinal.person("carol"))
    pages.cardinal.catch_up()
    bob = Program(pages, "bob")
    assert [bob.get(path_of(pages, item))["assignees"] for item in items] == [[], ["bob"]]
    listed = bob.get("/jobs?person=bob")["jobs"]
    assert [it["number"] for it in listed] == [issue_of(items[1]).number]


def test_a_card_is_archived_and_brought_back_in_words(pages: Pages) -> None:
    item = pages.cardinal.new("Old", column="Tasks")
    pages.cardinal.catch_up()
    bob, path = Program(pages, "bob"), path_of(pages, item)
    first = bob.command(path, "archive", Idempotency_Key="k1")
    assert (first.status_code, first.get_json()["again"]) == (200, False)
    pages.cardinal.catch_up()
    again = bob.command(path, "archive", Idempotency_Key="k1")  # as after a lost answer
    assert (again.status_code, again.get_json()["again"]) == (200, True)
    assert "already archived" in bob.command(path, "archive").get_json()["answer"]
    (away,) = pages.cardinal.events(CardArchived)
    assert (item.archived_at is None, away.by, away.role) == (False, "bob", "write")
    assert bob.command(path, "cancel").status_code == 404  # a card that left is about nothing but this
    shown = bob.get(path)
    assert (shown["state"], [it["name"] for it in shown["offers"]]) == ("archived", ["unarchive"])
    assert [it["number"] for it in bob.get("/jobs?state=archived")["jobs"]] == [shown["number"]]
    assert bob.command(path, "unarchive").status_code == 200
    pages.cardinal.catch_up()
    assert (item.archived_at, pages.cardinal.card(item).state) == (None, "draft")


def test_a_program_lists_its_accounts_valid_tokens_and_no_others(pages: Pages) -> None:
    bob, other, _ = Program(pages, "bob"), Program(pages, "bob", name="old"), Program(pages, "alice")
    with event_store.writing(pages.cardinal.services.engine) as db:
        api_tokens.revoke(db, other.row.token_id, pages.cardinal.services.now())
    answer = bob.send("GET", "/tokens")
    assert [(it["token_id"], it["login"]) for it in answer.get_json()["tokens"]] == [
        (bob.row.token_id, "bob")
    ]
    assert bob.token not in answer.text


def test_no_token_opens_nothing(pages: Pages) -> None:
    without, wrong, revoked, over = (Program(pages, "bob") for _ in range(4))
    without.token = ""
    wrong.token = api_tokens.PREFIX + "0" * 48
    now = pages.cardinal.clock()
    with event_store.writing(pages.cardinal.services.engine) as db:
        assert not api_tokens.revoke(db, revoked.row.token_id, now, user_id=1)
        assert api_tokens.revoke(db, revoked.row.token_id, now)
    for program in (without, wrong, revoked):
        answer = program.send("GET", "/whoami")
        assert (answer.status_code, answer.get_json()["code"]) == (401, "token")
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert over.send("GET", "/whoami").status_code == 200
    pages.cardinal.clock.forward(LIVES / timedelta(seconds=1) + 1)
    assert over.send("GET", "/whoami").status_code == 401


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_scope_bounds_a_token_whatever_its_account_may(pages: Pages) -> None:
    item = at_work(pages)
    reader, path = Program(pages, "bob", Scope.READ), path_of(pages, item)
    assert reader.get("/whoami")["scopes"] == ["read"]
    refused = reader.command(path, "cancel")
    assert (refused.status_code, refused.get_json()["code"]) == (403, "scope")
    assert commands(pages) == []


@pytest.mark.after(scene=Cardinal.at_work)
def test_what_an_account_may_not_read_is_not_there(pages: Pages) -> None:
    item = at_work(pages)
    run_id = pages.cardinal.run_of(item).run_id
    hide(pages.cardinal)
    pages.cardinal.clock.forward(KEPT_S + 1)
    mallory, path = Program(pages, "mallory"), path_of(pages, item)
    for hidden, missing in ((path, "/jobs/acme/none/1"), (f"/runs/{run_id}", "/runs/r999")):
        answers = [mallory.send("GET", it) for it in (hidden, missing)]
        assert [it.status_code for it in answers] == [404, 404]
        assert answers[0].text == answers[1].text
    assert mallory.command(path, "cancel").status_code == 404
    assert "acme/shop" not in {job["repository"] for job in mallory.get("/jobs")["jobs"]}
    bob = Program(pages, "bob")
    assert [it["run"] for it in bob.get("/jobs?state=working")["jobs"]] == [run_id]


def test_a_token_that_asks_without_end_waits_and_its_uses_are_counted(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "A_MINUTE", 3)
    bob, alice = Program(pages, "bob"), Program(pages, "alice")
    pages.cardinal.clock.forward(60 - pages.cardinal.clock().second)  # no minute ends amid them
    assert [bob.send("GET", "/whoami").status_code for _ in range(4)] == [200, 200, 200, 429]
    assert int(bob.send("GET", "/whoami").headers["Retry-After"]) <= 60
    assert alice.send("GET", "/whoami").status_code == 200
    pages.cardinal.clock.forward(60)
    assert bob.send("GET", "/whoami").status_code == 200

    def of_bob() -> TokenRow:
        with event_store.reading(pages.cardinal.services.engine) as db:
            (row,) = api_tokens.list_living(db, pages.cardinal.services.now(), user_id=bob.row.user_id)
        return row

    until(lambda: of_bob().uses == 6, "the uses are counted")
    assert of_bob().used_at is not None


FIRST = list_jobs.write_cursor(
    datetime.min.replace(tzinfo=timezone(timedelta(hours=1))), CardId("c")
)  # no UTC has it
UNFIT: tuple[tuple[str, str, Any, int, str], ...] = (
    ("GET", "/nothing", None, 404, "not_found"),
    ("DELETE", "/whoami", None, 405, "method"),
    ("TRACE", "/whoami", None, 405, "method"),
    ("GET", "//whoami", None, 404, "not_found"),
    ("GET", "/", None, 404, "not_found"),
    ("GET", "/jobs?limit=0", None, 422, "unfit"),
    ("GET", "/jobs?limit=1&limit=2", None, 422, "unfit"),
    ("GET", "/jobs?colour=red", None, 422, "unfit"),
    ("GET", "/jobs?state=happy", None, 422, "unfit"),
    ("GET", "/jobs?after=AAAA", None, 400, "unfit_cursor"),
    ("GET", f"/jobs?after={FIRST}", None, 400, "unfit_cursor"),
    ("GET", "/jobs?search=%00", None, 422, "unfit"),
    ("POST", "/jobs", {**WISH, "labels": ["a\0b"]}, 422, "unfit"),
    ("POST", "/jobs", {**WISH, "labels": [""]}, 422, "unfit"),
    ("POST", "/jobs", {**WISH, "labels": ["x" * 51]}, 422, "unfit"),
    ("POST", "/jobs", {**WISH, "repository": "acme/.."}, 422, "unfit"),
    ("GET", "/jobs?board=acme/99", None, 404, "not_found"),
    ("GET", "/runs/1", None, 422, "unfit"),
    ("POST", "/jobs/acme/shop/1/commands", {"command": "destroy"}, 422, "unfit"),
    ("POST", "/jobs/acme/shop/1/commands", {"command": "cancel", "owner": "x"}, 422, "unfit"),
    ("POST", "/jobs/acme/shop/1/commands", [], 422, "unfit"),
    ("POST", "/jobs/acme/shop/1/commands", None, 415, "not_json"),
    ("POST", "/jobs/acme/shop/1/commands", {"command": "x", "text": "y" * 300_000}, 413, "too_large"),
)


def test_an_unfit_request_is_a_problem_with_what_to_do(pages: Pages) -> None:
    bob = Program(pages, "bob")
    for method, path, body, status, code in UNFIT:
        answer = bob.send(method, path, body)
        assert (answer.status_code, answer.mimetype) == (status, "application/problem+json"), path
        document = answer.get_json()
        assert (document["status"], document["code"]) == (status, code)
        assert document["remedy"]
    unknown = bob.send("POST", "/jobs/acme/shop/1/commands", {"command": "destroy"}).get_json()["detail"]
    near = "Did you mean `/cardinal retry`? `/cardinal help` lists all."
    assert unknown == f"command: There is no command `destroy`. {near}"


def test_a_fault_of_the_server_is_a_problem_without_a_detail(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    def explode(*_: object) -> None:
        raise ValueError("a secret")

    monkeypatch.setattr(OPERATIONS.load("whoami"), "run", explode)
    answer = Program(pages, "bob").send("GET", "/whoami")
    assert (answer.status_code, answer.mimetype) == (500, "application/problem+json")
    assert answer.get_json()["code"] == "failed"
    assert "a secret" not in answer.text


def test_lists_go_on_where_a_page_ended(pages: Pages) -> None:
    for _ in range(5):
        pages.cardinal.new(column="Tasks")
    pages.cardinal.catch_up()
    bob = Program(pages, "bob")
    pages_of, after = list[list[int]](), ""
    while not pages_of or (after and len(pages_of) < 20):
        page = bob.get(f"/jobs?limit=2&after={after}")
        pages_of.append([job["number"] for job in page["jobs"]])
        after = page["next"]
    listed = [job["number"] for job in bob.get("/jobs")["jobs"]]
    assert [number for numbers in pages_of for number in numbers] == listed
    assert {len(numbers) for numbers in pages_of[:-1]} == {2}


@pytest.mark.after(scene=Cardinal.at_work)
def test_the_examples_work_and_the_description_has_every_operation(pages: Pages) -> None:
    item = at_work(pages)
    card, run_id = pages.cardinal.card(item), pages.cardinal.run_of(item).run_id
    alice = Program(pages, "alice")
    described = alice.get("/openapi.json")
    free = lying(pages)
    idle = pages.cardinal.card(free)
    names = [*(name for name in OPERATIONS.names() if name not in CLAIMING), *CLAIMING]
    for name in names:
        operation = OPERATIONS.load(name)
        card, run_id = (
            (idle, pages.cardinal.card(free).run_id or run_id) if name in CLAIMING else (card, run_id)
        )
        example = {**operation.EXAMPLE}
        if "number" in example and "repository" in example:
            example |= {"number": card.number}
        if "request" in example:
            example |= {"request": Program(pages, "alice").send("POST", "/jobs", WISH).get_json()["request"]}
        if "run" in example:
            example |= {"run": run_id}
        if "digest" in example:
            example |= {"digest": pages.keep(run_id, "full 1: pytest", "log")}
        path = operation.PATH.format(**example)
        fields = {key: it for key, it in example.items() if f"{{{key}}}" not in operation.PATH}
        query = "&".join(f"{key}={it}" for key, it in fields.items())
        is_get = operation.METHOD == "GET"
        answer = alice.send(
            operation.METHOD, f"{path}?{query}" if is_get else path, None if is_get else fields
        )
        assert answer.status_code == 200, (name, answer.text)
        operation.Output.model_validate_json(answer.text)
        assert described["paths"][operation.PATH][operation.METHOD.lower()]["operationId"] == name


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_run_is_followed_from_the_last_event_that_is_known(pages: Pages) -> None:
    item = asked(pages)
    run_id = pages.cardinal.run_of(item).run_id
    bob = Program(pages, "bob")
    page = bob.get(f"/runs/{run_id}/events")
    assert any("Which" in line["text"] for line in page["lines"])
    stream = bob.send("GET", f"/runs/{run_id}/events", Accept="text/event-stream")
    assert (stream.mimetype, stream.text.count("event: line")) == ("text/event-stream", len(page["lines"]))
    seqs = [line["seq"] for line in page["lines"]]
    rest = bob.send("GET", f"/runs/{run_id}/events", Accept="text/event-stream", Last_Event_ID=str(seqs[-2]))
    assert rest.text.count("event: line") == 1
    assert f"id: {seqs[-1]}\n" in rest.text
