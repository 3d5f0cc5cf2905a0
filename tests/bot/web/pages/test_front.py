"""The inbox: who waits first, decisions in place, and one count everywhere."""

import re
from html import unescape

from bot.outbox.handlers import update_ticker
from bot.web.api.in_process import operators_request
from bot.web.api.operations import list_inbox
from bot.web.pages.front import MAX_CARDS, MAX_CAUSES, MAX_TOGETHER
from ledger.events.board import CardStateChanged
from ledger.events.conversation import AssistantReplied
from ledger.events.run import CommandChecked, FinalReported, RunEnded, RunQueued
from ledger.ids import CardId, RunId
from ledger.log import event_store
from ledger.states import CardState, Ending, RunKind
from tests.bot.flows.people import issue_of
from tests.bot.web.pages.forms import asked, at_work, forms, planned, send
from tests.bot.web.pages.test_artifacts import hide
from tests.bot.web.pages.test_filters import add, titles
from tests.bot.web.pages.test_runs import happens
from tests.bot.web.pages.world import Browser, Pages

C = CardState
WAITING = (
    C.NEEDS_INPUT,
    C.NEEDS_INPUT,
    C.FAILED,
    C.WORK_COMPLETE,
    C.IN_REVIEW,
    C.CHANGES_REQUESTED,
    C.APPROVED,
)
OTHER = (C.WORKING, C.REVISING, C.QUEUED, C.BLOCKED, C.DRAFT, C.DISCUSSING, C.DONE)


def put(pages: Pages, *states: CardState, repository: str = "acme/shop") -> None:
    for place, state in enumerate(states):
        add(pages, 1, f"Card {repository} {place} {state}", state, "bug", "bob", repository)


def counted(reader: Browser) -> set[int]:
    """Return how many cards wait for a person, as each place of the pages says it."""
    inbox, nav = reader.get("/").text, reader.get("/nav.json").get_json()
    board = reader.get("/boards/acme/1").text
    (title,) = re.findall(r"<title>(?:\((\d+)\) )?Inbox", inbox)
    lanes = re.findall(r"<h2 id=[^>]+>([^<]+) <span class=\"quiet\">(\d+)", inbox)
    waiting = {"Needs input", "Needs others", "Failed", "To review", "Ready to merge"}
    assert ("favicon-waiting.svg" in inbox.partition("data-calm")[0]) == (title != "")
    return {
        int(title or 0),
        int(re.findall(r'data-waiting="(\d+)"', inbox)[0]),
        int(re.findall(r"<small>(\d*)</small>", inbox)[0] or 0),
        sum(map(int, re.findall(r"(\d+) waiting on you</span>", inbox))),
        sum(int(number) for name, number in lanes if name in waiting),
        nav["waiting"],
        sum(it["waiting"] for it in nav["boards"]),
        sum(map(int, re.findall(r"(\d+) waiting on you", board))),
    }


def test_every_place_has_the_same_count_of_what_waits_for_a_person(pages: Pages) -> None:
    alice, mallory = pages.browser("alice"), pages.browser("mallory")
    assert counted(alice) == {0}
    put(pages, *WAITING, *OTHER)
    put(pages, C.FAILED, repository="acme/board")
    assert counted(alice) == {len(WAITING) + 1}
    services = pages.cardinal.services
    with event_store.reading(services.engine) as db:
        assert update_ticker.count_cards(db, pages.cardinal.board_id).waiting == len(WAITING) + 1
    request = operators_request(services.config, services.engine)
    assert list_inbox.run(request, list_inbox.InboxQuery.model_validate({})).total == len(WAITING) + 1
    hide(pages.cardinal)
    assert counted(mallory) == {1}


