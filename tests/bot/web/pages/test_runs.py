"""A run's page: whole when it is loaded, then kept up to date for whoever may still read its repository."""

import re
from collections.abc import Iterator

import pytest
from werkzeug.test import TestResponse

from bot.web.authorization import KEPT_S
from bot.web.live.streams import StreamLimits
from bot.web.pages.runs import MAX_BYTES
from bot.web.site.visibility import path_of
from forge.store.models import Role
from ledger.event import Event, Zoom
from ledger.events.board import CardSeen
from ledger.events.conversation import AssistantReplied
from ledger.events.pull import PullOpened
from ledger.events.related import Blocker, LinksSeen
from ledger.events.run import (
    AgentSaid,
    BranchExported,
    CommandChecked,
    CriterionTest,
    FinalReported,
    PlanProposed,
    QuestionAnswered,
    QuestionAsked,
    RunEnded,
    RunParked,
    RunRequeued,
    RunStepped,
    ToolUsed,
    UsageMetered,
    ValidationEnded,
)
from ledger.events.stage import FileTouched, StageEntered, StageLeft
from ledger.events.workspace import Checkpointed
from ledger.ids import CardId, QuestionId, RunId
from ledger.log import event_store
from ledger.queries.run_lines import MAX_BEHIND
from ledger.states import CardState, Ending, RunState
from ledger.views import cards
from tests.bot.flows.settings import with_column
from tests.bot.web.live.reading import Message, Reader, parsed
from tests.bot.web.live.serving import serving
from tests.bot.web.pages.test_artifacts import hide
from tests.bot.web.pages.world import PUBLIC, Browser, Pages

MAX_PAGE = 100_000  # bytes
FRAME = "\r\n\r\nevent: over\r\ndata: x\n\n"
HOSTILE = f"<svg onload=alert(1)>{FRAME}\x1b]8;;javascript:alert(1)\x07\x1b[31mred</bdi>"


def happens(pages: Pages, *events: Event) -> None:
    with event_store.writing(pages.cardinal.services.engine) as db:
        event_store.append(db, *events, at=pages.cardinal.clock())


def messages(answer: TestResponse, last: str = "") -> list[Message]:
    """Return the messages of one batch, as a server without streams gives it."""
    assert (answer.status_code, answer.content_type) == (200, "text/event-stream; charset=utf-8")
    return list(parsed(iter(answer.text.splitlines(keepends=True)), last))


def after(page: TestResponse) -> str:
    """Return the last event that a loaded page shows."""
    (shown,) = re.findall(r'data-after="([0-9]+)"', page.text)
    return str(shown)


def lines(html: str) -> list[str]:
    return re.findall(r'<li id="e[0-9]+"[^>]*>.*?</li>', html, re.DOTALL)


def pieces(html: str) -> list[str]:
    """Return the pieces of the bar, as somebody hears them who does not see it."""
    bar = html.split('aria-label="Stages">')[1].split("</ol>")[0]
    return [" ".join(re.sub("<[^>]+>", "", piece).split()) for piece in bar.split("</li>")[:-1]]


def followed(browser: Browser, run_id: RunId, last: str) -> Iterator[Message]:
    """Yield what comes to a page that comes back again and again until it has everything."""
    for _ in range(MAX_BEHIND + 2):  # each brings a line, however long
        fresh = messages(browser.get(f"/live/runs/{run_id}", Last_Event_ID=last))
        yield from fresh
        if fresh[-1].last == last:
            return
        last = fresh[-1].last
    pytest.fail("it never ends")


