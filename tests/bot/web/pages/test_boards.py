"""What holds a board's runs, on its page: stops, the queue and limits, for whoever sees the board whole."""

import re
from datetime import timedelta
from html import unescape

from ledger.events.board import BoardHalted, CardArchived, CardExplained, CardSeen, StopOrdered
from ledger.events.pull import PullOpened
from ledger.events.run import PlanProposed, PlanTicked, Progressed, RunClaimed
from ledger.ids import CardId
from ledger.states import CardState, Reason
from tests.bot.web.pages.test_artifacts import hide
from tests.bot.web.pages.test_runs import happens
from tests.bot.web.pages.world import Pages

BOARD = "/boards/acme/1"


def hidden_card(pages: Pages, name: str) -> CardId:
    """Put a card about a repository that nobody may read on the board, and take it off again."""
    card_id, board_id = CardId(name), pages.cardinal.board_id
    rest = (1, "", "", "", "Tasks", CardState.DRAFT)
    seen = CardSeen(card_id, board_id, "", "acme/secret", *rest)
    happens(pages, seen, CardArchived(card_id, "archived"))
    return card_id


def test_limits_in_use_and_places_in_the_queue_are_said_with_reasons(pages: Pages) -> None:
    at_work, queued = pages.run(), pages.run()
    card_id = pages.cardinal.run(queued).card_id
    reason = "<b> is full with 1 run"
    happens(pages, RunClaimed(at_work, 1, "b-1", "b"), CardExplained(card_id, reason))
    pages.cardinal.clock.forward(300)
    shown = unescape(pages.browser("bob").get(BOARD).text.replace("<b>", ""))
    place = f'<a href="/runs/{queued}">{queued}</a>, queued for 5 min: <bdi>{reason}</bdi>'
    assert "<li>1: <a href=" in shown
    assert place in shown
    meaning = '<td class="prose">Runs at the same time on the board.</td>'
    limit = f"{meaning}<td><bdi>the board</bdi></td><td>1</td><td>4</td>"
    assert limit in shown
    assert "<bdi>In Progress</bdi></td><td>1</td>" in shown
    assert "of it reserved" not in shown
    assert "<bdi>Ideas wait here. Nothing runs.</bdi>" in shown


def test_what_sums_over_a_hidden_repository_is_not_shown(pages: Pages) -> None:
    pages.run()
    secret = hidden_card(pages, "S")
    board_id = pages.cardinal.board_id
    happens(
        pages, StopOrdered(board_id, "card", secret, "eve"), StopOrdered(board_id, "column", "Tasks", "al")
    )
    shown = pages.browser("bob").get(BOARD).text
    assert "The column Tasks is stopped by al" in shown
    for text in ("<h2>Queue", "Limits in use", "eve", "acme/secret"):
        assert text not in shown, text


def test_a_halt_says_since_when_and_its_cause_to_whom_the_board_is_whole(pages: Pages) -> None:
    board_id, began = pages.cardinal.board_id, pages.cardinal.clock()
    until = began + timedelta(minutes=30)
    for tries in (0, 1):  # one run tried in vain
        happens(pages, BoardHalted(board_id, "agent", "3 cards of acme/secret failed", until, tries))
        pages.cardinal.clock.forward(300)
    bob, since = pages.browser("bob"), f"Since {began:%d %b %Y, %H:%M} UTC, for 10 min, the board is halted"
    shown = bob.get(BOARD).text
    assert f"{since}: 3 cards of acme/secret failed (one run tries at {until:%H:%M} UTC; " in shown
    hidden_card(pages, "S")
    shown = bob.get(BOARD).text
    assert f"{since} (/cardinal resume board)." in shown
    assert "acme/secret" not in shown