def test_lanes_come_in_the_order_of_who_waits_and_only_the_first_decision_is_open(pages: Pages) -> None:
    put(pages, *OTHER, *WAITING)
    inbox = pages.browser("alice").get("/").text
    lanes = re.findall(r"<h2 id=[^>]+>([^<]+) <span", inbox)
    assert lanes == [
        "Needs input", "Failed", "To review", "Ready to merge", "Working", "Queued", "Blocked",
    ]  # fmt: skip
    assert inbox.count("<details open>") == 1
    assert inbox.index("<details open>") < inbox.index('<h2 id="lane-2"')


def test_a_question_is_whole_in_its_row_and_answered_there(pages: Pages) -> None:
    question = "Which <b>port</b>?\n" + "It matters. " * 100 + "The end."
    item = at_work(pages)
    pages.cardinal.ask(pages.cardinal.run_of(item).run_id, question, "8080", "8081")
    pages.cardinal.catch_up()
    alice = pages.browser("alice")
    inbox = alice.get("/").text
    assert question in unescape(inbox)
    assert "<b>port" not in inbox
    (name,) = {it for it in forms(alice, "/") if it.startswith("answer")}
    answer = send(alice, forms(alice, "/")[name] | {"text": "8081"})
    assert answer.headers["Location"].startswith("/?acted=")
    assert forms(alice, "/") == {}


def decision(reader: Browser, card_id: str) -> str:
    answer = reader.get(f"/decide/{card_id}")
    assert answer.status_code == 200
    return unescape(answer.text)


def test_a_plan_has_its_steps_to_approve_or_to_redirect(pages: Pages) -> None:
    item = planned(pages)
    alice, plan = pages.browser("alice"), pages.cardinal.run_of(item).plan_steps
    shown = decision(alice, pages.cardinal.card(item).card_id)
    assert plan
    assert all(f"<li><bdi>{step}</bdi></li>" in shown for step in plan)
    assert {name.partition(":")[0] for name in forms(alice, "/")} == {"approve", "redirect"}


def test_a_failure_has_its_cause_and_a_report_what_to_check(pages: Pages) -> None:
    item, finished = at_work(pages), at_work(pages)
    run_id, other = (pages.cardinal.run_of(it).run_id for it in (item, finished))
    output = "FAILED tests/test_stock.py::test_sold_out - AssertionError\n1 failed in 0.10s\n"
    pages.cardinal.write(run_id, CommandChecked(run_id, 1, "fast", "pytest -q", 1, 0.4, "", output))
    pages.cardinal.write(
        run_id, RunEnded(run_id, Ending.FAILED, "validation", "test_race <failed>", "working")
    )
    pages.cardinal.write(other, FinalReported(other, "It ships.", ("a.py",), ("the rounding",), ("why?",)))
    pages.cardinal.write(other, RunEnded(other, Ending.SUCCEEDED, "", "", "working"))
    pages.cardinal.catch_up()
    alice = pages.browser("alice")
    failed = decision(alice, pages.cardinal.card(item).card_id)
    assert "test_race <failed>" in failed
    assert "tests/test_stock.py::test_sold_out" in failed
    assert f'value="retry:{run_id}"' in failed
    report = decision(alice, pages.cardinal.card(finished).card_id)
    assert [word for word in ("It ships.", "the rounding", "why?", ">Review<") if word not in report] == []