def test_a_run_shows_stages_to_come_and_what_each_used_and_changed(pages: Pages) -> None:
    ways = ("build, next: [check]", "check, next: [tidy]", "tidy, next: [end]")
    stages = ", ".join(f"{{persona: tester, name: {way}}}" for way in ways)
    pages.cardinal.set_policy(with_column(stages=f"[{stages}]"))
    pages.cardinal.catch_up()
    run_id, bob = pages.run(), pages.browser("bob")
    pages.cardinal.begin(run_id)
    entered = ("policy", False, "", "", "", "small", "a" * 40)
    happens(
        pages,
        StageEntered(run_id, "build", 1, 1, "", *entered),
        UsageMetered(run_id, 0.5, 1000, 200, 3, 120.0),
        StageLeft(
            *(run_id, "build", 1, "check", 0.5, 1000, 200, 3, 120.0, 2, 30),
            touched=(FileTouched("shop/a.py", 19, 10), FileTouched("shop/b.png", 1, 0)),
        ),
        StageEntered(run_id, "check", 2, 1, "build", *entered),
        ToolUsed(run_id, "edit", "tests/test_a.py", True),
        ToolUsed(run_id, "edit", "tests/refused.py", False),
        BranchExported(run_id, "cardinal/x", "a" * 40, "b" * 40, 2, 30, 1),
        Checkpointed(run_id, "p", 1, "h", "a" * 40, "a" * 40, "", "", "d" * 64, (), "", (), 9),
    )
    page = bob.get(f"/runs/{run_id}").text
    texts = pieces(page)
    assert [text.partition(" ")[0] for text in texts] == ["build", "check", "tidy", "checks", "pull"]
    used = " ".join(re.sub("<[^>]+>", "", page.split("<h3>By stage</h3>")[1].split("</dl>")[0]).split())
    assert used.startswith("build ✓$0.50 · 1.2k tokens · 2")
    assert "2 files, 30 lines changed check ●" in used
    assert f'<a href="/runs/{run_id}/changes">2 files, 30 lines</a>' in page
    found = re.findall('<div class="touched">(.*?)</div>', page)
    assert [re.sub("<[^>]+>", "", row).strip() for row in found] == [
        "check tests/test_a.py",
        "build shop/a.py +19 −10 shop/b.png +1 −0",
    ]
    happens(pages, RunEnded(run_id, Ending.CANCELLED, "", "", "working"))
    assert "tidy" not in pieces(bob.get(f"/runs/{run_id}").text)


def test_what_the_page_shows_and_what_comes_later_is_what_a_finished_run_shows(pages: Pages) -> None:
    run_id, bob = pages.run(), pages.browser("bob")
    happens(pages, AgentSaid(run_id, "I look at it."), ToolUsed(run_id, "Bash", "ls", True))
    loaded = bob.get(f"/runs/{run_id}")
    assert "I look at it." in loaded.text
    assert "Bash: ls" in loaded.text
    assert messages(bob.get(f"/live/runs/{run_id}?after={after(loaded)}"))[0].event == "now"
    happens(pages, CommandChecked(run_id, 1, "fast", "ruff", 1, 0.1, "", "\x1b[31mred\x1b[0m\nend"))
    first, now = messages(bob.get(f"/live/runs/{run_id}?after={after(loaded)}"))
    assert (first.event, now.event) == ("lines", "now")
    assert '<span class="c1">red</span>\nend' in first.data
    assert "<code><bdi>ruff</bdi></code>" in now.data
    whole = bob.get(f"/runs/{run_id}")
    assert lines(first.data)[::-1] + lines(loaded.text) == lines(whole.text)
    again = messages(bob.get(f"/live/runs/{run_id}?after=1", Last_Event_ID=first.last))
    assert [seen.event for seen in again] == ["now"]  # the header is newer than the address
    happens(pages, RunEnded(run_id, Ending.CANCELLED, "", "somebody cancelled it", "queued"))
    ended = bob.get(f"/runs/{run_id}")
    assert lines(ended.text)[-len(lines(whole.text)) :] == lines(whole.text)
    assert messages(bob.get(f"/live/runs/{run_id}?after={after(loaded)}"))[-1].event == "over"
    assert "run.js" not in ended.text


def test_scripts_of_cardinal_run_and_only_where_something_can_happen(pages: Pages) -> None:
    run_id, bob = pages.run(), pages.browser("bob")
    page = bob.get(f"/runs/{run_id}")
    scripts = re.findall(r"<script([^>]*)>", page.text)
    assert all(re.fullmatch(r' src="/assets/[0-9a-f]{12}/[a-z]+\.js" defer', script) for script in scripts)
    assert {script.rpartition("/")[2].partition('"')[0] for script in scripts} >= {"follow.js", "run.js"}
    policy = page.headers["Content-Security-Policy"]
    assert f"script-src {PUBLIC}/assets/;" in policy
    assert "unsafe-inline'; img-src 'self'; script-src" in policy
    assert policy == bob.get("/money").headers["Content-Security-Policy"]


