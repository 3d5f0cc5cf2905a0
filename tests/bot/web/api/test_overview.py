"""Programs see what waits for people, and what work costs: of what their account may read."""

import csv
import io
import json
from typing import Any
from urllib.parse import urlencode

import pytest
from click.testing import CliRunner

from bot.cli import main
from bot.outbox import subscribers
from bot.web.api.csv_text import csv_text
from bot.web.authorization import KEPT_S
from ledger.events.board import StopOrdered
from ledger.events.run import CommandChecked, FinalReported, RunClaimed
from rules.chatops.notices import Subscriber
from tests.bot.flows.cardinal import Cardinal
from tests.bot.web.api.program import Program, path_of
from tests.bot.web.pages.forms import asked, at_work
from tests.bot.web.pages.test_artifacts import hide
from tests.bot.web.pages.test_boards import hidden_card
from tests.bot.web.pages.test_runs import happens
from tests.bot.web.pages.world import Pages

MISSING = "Ask Cardinal's operator to run `cardinal notify add bob`"
UNREAD = "Cardinal cannot read its file of addresses. Ask its operator to run `cardinal doctor`"


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_program_follows_a_job_and_lists_what_it_follows(pages: Pages) -> None:
    item, other = at_work(pages), at_work(pages)
    bob, alice = Program(pages, "bob"), Program(pages, "alice")
    assert bob.command(path_of(pages, item), "subscribe").status_code == 200
    assert alice.command(path_of(pages, other), "subscribe", "run").status_code == 200
    pages.cardinal.catch_up()
    number = pages.cardinal.card(item).number
    assert [it["number"] for it in bob.get("/jobs?subscribed=true")["jobs"]] == [number]
    assert len(bob.get("/jobs?subscribed=false")["jobs"]) > 1
    bob.command(path_of(pages, item), "unsubscribe")
    pages.cardinal.catch_up()
    assert bob.get("/jobs?subscribed=true")["jobs"] == []
    hide(pages.cardinal)
    pages.cardinal.clock.forward(KEPT_S + 1)
    mallory = Program(pages, "mallory")
    assert mallory.command(path_of(pages, item), "subscribe").status_code == 404


@pytest.mark.after(scene=Cardinal.at_work)
@pytest.mark.parametrize(
    ("file", "said"),
    [
        ({"Bob": Subscriber(address="json://here")}, ""),
        ({"bob": Subscriber(address="json://here", channel=True), "alice": Subscriber(address="a")}, MISSING),
        ({}, MISSING),
        ("{", UNREAD),
    ],
)
def test_who_follows_and_gets_no_notices_reads_why_by_the_api_and_on_the_card(
    pages: Pages, file: dict[str, Subscriber] | str, said: str
) -> None:
    item, home = at_work(pages), pages.cardinal.services.config.home
    if isinstance(file, str):
        (home / subscribers.FILE).write_text(file)
    else:
        subscribers.write(home, file)
    bob = Program(pages, "bob")
    answer = bob.command(path_of(pages, item), "subscribe").get_json()["answer"]
    assert [it in answer for it in (MISSING, UNREAD)] == [it == said for it in (MISSING, UNREAD)]
    pages.cardinal.say(item, "/cardinal subscribe", "bob")
    pages.cardinal.catch_up()
    for text in (MISSING, UNREAD):
        assert sum(text in it for it in pages.cardinal.told(item)) == (2 if text == said else 0)
    assert len(bob.get("/jobs?subscribed=true")["jobs"]) == 1


@pytest.mark.after(scene=Cardinal.at_work)
def test_what_waits_for_people_is_listed_and_what_runs_did_is_counted(pages: Pages) -> None:
    run_id = pages.cardinal.run_of(asked(pages, "8080")).run_id
    at_work(pages)
    bob = Program(pages, "bob")
    inbox, figures = bob.get("/inbox?board=acme/1"), bob.get("/stats?days=7")
    assert ([it["run"] for it in inbox["jobs"]], inbox["total"]) == ([run_id], 1)
    assert (figures["runs"], figures["needed_person"], figures["merged"]) == (2, 1, 0)
    assert set(figures["usd_by"]) == {"day", "column", "repository", "person", "agent", "model"}
    asked(pages, "8080")
    inbox = bob.get("/inbox?limit=1")
    assert ([it["run"] for it in inbox["jobs"]], inbox["total"]) == ([run_id], 2)
    for path in ("/inbox?board=acme/9", "/stats?board=acme/9"):
        assert bob.send("GET", path).status_code == 404
    hide(pages.cardinal)
    pages.cardinal.clock.forward(KEPT_S + 1)
    mallory = Program(pages, "mallory")
    assert mallory.get("/inbox") == {"jobs": [], "total": 0, "others": 0}
    assert mallory.get("/stats")["runs"] == 0