def test_the_assistants_question_is_answered_in_its_row_by_who_lets_cardinal_and_else_on_github(
    pages: Pages,
) -> None:
    item = pages.cardinal.new("Search", "Planning", "Find plurals.")
    pages.cardinal.catch_up(publish=False)
    card_id = pages.cardinal.card(item).card_id
    asks = CardStateChanged(card_id, C.DISCUSSING, C.NEEDS_INPUT, "the assistant has a question for you")
    happens(pages, AssistantReplied(card_id, "Which languages?\n1. All", "", 0), asks)
    alice, stranger = pages.browser("alice"), pages.browser("bob")
    stranger.here.delete_cookie("__Host-cardinal-github", domain="cardinal.example.com")
    shown, elsewhere = decision(alice, card_id), decision(stranger, card_id)
    assert "Which languages?\n1. All" in shown
    assert ">Reply on GitHub<" in elsewhere
    assert ">Reply on GitHub<" not in shown
    (name,) = (name for name in forms(alice, "/") if name.startswith("github:comment"))
    sent = send(alice, forms(alice, "/")[name] | {"agreed": "yes", "text": "All of them."})
    there = sent.headers["Location"]
    assert there == f"/?acted=github:{card_id}"
    assert "<details open>" in alice.get("/").text
    assert "<details open>" not in alice.get(there).text  # the ledger has not heard of the reply
    comment = issue_of(item).comments[-1]
    assert (comment.author.login, comment.body) == ("alice", "All of them.")


def test_a_decision_is_for_who_may_read_the_card_alone(pages: Pages) -> None:
    card = pages.cardinal.card(asked(pages))
    place = f"/decide/{card.card_id}"
    bob, mallory = pages.browser("bob"), pages.browser("mallory")
    assert pages.browser("bob", signed_in=False).get(place).status_code == 401
    assert bob.get(place).status_code == 200
    hide(pages.cardinal)
    pages.cardinal.clock.forward(181)
    assert mallory.get(place).text == mallory.get("/decide/nothing").text
    assert mallory.get(place).status_code == 404


def fail(pages: Pages, count: int, cause: str, repository: str = "acme/shop") -> None:
    """Put failed cards on the board, all for the same reason in words."""
    for number in range(count):
        name = f"{cause}{number}"
        add(pages, 1, name, C.FAILED, "bug", "bob", repository)
        run_id, card_id = RunId(f"r{abs(hash(name)) % 10**9 + 1}"), CardId(f"{name} 0")
        settings = ("In Progress", repository, "b", "scripted", "bob", "", "{}", False)
        happens(
            pages,
            RunQueued(run_id, card_id, 1, RunKind.FIRST, *settings),
            RunEnded(run_id, Ending.FAILED, "agent_error", "no key", "queued", cause=cause),
        )


def test_cards_that_failed_for_one_cause_are_one_row(pages: Pages) -> None:
    fail(pages, 3, "provider")
    fail(pages, 2, "")
    fail(pages, 1, "image")
    alice = pages.browser("alice")
    inbox = alice.get("/").text
    assert re.findall(r"(\d+) cards</span>.*?Failed for the same reason", inbox) == ["3"]
    assert inbox.count("data-retry-all") == 1
    assert len(titles(alice, "/")) == len(titles(alice, "/?lane=Failed")) == 6
    assert "same cause" not in alice.get("/?lane=Failed").text


def test_a_row_of_one_cause_lists_few_and_leads_to_all(pages: Pages) -> None:
    fail(pages, MAX_TOGETHER + 2, "provider")
    inbox = pages.browser("alice").get("/").text
    assert f"{MAX_TOGETHER + 2} cards</span>" in inbox
    assert inbox.count("data-decide") == MAX_TOGETHER
    assert f'{MAX_TOGETHER} of them: the <a href="/?lane=Failed">' in inbox


def test_a_full_inbox_stays_small(pages: Pages) -> None:
    for _ in range(3):
        item = at_work(pages)
        pages.cardinal.ask(pages.cardinal.run_of(item).run_id, "<&>" * 1500, "one", "two")
        pages.cardinal.catch_up()
    for cause in range(MAX_CAUSES + 1):
        fail(pages, MAX_TOGETHER + 1, f"provider {cause} <&> {'<&>' * 20}")
    for state in (*WAITING[1:], *OTHER):
        add(pages, MAX_CARDS + 1, f"{'<&>' * 30}{state}", state, "bug", "bob", "acme/shop")
    alice = pages.browser("alice")
    assert [len(alice.get(path).data) < 100_000 for path in ("/", "/?lane=Queued")] == [True, True]