def test_no_agents_text_leaves_its_line_or_its_message(pages: Pages) -> None:
    run_id, bob = pages.run(), pages.browser("bob")
    seen = after(bob.get(f"/runs/{run_id}"))
    happens(
        pages,
        AgentSaid(run_id, HOSTILE),
        ToolUsed(run_id, HOSTILE, HOSTILE, True),
        CommandChecked(run_id, 1, "fast", HOSTILE, 1, 0.1, "", HOSTILE),
        FinalReported(run_id, HOSTILE, (), (), ()),
    )
    came = messages(bob.get(f"/live/runs/{run_id}?after={seen}"))
    assert [message.event for message in came] == ["lines", "now"]
    for html in (*(message.data for message in came), bob.get(f"/runs/{run_id}").text):
        assert "<svg onload" not in html
        assert "\x1b" not in html
        assert 'href="javascript' not in html
        assert html.count("<bdi>") == html.count("</bdi>")
    assert len(lines(came[0].data)) == 4


def test_who_may_not_read_the_repository_follows_nothing(pages: Pages) -> None:
    run_id = pages.run()
    hide(pages.cardinal)
    path, secret = f"/live/runs/{run_id}", "I look at it."
    happens(pages, AgentSaid(run_id, secret))
    mallory, bob = pages.browser("mallory"), pages.browser("bob")
    assert secret in bob.get(path).text
    refused, nothing = mallory.get(path), mallory.get("/live/runs/r999")
    assert (refused.status_code, refused.text, refused.content_type) == (
        404,
        nothing.text,
        nothing.content_type,
    )
    stolen = pages.browser("bob", signed_in=False).get(path)
    assert (stolen.status_code, secret in stolen.text) == (401, False)
    store = pages.cardinal.forge.store
    store.repos.set_role(store.repos.get("acme", "shop"), pages.cardinal.person("bob"), Role.NONE)
    pages.cardinal.clock.forward(KEPT_S)
    assert bob.get(path).status_code == 404


def test_an_open_stream_ends_and_whoever_signed_out_does_not_get_it_back(pages: Pages) -> None:
    run_id, bob = pages.run(), pages.browser("bob")
    cookie = bob.here.get_cookie("__Host-cardinal", domain="cardinal.example.com")
    assert cookie is not None
    with serving(pages.app, pages.cardinal.services.engine, StreamLimits(life_s=0.1)) as place:
        headers = {"Host": "cardinal.example.com", "Cookie": f"__Host-cardinal={cookie.value}"}
        mine = Reader(place, f"/live/runs/{run_id}", headers=headers)
        assert mine.open() == 200
        assert [seen.event for seen in mine.messages()] == ["lines", "now"]
        mine.close()
        bob.get("/sign-out", method="POST", Origin=PUBLIC)
        assert mine.open() == 401
        assert "text/html" in mine.answer.headers["Content-Type"]
        mine.close()


@pytest.mark.parametrize("count", [MAX_BEHIND + 50, pytest.param(12_500, marks=pytest.mark.soak)])
def test_a_flood_of_output_is_cut_and_the_page_says_where_the_rest_is(pages: Pages, count: int) -> None:
    run_id, bob = pages.run(), pages.browser("bob")
    seen = after(bob.get(f"/runs/{run_id}"))
    long, short = "<" * 3_990, "x"
    texts = (long if number % 3 == 0 or count > 1_000 else short for number in range(count))
    happens(pages, *(AgentSaid(run_id, f"{number}\n{text}") for number, text in enumerate(texts)))
    came = [message for message in followed(bob, run_id, seen) if message.event == "lines"]
    assert max(len(message.data) for message in came) <= MAX_BYTES + 1_000
    shown = [line for message in came for line in lines(message.data)]
    assert [re.findall(r"<pre[^>]*>([0-9]+)\n", line)[0] for line in shown] == [
        str(number) for number in range(count - MAX_BEHIND, count)
    ]
    (said,) = re.findall(r"<li class=\"quiet\">(.*?)</li>", "".join(message.data for message in came))
    assert said.startswith(f"{count - MAX_BEHIND:,} events are not shown.")
    assert re.search(rf"cardinal watch acme/shop#[0-9]+ --zoom debug --from {seen} --once", said)
    loaded = bob.get(f"/runs/{run_id}")
    assert len(loaded.data) < MAX_PAGE
    assert "events are not shown" in loaded.text
    assert after(loaded) == came[-1].last