def test_a_stop_says_of_what_by_whom_and_since_when(pages: Pages) -> None:
    run = pages.cardinal.run(pages.run())
    happens(pages, StopOrdered(run.board_id, "card", run.card_id, "al<i>"))
    began = pages.cardinal.clock()
    pages.cardinal.clock.forward(600)
    happens(pages, StopOrdered(run.board_id, "board", run.board_id, "ann"))
    shown = pages.browser("bob").get(BOARD).text
    assert (
        f"is stopped by al&lt;i&gt; since {began:%d %b %Y, %H:%M} UTC, for 10 min. To resume: /cardinal"
        in shown
    )
    assert "The board is stopped by ann since" in shown
    happens(pages, StopOrdered(run.board_id, "card", run.card_id, "al", "no <b>contract"))
    blocked = f"is blocked by al (no &lt;b&gt;contract) since {pages.cardinal.clock():%d %b %Y, %H:%M} UTC"
    shown = pages.browser("bob").get(BOARD).text
    assert f"{blocked}, for 0 s. To resume: /cardinal unblock." in shown


def test_a_merge_lane_has_its_cards_in_order_and_nothing_of_hidden_issues(pages: Pages) -> None:
    shown = [pages.cardinal.run(pages.run()).card_id for _ in range(2)]
    rest = (9, "", "", "", "Tasks", CardState.DRAFT)
    happens(pages, CardSeen(CardId("S"), pages.cardinal.board_id, "", "acme/secret", *rest))
    for place, card_id in enumerate((*shown, CardId("S"))):
        reason = Reason.MERGE_LANE if place else Reason.MERGE_TURN
        opened = PullOpened(card_id, "acme/shop", 71 + place, f"PR{place}", "branch", "a" * 40, draft=False)
        happens(pages, opened, CardExplained(card_id, f"place <{place}>", reason))
    lane = pages.browser("bob").get(BOARD).text.split("Merge lane of <bdi>acme/shop")[1].split("</ol>")[0]
    card = r'<li>pull request #(\d+) of <a href="/cards/acme/shop/[^>]*>.*</a>: <bdi>(.*)</bdi>'
    assert re.findall(card, lane) == [("71", "place &lt;0&gt;"), ("72", "place &lt;1&gt;")]
    assert "<li>pull request #73</li>" in lane
    assert "place &lt;2&gt;" not in lane


def test_what_moves_a_card_is_for_whoever_may_move_it(pages: Pages) -> None:
    item = pages.cardinal.new(column="Tasks")
    pages.cardinal.catch_up()
    path = f"{BOARD}/moves/{pages.cardinal.card(item).card_id}"
    offer = pages.browser("alice").get(path).get_json()
    assert (offer["name"], "In Progress" in offer["columns"], "Tasks" in offer["columns"]) == (
        "move:Tasks",
        True,
        False,
    )
    reader = pages.browser("mallory").get(path).get_json()
    assert (reader["token"], reader["columns"], "cannot move" in reader["why"]) == ("", [], True)
    assert pages.browser("alice").get(f"{BOARD}/moves/X").status_code == 404
    hide(pages.cardinal)
    pages.cardinal.clock.forward(400)
    assert pages.browser("mallory").get(path).status_code == 404


def test_a_card_at_work_says_what_its_agent_does_on_the_board_and_in_the_inbox(pages: Pages) -> None:
    item = pages.cardinal.at_work()
    happens(pages, Progressed(pages.cardinal.run_of(item).run_id, "Running the <b>tests</b>"))
    bob = pages.browser("bob")
    for path in (BOARD, "/"):
        assert (
            "Running the &lt;b&gt;tests&lt;/b&gt;</bdi>"
            in bob.get(path).text.partition("Who works on what")[0]
        )


def test_a_board_leads_whoever_may_write_to_the_form_of_a_new_card(pages: Pages) -> None:
    pages.cardinal.catch_up()
    link = f'href="{BOARD}/new"'
    assert link in pages.browser("bob").get(BOARD).text
    assert link not in pages.browser("mallory").get(BOARD).text


def test_a_board_is_parted_by_lanes_and_a_card_shows_how_far_its_run_is(pages: Pages) -> None:
    item = pages.cardinal.at_work()
    run_id = pages.cardinal.run_of(item).run_id
    happens(pages, PlanProposed(run_id, 1, "Add", ("One", "Two")), PlanTicked(run_id, 1))
    bob = pages.browser("bob")
    shown = bob.get(f"{BOARD}?lanes=agent").text
    assert "<h2><bdi>scripted</bdi></h2>" in shown
    assert "1 of 2 steps done" in shown
    assert "Who works on what" in shown
    assert bob.get(f"{BOARD}?lanes=colour").status_code == 400
