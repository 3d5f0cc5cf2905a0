"""Inbox, boards, cards and runs in a browser: for whoever may read the repositories that they are about."""

import re
from dataclasses import replace

import pytest

from bot.reactor import reactor
from bot.web.authorization import KEPT_S
from bot.web.pages.cards import MAX_ASKED, UNASKED
from ledger.events.board import CardArchived
from ledger.events.conversation import PersonSaid
from ledger.events.pull import PullOpened
from ledger.events.run import CHECK, QuestionAsked, RunEnded, ToolUsed, UsageMetered
from ledger.ids import QuestionId, RunId
from ledger.log import event_store
from ledger.rows.limit_answers import CANCEL, FINISH, Subject, answer_question, of_agent, question
from ledger.states import Ending
from tests.bot.flows.board.test_many_boards import elsewhere, new, second
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.people import issue_of
from tests.bot.flows.runs.test_dependencies import close, waiting
from tests.bot.flows.settings import POLICY
from tests.bot.web.api.test_follow_events import queued
from tests.bot.web.pages.forms import forms, page_of, planned, send
from tests.bot.web.pages.test_artifacts import hide
from tests.bot.web.pages.test_runs import happens, messages
from tests.bot.web.pages.world import Pages

ASK = [
    {"ask": {"question": "Which <b>colour</b>?", "choices": ["red", "green"]}},
    {"finish": {"done": "It is painted."}},
]


def asked(cardinal: Cardinal) -> str:
    """Return the run of a card that waits for an answer."""
    cardinal.scenario(work=ASK)
    item = cardinal.new(column="In Progress")
    cardinal.catch_up(work=True)
    return cardinal.run_of(item).run_id


@pytest.mark.parametrize(("by", "door", "theirs"), [("carol", "checks", True), ("carol", "board", False)])
def test_a_run_that_no_person_asked_for_waits_for_the_policys_reviewers(
    pages: Pages, by: str, door: str, theirs: bool
) -> None:
    first = pages.cardinal.run(pages.run())
    happens(pages, RunEnded(first.run_id, Ending.FAILED, "", "", "queued"))
    again = replace(queued(first, "r2", first.repository), by=by, door=door)
    happens(pages, replace(again, settings='{"reviewers": ["Bob", "acme/team"]}'))
    assert ("Yours" in pages.browser("bob").get("/").text) == theirs


def test_what_only_others_may_answer_stands_apart(pages: Pages) -> None:
    run_id = asked(pages.cardinal)
    by = pages.cardinal.run(RunId(run_id)).by
    other = next(login for login in ("alice", "bob") if login != by)
    browser = pages.browser(other)

    def lane() -> list[str]:
        """Return the lane on the page and the one that its stream sends."""
        page = browser.get("/").text
        (live,) = re.findall(r'data-live="([^"]+)"', page)
        (sent,) = messages(browser.get(live))
        return [re.findall(r"Needs \w+", text)[0] for text in (page.split("<h2")[1], sent.data)]

    assert lane() == ["Needs input", "Needs input"]
    for allowed, name in ((f"['@{by}']", "Needs others"), (f"['@{other}']", "Needs input")):
        pages.cardinal.set_policy(f"{POLICY}  commands: {{answer: {allowed}}}\n")
        pages.cardinal.catch_up()
        assert lane() == [name, name], allowed
        assert "Needs input" in pages.browser(by).get("/").text


def test_a_question_that_stands_behind_an_answered_one_is_still_for_who_may_answer_it(pages: Pages) -> None:
    cardinal, run = pages.cardinal, pages.cardinal.run(pages.run())
    cardinal.set_policy(f"{POLICY}  commands: {{answer: ['@{run.by}']}}\n")
    cardinal.catch_up(publish=False)
    browser = pages.browser(next(login for login in ("alice", "bob") if login != run.by))
    leaving = question(run.run_id, QuestionId("q1"), Subject.LEAVING, "Leave?", (CANCEL, FINISH))
    colour = of_agent(run.run_id, QuestionId("q2"), "Which colour?", ())
    for event in (
        leaving,
        colour,
        answer_question(colour, by=run.by, text="red"),
    ):
        happens(pages, event)
        with event_store.writing(cardinal.services.engine) as db:
            reactor.advance(db, now=cardinal.clock())
        assert re.findall(r"Needs \w+</h2>|Needs \w+ <span", browser.get("/").text) == ["Needs others <span"]


