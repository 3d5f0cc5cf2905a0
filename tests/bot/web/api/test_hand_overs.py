"""What people and runs hand over: kept, shown at every door, and read by the cards that depend on it."""

from dataclasses import replace

from ledger.events.run import FinalReported, RunEnded, RunQueued
from ledger.ids import RunId
from ledger.log import event_store
from ledger.states import Ending, RunKind
from ledger.views import hand_overs
from tests.bot.flows.people import issue_of
from tests.bot.flows.runs.test_dependencies import block, close
from tests.bot.web.api.program import Program, path_of
from tests.bot.web.pages.world import Pages

SAID = "Port 8080, not 80 <!-- psst -->.\nThe schema is in db/schema.sql."
SENT = {"command": "complete", "text": SAID, "metadata": {"port": 8080, "token": "ghp_" + "a" * 36}}


def test_what_a_person_completes_reaches_the_cards_that_wait_for_it_and_every_door(pages: Pages) -> None:
    cardinal, bob = pages.cardinal, Program(pages, "bob")
    design, build = cardinal.new("Design"), cardinal.new("Build")
    block(cardinal, build, design)
    cardinal.catch_up()
    path = path_of(pages, design)
    for _ in range(2):  # with its key it is done once
        answer = bob.send("POST", f"{path}/commands", SENT, Idempotency_Key="k")
        assert (answer.status_code, answer.get_json()["done"]) == (200, True), answer.text
    cardinal.catch_up()
    assert cardinal.card(design).column == "Done"
    later = bob.command(path, "complete", "Also: back it up.").get_json()
    assert (later["done"], "Your text is kept" in later["answer"]) == (True, True)
    cardinal.catch_up()
    job = bob.get(path)
    assert [(it["by"], it["text"], it["metadata"]) for it in job["handed_over"]] == [
        ("bob", "Also: back it up.", {}),
        ("bob", SAID, {"port": 8080, "token": "[redacted]"}),
    ]
    document = bob.send("GET", path, Accept="text/markdown").text
    assert ("- port: 8080" in document, "Also: back it up." in document) == (True, True)
    page = pages.browser("bob").get(f"/cards/acme/shop/{issue_of(design).number}").text
    for text in ("Handed over", "port: 8080", "Also: back it up.", "db/schema.sql"):
        assert text in page, text
    close(cardinal, design)
    cardinal.drag(build, "In Progress")
    cardinal.catch_up()
    told = cardinal.claimed(build)[0].briefing.text
    assert f"acme/shop#{issue_of(design).number}, done before this one:" in told
    for text in ("bob, who completed it:", "Port 8080, not 80 .", "- port: 8080", "Also: back it up."):
        assert text in told, text
    assert "psst" not in told


def test_a_failed_attempt_that_said_something_is_read_by_dependents_and_by_the_next_attempt(
    pages: Pages,
) -> None:
    cardinal, bob = pages.cardinal, Program(pages, "bob")
    first, second = cardinal.new("Tables", column="In Progress"), cardinal.new("Keys")
    cardinal.catch_up()
    block(cardinal, second, first)
    run_id = cardinal.run_of(first).run_id
    cardinal.begin(run_id)
    lists = (("t.sql has a table",), ("the indexes",), ("Which charset?",))
    said = FinalReported(run_id, "Made one of three.", *lists, metadata={"tables": ["a"]})
    ended = RunEnded(run_id, Ending.FAILED, "validation", "pytest failed", "validating")
    cardinal.write(run_id, said, ended)
    cardinal.catch_up()
    assert bob.get(f"/runs/{run_id}")["report"]["metadata"] == {"tables": ["a"]}
    assert bob.get(path_of(pages, first))["report"]["metadata"] == {"tables": ["a"]}
    again = replace(cardinal.events(RunQueued)[0], run_id=RunId("r9"), kind=RunKind.RERUN, again_of=run_id)
    with event_store.writing(cardinal.services.engine) as db:  # what it says is about its own branch
        event_store.append(
            db, again, FinalReported(RunId("r9"), "Another way.", (), (), ()), at=cardinal.services.now()
        )
    assert bob.get(path_of(pages, first))["report"]["metadata"] == {"tables": ["a"]}
    assert "tables: [" in pages.browser("bob").get(f"/runs/{run_id}").text
    cardinal.say(first, "/cardinal retry")
    cardinal.catch_up()
    parts = ("Made one of three.", "- t.sql has a table", "to check: the indexes", "open: Which charset?")
    told = cardinal.claimed(first)[0].briefing.text
    for text in (*parts, '- tables: ["a"]', "pytest failed"):
        assert text in told, text
    close(cardinal, first)
    cardinal.drag(second, "In Progress")
    cardinal.catch_up()
    told = cardinal.claimed(second)[0].briefing.text
    assert f"{run_id} by scripted, failed (validation):" in told
    for text in (*parts, '- tables: ["a"]'):
        assert text in told, text


def test_metadata_is_for_commands_that_take_some_and_within_its_bounds(pages: Pages) -> None:
    cardinal, bob = pages.cardinal, Program(pages, "bob")
    item = cardinal.new("Design")
    cardinal.catch_up()
    for sent, because in (
        ({"command": "status", "metadata": {"a": 1}}, "status takes no metadata, only complete"),
        ({"command": "complete", "metadata": {"a": "x" * 9_000}}, "leave out what nobody needs"),
        ({"command": "complete", "metadata": {"a": [[[[1]]]]}}, "nested deeper"),
        ({"command": "complete", "metadata": ["a"]}, "send names with values"),
    ):
        answer = bob.send("POST", f"{path_of(pages, item)}/commands", sent)
        assert (answer.status_code, because in answer.text) == (422, True), answer.text
    with event_store.reading(cardinal.services.engine) as db:
        assert hand_overs.newest(db, cardinal.card(item).card_id, 5) == ()