def test_a_run_whose_every_part_is_flooded_stays_a_page_and_an_answer_of_bounded_size(pages: Pages) -> None:
    run_id, bob = pages.run(), pages.browser("bob")
    seen = after(bob.get(f"/runs/{run_id}"))
    long, colours = "<" * 20_000, "\x1b[31m<\x1b[32m" * 2_000
    happens(pages, PlanProposed(run_id, 1, long, (long,) * 60))
    for number in range(60):
        question = QuestionId(f"{run_id}-q{number}")
        happens(
            pages,
            StageEntered(run_id, long, 1, number, "", "policy", False, "", "", "", "small", "a" * 40),
            QuestionAsked(run_id, question, "agent", long, (long,) * 5),
            QuestionAnswered(run_id, question, long, long),
            CommandChecked(run_id, 1, "fast", long, 1, 0.1, "e" * 64, colours),
            AgentSaid(run_id, f"{number}\n{colours}"),
        )
    happens(pages, QuestionAsked(run_id, QuestionId(f"{run_id}-q99"), "agent", long, (long,) * 5))
    happens(pages, FinalReported(run_id, colours, (), (), ()), RunParked(run_id, "question"))
    card_id, board_id = pages.cardinal.run(run_id).card_id, pages.cardinal.board_id
    with event_store.reading(pages.cardinal.services.engine) as db:
        card = cards.get(db, card_id)
    assert card is not None
    title, issue = "<" * 256, card.number
    for part in range(900, 1_000):
        place = "acme/shop", part, title, "", "ann", "In Progress", CardState.FAILED
        happens(
            pages,
            CardSeen(CardId(f"p{part}"), board_id, f"I{part}", *place),
            LinksSeen(CardId(f"p{part}"), (), 0, f"acme/shop#{issue}"),
        )
    blockers = tuple(Blocker("acme/shop", it, title, "open") for it in range(800, 850))
    happens(pages, LinksSeen(card_id, blockers, 0, ""))
    for path in (f"/runs/{run_id}", *(f"/cards/acme/shop/{issue}?zoom={zoom}" for zoom in Zoom)):
        assert len(pages.browser("alice").get(path).data) < MAX_PAGE, path
    answers = list(followed(bob, run_id, seen))
    assert max(len(message.data.encode()) for message in answers) < MAX_PAGE


def test_a_failed_run_begins_with_its_cause_the_failing_test_and_what_to_do(pages: Pages) -> None:
    run_id, bob, mallory = pages.run(), pages.browser("bob"), pages.browser("mallory")
    pages.cardinal.begin(run_id)
    output = f"FAILED tests/test_cart.py::test_total{HOSTILE[:20]} - AssertionError\n{HOSTILE}"
    happens(
        pages,
        CommandChecked(run_id, 1, "fast", "pytest", 1, 0.1, "", "FAILED old.py::test_before - x"),
        CommandChecked(run_id, 1, "fast", "mypy", 0, 0.1, "", "what passed says nothing"),
        CommandChecked(run_id, 2, "fast", "pytest", 1, 0.1, "", output),
        RunEnded(run_id, Ending.FAILED, "validation", "The checks failed `twice`.", "validating"),
    )
    pages.cardinal.catch_up()
    page = bob.get(f"/runs/{run_id}").text
    need = page.split('<section class="need"')[1].split("</section>")[0]
    assert "<h2>Failed: the checks did not pass</h2>" in need
    assert "The checks failed <code>twice</code>." in need
    assert "tests/test_cart.py::test_total" in need
    assert f'name="name" value="retry:{run_id}"' in need
    assert page.index('class="need"') < page.index('id="report"') < page.index('id="work"')
    work = page.split('id="work"')[1].split('id="lines"')[0]
    assert work.count("<summary>Output</summary>") == 1  # of the newest failure of a command alone
    assert "what passed says nothing" not in work
    assert "test_before" not in work
    seen = mallory.get(f"/runs/{run_id}").text
    assert "The checks failed <code>twice</code>." in seen
    assert 'class="act"' not in seen