def test_a_lane_that_is_shown_alone_leads_to_all_others_when_it_is_empty(pages: Pages) -> None:
    asked(pages.cardinal)
    shown = pages.browser("alice").get("/?lane=Failed").text
    assert ("Nothing here yet" in shown, "every lane" in shown) == (False, True)


def test_the_inbox_says_who_waits_for_whom_and_leads_to_board_card_and_run(pages: Pages) -> None:
    run_id = asked(pages.cardinal)
    alice = pages.browser("alice")
    inbox = alice.get("/")
    assert inbox.status_code == 200
    needs_you = inbox.text.split("<h2")[1]
    assert "Needs input" in needs_you
    assert f"/runs/{run_id}" in needs_you
    assert "<b>colour" not in inbox.text
    by = pages.cardinal.run(RunId(run_id)).by
    assert "Yours" in pages.browser(by).get("/").text
    other = next(login for login in ("alice", "bob") if login != by)
    assert "Yours" not in pages.browser(other).get("/").text
    board = alice.get(re.findall(r'"(/boards/[^"]+)"', inbox.text)[0])
    assert board.status_code == 200
    assert "1 waiting on you" in board.text
    assert f"/runs/{run_id}" in board.text
    card = alice.get(re.findall(r'"(/cards/[^"]+)"', inbox.text)[0])
    assert card.status_code == 200
    assert f"/runs/{run_id}" in card.text
    assert "?zoom=activity" in card.text
    page = alice.get(f"/runs/{run_id}")
    assert page.status_code == 200
    assert "Which &lt;b&gt;colour&lt;/b&gt;?" in page.text
    assert "needs input" in page.text


def test_what_is_about_a_repository_that_one_may_not_read_is_nowhere(pages: Pages) -> None:
    run_id = asked(pages.cardinal)
    hide(pages.cardinal)
    alice, mallory = pages.browser("alice"), pages.browser("mallory")
    inbox = alice.get("/").text
    (board,) = set(re.findall(r'"(/boards/[^"]+)"', inbox))
    (card,) = set(re.findall(r'"(/cards/[^"]+)"', inbox))
    nothing = mallory.get("/runs/r999").text
    for path in (card, f"{card}?zoom=activity", f"/runs/{run_id}"):
        assert alice.get(path).status_code == 200
        refused = mallory.get(path)
        assert (refused.status_code, refused.text) == (404, nothing)
        assert pages.browser("bob", signed_in=False).get(path).status_code == 401
    assert alice.get(f"{card}{'9' * 20}").status_code == 404
    for path in ("/", board):  # the policy's repository is public, so there is a board
        seen = mallory.get(path)
        assert seen.status_code == 200
        assert not [word for word in (run_id, "/cards/", "acme/shop", "waiting on you") if word in seen.text]


def test_a_board_whose_policy_and_cards_one_may_not_read_does_not_exist(pages: Pages) -> None:
    asked(pages.cardinal)
    hide(pages.cardinal)
    hide(pages.cardinal, "board")
    alice, mallory = pages.browser("alice"), pages.browser("mallory")
    (board,) = set(re.findall(r'"(/boards/[^"]+)"', alice.get("/").text))
    refused, nothing = mallory.get(board), mallory.get("/boards/acme/999")
    assert (refused.status_code, refused.text) == (404, nothing.text)
    assert "/boards/" not in mallory.get("/").text


def test_a_long_timeline_is_cut_to_what_a_page_holds_the_newest_lines_last(pages: Pages) -> None:
    item = pages.cardinal.new()
    pages.cardinal.catch_up()
    card = pages.cardinal.card(item)
    said = [PersonSaid(card.card_id, n, "issue", "bob", True, f"{n:03} {'<' * 490}") for n in range(90)]
    said[-1] = replace(said[-1], text=f"089 {'w' * 3000} is the end")
    with event_store.writing(pages.cardinal.services.engine) as db:
        event_store.append(db, *said, at=pages.cardinal.clock())
    page = pages.browser("alice").get(f"/cards/{card.repository}/{card.number}")
    assert len(page.data) < 100_000
    (shown,) = map(int, re.findall("the newest ([0-9]+) lines", page.text))
    assert 12 < shown < 25
    assert " is the end" in page.text
    numbers = re.findall(r'<article class="md"><p>([0-9]+)', page.text)
    assert numbers == [f"{n:03}" for n in range(90 - shown, 90)]