@pytest.mark.after(scene=Cardinal.at_work)
def test_runs_are_listed_with_their_jobs_for_who_may_read_both_repositories(pages: Pages) -> None:
    item = asked(pages, "8080")
    card, first = pages.cardinal.card(item), pages.cardinal.run_of(item)
    second = pages.cardinal.run_of(at_work(pages))
    bob = Program(pages, "bob")
    listed = bob.get("/runs")["runs"]
    assert [it["run"] for it in listed][:2] == [second.run_id, first.run_id]
    assert (listed[1]["number"], listed[1]["title"]) == (card.number, card.title)
    assert [it["run"] for it in bob.get("/runs?limit=1")["runs"]] == [second.run_id]
    of_job = bob.get(f"/runs?{urlencode({'issue': f'{card.repository}#{card.number}'})}")["runs"]
    assert [it["run"] for it in of_job] == [first.run_id]
    assert bob.send("GET", "/runs?issue=nonsense").status_code == 422
    hide(pages.cardinal)
    pages.cardinal.clock.forward(KEPT_S + 1)
    mallory = Program(pages, "mallory")
    assert mallory.get("/runs") == {"runs": [], "total": 0, "next": ""}
    assert mallory.send("GET", "/runs?issue=acme/shop%231").status_code == 404


@pytest.mark.after(scene=Cardinal.at_work)
def test_runs_are_filtered_paged_and_given_as_csv(pages: Pages) -> None:
    item = asked(pages, "8080")
    asking, working = pages.cardinal.run_of(item).run_id, pages.cardinal.run_of(at_work(pages)).run_id
    bob = Program(pages, "bob")

    def listed(query: str) -> list[str]:
        return [it["run"] for it in bob.get(f"/runs?{query}")["runs"]]

    assert (listed("status=needs_input"), listed("status=needs-input&days=1")) == ([asking], [asking])
    assert (listed("status=failed"), listed("agent=SCRIPTED&repository=acme/shop")) == ([], [working, asking])
    first = bob.get("/runs?limit=1")
    assert ([it["run"] for it in first["runs"]], first["total"]) == ([working], 2)
    assert bob.get(f"/runs?limit=1&after={first['next']}")["runs"][0]["run"] == asking
    for query, said in (
        ("status=parked", "choose queued, working, needs input"),
        ("agent=scriptd", "did you mean scripted?"),
        ("reason=nonsense", "no run here has the reason"),
        ("days=0x", "days"),
    ):
        wrong = bob.send("GET", f"/runs?{query}")
        assert (wrong.status_code, said in wrong.text) == (422, True), wrong.text
    sheet = bob.send("GET", "/runs", Accept="text/csv")
    assert sheet.content_type == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(sheet.text)))
    assert [(row["run"], row["status"]) for row in rows] == [(working, "working"), (asking, "needs_input")]
    home = {"CARDINAL_HOME": str(pages.cardinal.services.config.home)}
    printed = CliRunner().invoke(main, ["runs", "--csv", "--status", "needs input"], env=home)
    assert [row["run"] for row in csv.DictReader(io.StringIO(printed.stdout))] == [asking]
    assert "needs input" in CliRunner().invoke(main, ["runs"], env=home).stdout


@pytest.mark.after(scene=Cardinal.at_work)
def test_the_whole_report_is_told_by_get_run_get_job_and_the_command_line(pages: Pages) -> None:
    item = asked(pages, "8080")
    run_id = pages.cardinal.run_of(item).run_id
    told = FinalReported(run_id, "It adds\u202e up.", ("cart.py adds",), ("the sum",), ("Round it?",))
    happens(pages, told, CommandChecked(run_id, 1, "full", "make", 2, 0.5, "e" * 64, "it broke"))
    happens(pages, CommandChecked(run_id, 2, "full", "make", 0, 0.5, "e" * 64, "fine"))
    bob, path = Program(pages, "bob"), path_of(pages, item)
    run, job = bob.get(f"/runs/{run_id}"), bob.get(path)
    report = {"done": "It adds up.", "changed": ["cart.py adds"], "check": ["the sum"]}
    report |= {"open_questions": ["Round it?"], "run_id": run_id}
    for whole in (run, job):
        assert report.items() <= whole["report"].items()
    assert [(it["command"], it["exit_code"], it["tail"]) for it in run["evidence"]] == [
        ("make", 2, "it broke"),
        ("make", 0, ""),
    ]
    assert (run["questions"][0]["choices"], run["questions"][0]["answered_at"]) == (["8080"], None)
    home = {"CARDINAL_HOME": str(pages.cardinal.services.config.home)}
    card = pages.cardinal.card(item)
    for name, whole in ((run_id, run), (f"{card.repository}#{card.number}", job)):
        printed = CliRunner().invoke(main, ["show", name, "--json"], env=home)
        assert json.loads(printed.stdout)["report"] == whole["report"], printed.output
        text = CliRunner().invoke(main, ["show", name], env=home).stdout
        for said in ("done: It adds up.", "check: the sum", "open questions: Round it?"):
            assert f"  {said}\n" in text