def test_a_finished_run_begins_with_its_whole_report_and_leads_to_its_pull_request(pages: Pages) -> None:
    run_id, bob = pages.run(), pages.browser("bob")
    pages.cardinal.begin(run_id)
    card = pages.cardinal.run(run_id).card_id
    lists = (
        ("`add.py`: adds",),
        ("Are <i onclick=x()>floats</i> needed?<script>",),
        ("And Nones?",),
    )
    happens(
        pages,
        FinalReported(run_id, "It adds `two` numbers.", *lists),
        PullOpened(card, "acme/shop", 77, "PR", "branch", "a" * 40, draft=False),
        RunEnded(run_id, Ending.SUCCEEDED, "", "", "publishing"),
    )
    page = bob.get(f"/runs/{run_id}").text
    report = page.split('<div id="report">')[1].split("</section>")[0]
    assert re.findall(r"<h[23]>(.*?)</h[23]>", report) == ["Report", "Changed", "To check", "Open questions"]
    for text in (
        "<code>two</code>",
        "<code>add.py</code>: adds",
        "Are <i>floats</i> needed?&lt;script",
        "And Nones?",
    ):
        assert text in report
    assert not re.search("<script|onclick", report)
    assert page.index('<div id="report">') < page.index('id="work"') < page.index('id="lines"')
    pull = f"{pages.cardinal.forge.url}/acme/shop/pull/77"
    assert re.search(rf'<a class="button primary" href="{pull}">.*?Review PR #77</a>', page)
    assert pieces(page)[-1] == "PR #77"
    assert len(re.findall(r'class="[^"]*\bprimary\b', page)) == 1


def test_a_report_and_its_card_show_the_tests_that_the_agent_named_for_the_criteria(pages: Pages) -> None:
    run_id, bob = pages.run(), pages.browser("bob")
    pages.cardinal.begin(run_id)
    card_id = pages.cardinal.run(run_id).card_id
    named = (CriterionTest("It adds <b>", "test_<i>"), CriterionTest("It is fast", "test_fast"))
    happens(
        pages,
        AssistantReplied(card_id, "Ready.", "- [ ] It adds <b>\n- [ ] It is fast\n- [ ] It is small", 0),
        CommandChecked(run_id, 1, "full", "go test -v", 0, 1.0, "d" * 64, "--- PASS: test_fast (0.00s)"),
        FinalReported(run_id, "It adds.", (), (), (), named),
    )
    with event_store.reading(pages.cardinal.services.engine) as db:
        card = cards.get(db, card_id)
    assert card is not None
    for path in (f"/runs/{run_id}", path_of(card.repository, card.number, card_id)):
        table = bob.get(path).text.split("<h3>Criteria</h3>")[1].split("</table>")[0]
        assert "<bdi>It adds &lt;b&gt;</bdi>" in table
        assert '<bdi>test_&lt;i&gt;</bdi></code> <span class="todo">○ no result: not among' in table
        assert '<bdi>test_fast</bdi></code> <span class="ok">✓ passed</span>' in table
        assert table.count("not shown by a test: check it") == 1


def test_the_bar_says_who_was_waited_for_and_the_side_what_each_stage_cost(pages: Pages) -> None:
    run_id, bob = pages.run(), pages.browser("bob")
    pages.cardinal.begin(run_id)
    question = pages.cardinal.ask(run_id, "Which port?")
    pages.cardinal.clock.forward(120)
    happens(pages, QuestionAnswered(run_id, question, "alice", "8080"), RunRequeued(run_id, "answered"))
    pages.cardinal.begin(run_id)
    happens(pages, ToolUsed(run_id, "edit", "shop/a.py", True), UsageMetered(run_id, 0.5, 1000, 200, 3, 9.0))
    happens(pages, RunStepped(run_id, RunState.WORKING, RunState.VALIDATING))
    happens(pages, ValidationEnded(run_id, 1, "fast", False, "a" * 40))
    page = bob.get(f"/runs/{run_id}").text
    told = " → ".join(pieces(page))
    assert re.search(r"work .* → waited for alice 2 min → work .* → checks ✗ .* → pull request$", told), told
    assert re.search(r"<dt><bdi>work</bdi> </dt><dd>\$0\.50 · 1,200 tokens", page)
    assert "<bdi>work</bdi></span> <code><bdi>shop/a.py</bdi></code>" in page
    assert re.findall(r"<summary><bdi>(.*?)</bdi>", page)[0] == "checks"