def test_a_command_in_a_comment_is_one_line_of_the_timeline_and_each_event_at_the_depth_debug(
    pages: Pages,
) -> None:
    cardinal = pages.cardinal
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    cardinal.say(item, "/cardinal cancel")
    cardinal.say(item, "and why")
    cardinal.catch_up()
    card, run_id = cardinal.card(item), cardinal.run_of(item).run_id
    alice, path = pages.browser("alice"), f"/cards/{card.repository}/{card.number}"
    for zoom, times in (("conversation", 1), ("activity", 1), ("debug", 2)):
        page = alice.get(f"{path}?zoom={zoom}").text
        said = "alice: {}" if zoom == "debug" else '<article class="md"><p>{}'
        assert page.count(said.format("/cardinal cancel")) == times
        assert page.count(said.format("and why")) == 1
        assert "<bdi>queued in In Progress" in page
        assert f'<a href="/runs/{run_id}">' in page


def test_a_card_about_another_owners_repository_shows_nobody_the_board(pages: Pages) -> None:
    cardinal = pages.cardinal
    project, site = elsewhere(cardinal)
    project.title = "Takeover of acme"
    store, alice = cardinal.forge.store, cardinal.person("alice")
    for repo in (site, store.repos.get("globex", "board")):
        store.access.set_private(repo, True, actor=alice)
    new(cardinal, project, cardinal.repo)
    new(cardinal, project, site)
    cardinal.catch_up()
    path = f"/boards/globex/{project.number}"
    assert pages.browser("alice").get(path).status_code == 200
    mallory = pages.browser("mallory")
    assert "Takeover" not in mallory.get("/").text
    assert mallory.get(path).status_code == 404


def test_each_board_leads_to_its_own_card_of_an_issue_on_both(pages: Pages) -> None:
    cardinal = pages.cardinal
    mine, project = cardinal.new(column="Planning"), second(cardinal)
    store, carol = cardinal.forge.store, cardinal.person("carol")
    other = store.projects.add(project, issue_of(mine), actor=carol)
    store.projects.drag(other, "Review", actor=carol)
    cardinal.catch_up()
    alice = pages.browser("alice")
    boards = [alice.get(f"/boards/acme/{it.number}").text for it in (cardinal.project, project)]
    name = f"/cards/acme/shop/{issue_of(mine).number}"
    paths = [f"{name}/{item.node_id}" for item in (mine, other)]
    assert [[path in text for path in paths] for text in boards] == [[True, False], [False, True]]
    seen = [alice.get(path).text for path in paths]
    assert [[f"{path}?zoom=" in text for path in paths] for text in seen] == [[True, False], [False, True]]
    assert alice.get(f"{paths[0]}x").status_code == 404


def test_the_depth_debug_has_the_fields_of_a_runs_own_events_for_operators_alone(pages: Pages) -> None:
    run_id = asked(pages.cardinal)
    operator, reader = pages.browser("bob"), pages.browser("mallory")
    path = re.findall(r'"(/cards/[^"]+)"', operator.get("/").text)[0]
    shown = operator.get(f"{path}?zoom=debug").text
    assert "QuestionAsked</summary>" in shown
    assert f"&#34;run_id&#34;: &#34;{run_id}&#34;" in shown
    for kind in ("BriefingMade", "RunQueued", "CardSeen"):
        assert f"{kind}</summary>" not in shown
    hidden = reader.get(f"{path}?zoom=debug")
    assert hidden.status_code == 200
    assert re.findall(r"event [0-9]+, \w+</summary>", hidden.text) == []  # no kind of event
    assert not re.search(r'href="[^"]*zoom=debug', hidden.text)
    first = re.findall(r"event ([0-9]+), ", shown)[0]
    older = operator.get(f"{path}?zoom=debug&before={int(first) + 1}").text
    assert re.findall(r"event ([0-9]+), ", older) == [first]


def test_a_card_with_many_dependencies_asks_for_few_at_a_time_and_shows_what_is_known(pages: Pages) -> None:
    cardinal = pages.cardinal
    store, alice = cardinal.forge.store, cardinal.person("alice")
    acme, item = store.users.get("acme"), cardinal.new("Ship it")
    for number in range(MAX_ASKED + 2):
        repo = store.repos.create(acme, f"part{number:02}")
        store.links.add_blocked_by(
            issue_of(item), store.issues.create(repo, f"Part {number:02}.", "", actor=alice), actor=alice
        )
    cardinal.catch_up()
    path, bob = f"/cards/acme/shop/{issue_of(item).number}", pages.browser("bob")
    first, second = bob.get(path).text, bob.get(path).text
    assert (f"of {MAX_ASKED} done" in first, UNASKED in first) == (True, True)
    assert (f"of {MAX_ASKED + 2} done" in second, UNASKED in second) == (True, False)


