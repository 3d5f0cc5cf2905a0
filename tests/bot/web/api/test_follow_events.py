"""Events of whole boards: of the kinds that are wanted, for whom they are, from where a reader was."""

import json
from dataclasses import replace

import pytest

from bot.web.authorization import KEPT_S
from ledger.events.board import CardExplained
from ledger.events.run import AgentSaid, Noted, RunQueued
from ledger.ids import RunId
from ledger.queries import card_news
from ledger.rows.runs import RunRow
from ledger.states import RunKind
from tests.bot.web.api.program import Program
from tests.bot.web.live.reading import Message
from tests.bot.web.pages.test_artifacts import hide
from tests.bot.web.pages.test_runs import happens, messages
from tests.bot.web.pages.world import Pages

EVENTS = "/events?board=ACME/1"
SSE = {"Accept": "text/event-stream"}


def streamed(program: Program, path: str = EVENTS, last: str = "") -> list[Message]:
    """Return the messages of one batch."""
    return messages(program.send("GET", path, Accept="text/event-stream", Last_Event_ID=last), last)


def texts(program: Program, after: int, more: str = "") -> list[str]:
    return [it["text"] for it in program.get(f"{EVENTS}&after={after}{more}")["events"]]


def test_a_program_gets_what_happens_on_a_board_by_kind_and_goes_on_where_it_was(pages: Pages) -> None:
    run, other = (pages.cardinal.run(pages.run()) for _ in range(2))
    bob = Program(pages, "bob")
    begin = bob.get(EVENTS)
    assert (begin["events"], begin["more"], begin["omitted"]) == ([], False, False)
    happens(pages, Noted(run.run_id, "first"), AgentSaid(run.run_id, "at the depth debug"))
    happens(pages, CardExplained(other.card_id, "waits"), Noted(other.run_id, "second"))
    page = bob.get(f"{EVENTS}&after={begin['last']}")
    assert [(it["kind"], it["run"], it["text"]) for it in page["events"]] == [
        ("Noted", run.run_id, "note: first"),
        ("CardExplained", "", "waits"),
        ("Noted", other.run_id, "note: second"),
    ]
    job = bob.get(f"/jobs/{page['events'][0]['repository']}/{page['events'][0]['number']}")
    assert job["run"] == run.run_id
    assert texts(bob, begin["last"], "&kinds=CardExplained,%20RunEnded") == ["waits"]
    assert texts(bob, page["events"][0]["seq"]) == ["waits", "note: second"]
    assert texts(bob, page["last"]) == []
    for kinds in ("AgentSaid", "noted", "X" * 2000):
        unfit = bob.send("GET", f"{EVENTS}&kinds={kinds}")
        assert (unfit.status_code, unfit.get_json()["code"]) == (422, "unfit"), unfit.text
    assert bob.send("GET", "/events?board=acme/2").status_code == 404


def test_a_stream_goes_on_behind_the_last_event_that_its_reader_names(pages: Pages) -> None:
    run, bob = pages.cardinal.run(pages.run()), Program(pages, "bob")
    opened = bob.send("GET", EVENTS, **SSE).text
    (begin,) = [row.removeprefix("id: ") for row in opened.splitlines() if row.startswith("id: ")]
    happens(pages, Noted(run.run_id, "first"), Noted(run.run_id, "second"))
    got = streamed(bob, last=begin)
    assert [(it.event, json.loads(it.data)["text"]) for it in got] == [
        ("event", "note: first"),
        ("event", "note: second"),
    ]
    assert [json.loads(it.data)["text"] for it in streamed(bob, last=got[0].last)] == ["note: second"]


def test_who_was_away_too_long_is_told_that_older_events_are_left_out(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, bob = pages.cardinal.run(pages.run()), Program(pages, "bob")
    begin = bob.get(EVENTS)["last"]
    happens(pages, *(Noted(run.run_id, str(number)) for number in range(5)))
    monkeypatch.setattr(card_news, "MAX_BACKLOG", 3)
    page = bob.get(f"{EVENTS}&after={begin}")
    assert (page["omitted"], [it["text"] for it in page["events"]]) == (
        True,
        ["note: 2", "note: 3", "note: 4"],
    )
    assert [it.event for it in streamed(bob, last=str(begin))] == ["omitted", "event", "event", "event"]


def test_a_page_is_bounded_and_says_that_others_follow(pages: Pages) -> None:
    run, bob = pages.cardinal.run(pages.run()), Program(pages, "bob")
    begin = bob.get(EVENTS)["last"]
    happens(pages, *(Noted(run.run_id, str(number)) for number in range(card_news.PAGE + 1)))
    first = bob.get(f"{EVENTS}&after={begin}")
    assert (len(first["events"]), first["more"]) == (card_news.PAGE, True)
    rest = bob.get(f"{EVENTS}&after={first['last']}")
    assert ([it["text"] for it in rest["events"]], rest["more"]) == ([f"note: {card_news.PAGE}"], False)


def test_nobody_follows_what_they_may_not_read(pages: Pages) -> None:
    run, bob = pages.cardinal.run(pages.run()), Program(pages, "bob")
    mallory = Program(pages, "mallory")
    begin = bob.get(EVENTS)["last"]
    happens(pages, Noted(run.run_id, "in the open"))
    assert texts(mallory, begin) == ["note: in the open"]
    past = queued(run, "r900", "acme/secret")
    happens(pages, past, replace(past, run_id=RunId("r901"), repository=run.repository))
    happens(pages, Noted(run.run_id, "beside a secret"), CardExplained(run.card_id, "hush"))
    assert texts(mallory, begin) == texts(bob, begin) == []  # as the card's own page
    hide(pages.cardinal)
    pages.cardinal.clock.forward(KEPT_S + 1)
    other = pages.cardinal.run(pages.run())
    happens(pages, Noted(other.run_id, "hidden"))
    assert ("note: hidden" in texts(bob, begin), texts(mallory, begin)) == (True, [])
    assert Program(pages, "bob", name="x").send("GET", "/events?board=nobody/1").status_code == 404


def queued(run: RunRow, name: str, repository: str) -> RunQueued:
    """Return a further run of the card, in that repository."""
    rest = ("In Progress", repository, "b", "scripted", "bob", "", "{}", True)
    return RunQueued(RunId(name), run.card_id, 2, RunKind.FIRST, *rest)