@pytest.mark.after(scene=Cardinal.at_work)
def test_what_is_for_the_operator_alone_is_in_no_answer_of_the_api(pages: Pages) -> None:
    run_id = pages.run()
    secret = pages.keep(run_id, "briefing.md", "briefing", "Of other cards.\n")
    log = pages.keep(run_id, "full 1", "log")
    bob = Program(pages, "bob")
    for path in (f"/runs/{run_id}", f"/runs/{run_id}/artifacts"):
        digests = [it["digest"] for it in bob.get(path)["artifacts"]]
        assert (log in digests, secret in digests) == (True, False)
    assert secret not in bob.send("GET", f"/runs/{run_id}", Accept="text/markdown").text
    home = {"CARDINAL_HOME": str(pages.cardinal.services.config.home)}
    for words in (("artifacts", run_id), ("show", run_id)):
        assert secret in CliRunner().invoke(main, words, env=home).stdout


def test_a_spreadsheet_computes_nothing_of_a_list() -> None:
    row = {"title": "=HYPERLINK(1)", "by": '@eve "x",\n', "usd": -1.5}
    assert csv_text([row], ("title", "by", "usd")).splitlines() == [
        "title,by,usd",
        '\'=HYPERLINK(1),"\'@eve ""x"",',
        '",-1.5',
    ]


def test_a_board_has_its_jobs_limits_and_queues_and_nothing_of_a_hidden_repository(pages: Pages) -> None:
    at_work, queued = pages.run(), pages.run()
    happens(pages, RunClaimed(at_work, 1, "b-1", "b"))
    bob, path = Program(pages, "bob"), "/boards/acme/1"
    shown = bob.get(f"{path}?limit=1&column=In%20Progress")
    assert [it["run"] for it in shown["queues"]] == [queued]
    assert ("the board", "1", "4") in {(it["place"], it["used"], it["allowed"]) for it in shown["limits"]}
    (column,) = shown["columns"]
    assert (len(column["listed"]), sum(column["jobs"].values())) == (1, 2)
    assert bob.get(path)["columns"][0]["listed"] == bob.get(f"{path}?search=basket")["queues"] == []
    wrong = bob.send("GET", f"{path}?column=In%20Progres")
    assert (wrong.status_code, "did you mean In Progress?" in wrong.text) == (422, True)
    secret = hidden_card(pages, "S")
    happens(pages, StopOrdered(pages.cardinal.board_id, "card", secret, "eve"))
    hidden = bob.get(f"{path}?limit=10&state=archived")
    assert (hidden["limits"], hidden["queues"], hidden["stops"]) == ([], [], [])
    assert "acme/secret" not in json.dumps(hidden)


@pytest.mark.after(scene=Cardinal.at_work)
def test_the_command_line_prints_what_the_api_answers(pages: Pages) -> None:
    item = asked(pages, "8080")
    card = pages.cardinal.card(item)
    bob = Program(pages, "bob")
    home = {"CARDINAL_HOME": str(pages.cardinal.services.config.home)}
    job = f"{card.repository}#{card.number}"
    for words, path in (
        (("inbox",), "/inbox"),
        (("runs", "--card", job), f"/runs?{urlencode({'issue': job})}"),
        (("explain", job), f"/jobs/{card.repository}/{card.number}/explanation"),
        (("stats",), "/stats"),
    ):
        printed = CliRunner().invoke(main, [*words, "--json"], env=home)
        assert printed.exit_code == 0, printed.output
        said, answered = (_without_clock(it) for it in (json.loads(printed.stdout), bob.get(path)))
        assert said == answered


def _without_clock(document: Any) -> Any:
    """Return it without what is counted until now."""
    if isinstance(document, list):
        return [_without_clock(it) for it in document]
    if not isinstance(document, dict):
        return document
    kept = {name: it for name, it in document.items() if not name.endswith("_s") and name != "since"}
    return {name: _without_clock(it) for name, it in kept.items()}