def test_a_card_has_its_parts_with_how_many_are_done_and_none_that_one_may_not_read(pages: Pages) -> None:
    cardinal = pages.cardinal
    whole, first, second = (cardinal.new(title) for title in ("All", "Tables", "Keys <i>"))
    outside = cardinal.forge.store.issues.create(
        cardinal.home_repo, "Sealed", "", actor=cardinal.person("alice")
    )
    sealed = cardinal.forge.store.projects.add(cardinal.project, outside, actor=cardinal.person("alice"))
    for part in (first, second, sealed):
        cardinal.forge.store.links.add_sub_issue(issue_of(whole), issue_of(part), actor=cardinal.bot)
    close(cardinal, first)
    hide(cardinal, "board")
    cardinal.catch_up()
    path = f"/cards/acme/shop/{issue_of(whole).number}"
    shown = pages.browser("alice").get(path).text
    assert ">1 of 3 parts done<" in shown
    (to_part,) = re.findall(rf'"(/cards/acme/shop/{issue_of(second).number}/[^"]+)"', shown)
    assert "Keys &lt;i&gt;" in shown
    assert pages.browser("alice").get(to_part).status_code == 200
    hidden = pages.browser("mallory").get(path).text
    assert ">1 of 2 parts done<" in hidden
    assert "Sealed" not in hidden
    assert "parts done" not in pages.browser("alice").get(to_part).text


def test_a_card_has_its_dependencies_and_costs_and_names_no_issue_that_one_may_not_read(
    pages: Pages,
) -> None:
    cardinal = pages.cardinal
    store, alice = cardinal.forge.store, cardinal.person("alice")
    outside = store.issues.create(cardinal.home_repo, "Sealed <i>", "", actor=alice)
    hide(cardinal, "board")
    item, (first, second) = waiting(cardinal, "Tables", "Keys")
    close(cardinal, first)
    cardinal.catch_up()
    path = f"/cards/acme/shop/{issue_of(item).number}"
    store.links.add_blocked_by(issue_of(item), outside, actor=alice)
    cardinal.catch_up()
    shown = pages.browser("alice").get(path).text
    assert "1 of 3 done" in shown
    assert "Sealed &lt;i&gt;" in shown
    assert f'/acme/shop/issues/{issue_of(second).number}">' in shown
    hidden = pages.browser("mallory").get(path).text
    assert "1 of 2 done" in hidden
    assert "$0.00 total" in hidden
    run_path = f"/runs/{cardinal.run_of(item).run_id}"
    for login in ("alice", "mallory"):
        shown = pages.browser(login).get(run_path).text
        assert "an issue in another repository: it starts on its own then." in shown
        assert "Sealed" not in shown
    (board,) = {it for it in re.findall(r'"(/boards/[^"?]+)"', pages.browser("alice").get("/").text)}
    for place in ("/", board, path, f"{path}?zoom=activity", f"{path}?zoom=debug"):
        assert "an issue in another repository" in pages.browser("alice").get(place).text, place
        shown = pages.browser("mallory").get(place).text
        assert not [word for word in ("Sealed", "acme/board#", "of 3") if word in shown], place


def test_a_card_is_seen_by_whoever_may_read_where_all_its_runs_worked_and_costs_what_all_did(
    pages: Pages,
) -> None:
    run = pages.cardinal.run(pages.run())
    path = re.findall(r'"(/cards/[^"]+)"', pages.browser("alice").get("/").text)[0]
    hide(pages.cardinal, "board")
    assert pages.browser("mallory").get(path).status_code == 200
    places = ["acme/board", *[run.repository] * 25]
    past = [queued(run, f"r{number}", place) for number, place in enumerate(places, 900)]
    happens(pages, *past, UsageMetered(RunId("r900"), 7.25, 1, 1, 1, 1.0))
    assert pages.browser("mallory").get(path).status_code == 404
    assert "$7.25 total" in pages.browser("alice").get(path).text


def test_a_run_that_only_checks_is_listed_as_no_attempt(pages: Pages) -> None:
    run = pages.cardinal.run(pages.run())
    path = re.findall(r'"(/cards/[^"]+)"', pages.browser("alice").get("/").text)[0]
    happens(pages, replace(queued(run, "r900", run.repository), kind=CHECK))
    listed = re.findall(r"· (attempt [^<·]+|checks only)", pages.browser("alice").get(path).text)
    assert [text.strip() for text in listed] == ["attempt 1 (first)", "checks only"]
    assert "<dd><bdi>checks only</bdi></dd>" in pages.browser("alice").get("/runs/r900").text


def test_steps_in_a_row_are_folded_at_the_middle_depth_and_open_to_their_lines(pages: Pages) -> None:
    run_id = pages.run()
    hostile = "<script>\u202e\x1b[2J" + "x" * 10_000
    told = [
        *(ToolUsed(run_id, "Bash", f"make {number}", True) for number in range(60)),
        ToolUsed(run_id, "Edit", "a.py", True),
        ToolUsed(run_id, "Bash", "pytest", False),
        QuestionAsked(run_id, QuestionId("q1"), "agent", "Which?", ()),
        *(ToolUsed(run_id, hostile, hostile, True) for _ in range(60)),
    ]
    with event_store.writing(pages.cardinal.services.engine) as db:
        event_store.append(db, *told, at=pages.cardinal.clock())
    alice = pages.browser("alice")
    path = re.findall(r'"(/cards/[^"]+)"', alice.get("/").text)[0]
    middle = alice.get(f"{path}?zoom=activity").text
    assert "</time> ran 60 commands · edited 1 file</summary>" in middle
    assert f"11 earlier ones not shown: <code>cardinal log {run_id} --zoom debug</code>" in middle
    assert "<bdi>Bash: make 11</bdi>" in middle
    assert "make 10<" not in middle
    after = middle.partition("Bash: make 59")[2]
    assert re.findall(r"<bdi>(Bash: pytest \(failed\))</bdi>", after.split("</details>")[1])
    assert f'<a href="/runs/{run_id}">{run_id}</a> asks' in middle
    assert "</time> took 60 other steps</summary>" in middle
    assert not [word for word in ("<script>", "\u202e", "\x1b") if word in middle]
    assert len(middle.encode()) < 100_000
    assert "make 59" not in alice.get(path).text
    assert " ran 60 commands" not in alice.get(f"{path}?zoom=debug").text


def test_a_pull_request_that_nobody_reviewed_says_so(pages: Pages) -> None:
    run = pages.cardinal.run(pages.run())
    path = re.findall(r'"(/cards/[^"]+)"', pages.browser("alice").get("/").text)[0]
    happens(pages, PullOpened(run.card_id, "acme/shop", 77, "PR", "branch", "a" * 40, draft=False))
    assert "#77 (open, no review yet)" in pages.browser("alice").get(path).text


def test_a_card_that_left_the_board_keeps_its_page_and_comes_back_from_there(pages: Pages) -> None:
    item = pages.cardinal.new("Old & new", column="Tasks")
    pages.cardinal.catch_up()
    bob, path, board = (
        pages.browser("bob"),
        page_of(pages, item),
        f"/boards/acme/{pages.cardinal.project.number}",
    )
    archive = forms(bob, path)[""] | {"name": "archive", "text": ""}
    assert send(bob, archive).status_code == 303
    pages.cardinal.catch_up()
    assert "acted=before" in send(bob, archive).headers["Location"]  # it acts once, and its page is there
    assert path not in bob.get(board).text
    assert path in bob.get(f"{board}?state=archived&search=old").text
    shown = bob.get(path.rpartition("/")[0])
    assert (shown.status_code, ">Archived by bob, " in shown.text) == (200, True)
    assert list(forms(bob, path)) == ["unarchive"]
    assert list(forms(pages.browser("mallory"), path)) == []
    hide(pages.cardinal)
    pages.cardinal.clock.forward(KEPT_S + 1)
    assert [pages.browser(login).get(path).status_code for login in ("mallory", "bob")] == [404, 200]
    assert path not in pages.browser("mallory").get(f"{board}?state=archived").text
    assert send(bob, forms(bob, path)["unarchive"]).status_code == 303
    pages.cardinal.catch_up()
    assert path in bob.get(board).text
    happens(pages, CardArchived(pages.cardinal.card(item).card_id, "deleted"))
    assert ">Deleted on the board by someone, " in bob.get(path).text
    assert list(forms(bob, path)) == []


def test_a_command_and_what_it_does_are_one_message_of_the_conversation(pages: Pages) -> None:
    item = planned(pages)
    cardinal = pages.cardinal
    cardinal.say(item, "/cardinal redirect Round half up.")
    cardinal.catch_up()
    shown = pages.browser("bob").get(page_of(pages, item)).text
    assert "<p>/cardinal redirect Round half up.</p>" in shown
    assert "<p>Round half up.</p>" not in shown
    assert "redirected plan 1: Round half up." in shown
