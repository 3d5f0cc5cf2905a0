"""Issues that are blocked by others: their runs wait, say for what, and start by themselves."""

from dataclasses import replace

import pytest

from bot.state import snapshots
from bot.sync.card import sync_card
from forge.store.board import Item
from ledger.events.related import LinksSeen
from ledger.events.run import FinalReported, QuestionAnswered, RunEnded
from ledger.ids import BoardId
from ledger.log import event_store
from ledger.queue import refresh_requests
from ledger.states import Ending
from ledger.views import links
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.people import issue_of
from tests.bot.flows.settings import POLICY, with_column


def name(item: Item) -> str:
    return f"#{issue_of(item).number}"


def block(cardinal: Cardinal, item: Item, *others: Item) -> None:
    for other in others:
        cardinal.forge.store.links.add_blocked_by(
            issue_of(item), issue_of(other), actor=cardinal.person("alice")
        )


def close(cardinal: Cardinal, item: Item, reason: str = "completed") -> None:
    cardinal.forge.store.issues.set_state(
        issue_of(item), "closed", reason=reason, actor=cardinal.person("alice")
    )


def waiting(cardinal: Cardinal, *others: str) -> tuple[Item, list[Item]]:
    """Return a card dragged to an agent and those that it is blocked by."""
    blockers = [cardinal.new(title) for title in others]
    item = cardinal.new("Ship it")
    block(cardinal, item, *blockers)
    cardinal.catch_up()
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    return item, blockers


def blocked(cardinal: Cardinal) -> None:
    waiting(cardinal, "Tables")


def blocked_by_two(cardinal: Cardinal) -> None:
    waiting(cardinal, "Tables", "Keys")


@pytest.mark.after(scene=blocked_by_two)
def test_a_blocked_card_does_not_start_and_its_face_says_by_what(cardinal: Cardinal) -> None:
    first, second, item = cardinal.project.items[-3:]
    assert cardinal.ready() == ()
    assert cardinal.run_of(item).state == "queued"
    because = cardinal.card(item).because
    assert because == f"waiting for {name(first)} (Tables), {name(second)} (Keys): it starts on its own then"
    assert cardinal.face(item)["Run"].endswith(because)
    cardinal.say(item, "/cardinal explain")
    cardinal.catch_up()
    cardinal.comment(item, "waiting for", "Tables")


@pytest.mark.after(scene=blocked_by_two)
def test_it_starts_by_itself_when_the_last_one_is_closed_as_completed(cardinal: Cardinal) -> None:
    first, second, item = cardinal.project.items[-3:]
    close(cardinal, first)
    cardinal.catch_up()
    assert cardinal.ready() == ()
    assert name(first) not in cardinal.card(item).because
    close(cardinal, second)
    cardinal.catch_up()
    assert cardinal.ready() == (cardinal.run_of(item).run_id,)
    assert "waiting for #" not in cardinal.card(item).because
    assert "waiting for #" not in cardinal.face(item)["Run"]
    cardinal.assert_nothing_is_stuck()


def test_a_blocker_that_cardinal_merges_frees_the_card(cardinal: Cardinal) -> None:
    cardinal.set_policy(POLICY.replace("method: squash", "method: squash, requires: none"))
    first = cardinal.new("Tables", column="In Progress")
    cardinal.catch_up()
    item = cardinal.new("Ship it")
    block(cardinal, item, first)
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    run_id = cardinal.run_of(first).run_id
    assert cardinal.ready() == (run_id,)
    cardinal.begin(run_id)
    cardinal.finish(run_id, files={"a.txt": b"a\n"})
    cardinal.catch_up()
    assert cardinal.ready() == ()
    cardinal.drag(first, "Done")
    cardinal.catch_up()
    assert issue_of(first).state == "closed"
    assert cardinal.ready() == (cardinal.run_of(item).run_id,)


@pytest.mark.after(scene=blocked)
def test_a_card_that_is_done_frees_what_waits_for_it_though_its_issue_is_open(cardinal: Cardinal) -> None:
    first, item = cardinal.project.items[-2:]
    cardinal.drag(first, "Done")
    cardinal.catch_up()
    assert issue_of(first).state == "open"
    assert cardinal.ready() == (cardinal.run_of(item).run_id,)
    cardinal.drag(first, "Tasks")
    cardinal.catch_up()
    assert cardinal.ready() == ()
    assert cardinal.card(item).because.startswith(f"waiting for {name(first)}")


@pytest.mark.after(scene=blocked)
def test_a_blocker_that_was_given_up_asks_a_person_once(cardinal: Cardinal) -> None:
    first, item = cardinal.project.items[-2:]
    close(cardinal, first, "not_planned")
    cardinal.catch_up()
    assert cardinal.ready() == ()
    assert cardinal.card(item).state == "needs_input"
    assert "closed as not planned" in cardinal.face(item)["Run"]
    run, question = (one for one in cardinal.told(item) if "closed as not planned" in one)
    assert ("Run r1 is waiting to start" in run, "depends:r1" in question) == (True, True)
    cardinal.forge.store.links.remove_blocked_by(
        issue_of(item), issue_of(first), actor=cardinal.person("alice")
    )
    cardinal.catch_up()
    assert cardinal.ready() == (cardinal.run_of(item).run_id,)
    assert cardinal.card(item).state == "queued"


@pytest.mark.after(scene=blocked)
def test_a_reopened_blocker_holds_the_card_again(cardinal: Cardinal) -> None:
    first, item = cardinal.project.items[-2:]
    close(cardinal, first)
    cardinal.catch_up()
    cardinal.forge.store.issues.set_state(issue_of(first), "open", actor=cardinal.person("alice"))
    cardinal.drag(first, "Tasks")  # from Done, where GitHub's workflow put it
    cardinal.catch_up()
    assert cardinal.ready() == ()
    assert name(first) in cardinal.card(item).because


def test_a_circle_starts_nothing_and_names_its_way(cardinal: Cardinal) -> None:
    one, two, three = (cardinal.new(title) for title in ("A", "B", "C"))
    block(cardinal, one, two)
    block(cardinal, two, three)
    block(cardinal, three, one)
    cardinal.catch_up()
    for item in (one, two, three):
        cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    assert cardinal.ready() == ()
    way = " → ".join(map(name, (one, two, three, one)))
    assert cardinal.card(one).because.startswith(f"waiting for itself in a circle ({way})")
    assert cardinal.card(one).state == "needs_input"
    cardinal.comment(one, "in a circle", way)
    cardinal.forge.store.links.remove_blocked_by(issue_of(three), issue_of(one), actor=cardinal.bot)
    cardinal.catch_up()
    assert cardinal.ready() == (cardinal.run_of(three).run_id,)
    waits = [(cardinal.card(item).state, cardinal.card(item).because) for item in (one, two)]
    assert waits == [
        ("queued", f"waiting for {name(two)} (B): it starts on its own then"),
        ("queued", f"waiting for {name(three)} (C): it starts on its own then"),
    ]
    cardinal.assert_nothing_is_stuck()


def test_a_blocker_outside_of_the_board_counts_and_a_lost_word_about_it_is_made_up_for(
    cardinal: Cardinal,
) -> None:
    alice = cardinal.person("alice")
    outside = cardinal.forge.store.issues.create(cardinal.home_repo, "Elsewhere", "", actor=alice)
    item = cardinal.new("Ship it")
    cardinal.forge.store.links.add_blocked_by(issue_of(item), outside, actor=alice)
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    assert f"acme/board#{outside.number} (Elsewhere)" in cardinal.card(item).because
    cardinal.forge.store.issues.set_state(outside, "closed", actor=alice)
    cardinal.mail.clear()
    cardinal.sweep()
    assert cardinal.ready() == ()
    card_id, board_id = cardinal.card(item).card_id, cardinal.board_id
    with event_store.writing(cardinal.services.engine) as db:  # as if the last look had been a while ago
        refresh_requests.mark_served(db, card_id, refresh_requests.add(db, card_id, board_id))
    cardinal.clock.forward(11 * 60)
    cardinal.sweep()
    assert cardinal.ready() == (cardinal.run_of(item).run_id,)


def test_a_sub_issue_waits_for_nobody_and_a_parent_neither(cardinal: Cardinal) -> None:
    parent, child = cardinal.new("All"), cardinal.new("Part")
    cardinal.forge.store.links.add_sub_issue(
        issue_of(parent), issue_of(child), actor=cardinal.person("alice")
    )
    for item in (parent, child):
        cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    assert len(cardinal.ready()) == 2
    with event_store.reading(cardinal.services.engine) as db:
        above = links.parent_of(db, cardinal.card(child).card_id)
    assert above is not None
    assert above.number == issue_of(parent).number


def test_a_parent_waits_for_its_sub_issues_where_the_column_says_so_and_goes_on_by_itself(
    cardinal: Cardinal,
) -> None:
    cardinal.set_policy(with_column(sub_issues="wait"))
    item, first, second = (cardinal.new(title) for title in ("All", "Tables", "Keys"))
    for part in (first, second):
        cardinal.forge.store.links.add_sub_issue(issue_of(item), issue_of(part), actor=cardinal.bot)
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    assert cardinal.ready() == ()
    waits = f"waiting for 2 sub-issues, {name(first)} (Tables), {name(second)} (Keys): it starts by itself"
    assert cardinal.card(item).because.startswith(waits)
    block(cardinal, first, item)
    cardinal.catch_up()
    assert cardinal.card(item).state == "needs_input"
    assert "itself in a circle" in cardinal.card(item).because
    close(cardinal, first, "not_planned")
    cardinal.catch_up()
    assert cardinal.card(item).because.startswith(f"waiting for 1 sub-issue, {name(second)} (Keys)")
    cardinal.drag(second, "Done")
    cardinal.catch_up()
    assert cardinal.ready() == (cardinal.run_of(item).run_id,)
    assert "sub-issue" not in cardinal.card(item).because
    cardinal.assert_nothing_is_stuck()


def test_a_circle_through_sub_issues_of_sub_issues_names_its_way(cardinal: Cardinal) -> None:
    cardinal.set_policy(with_column(sub_issues="wait"))
    whole, part, last = items = [cardinal.new(title) for title in ("All", "Tables", "Keys")]
    cardinal.forge.store.links.add_sub_issue(issue_of(whole), issue_of(part), actor=cardinal.bot)
    cardinal.forge.store.links.add_sub_issue(issue_of(part), issue_of(last), actor=cardinal.bot)
    block(cardinal, last, whole)
    for item in items:
        cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    way = " → ".join(map(name, (last, whole, part, last)))
    assert cardinal.card(last).because.startswith(f"waiting for itself in a circle ({way})")


def fail(cardinal: Cardinal, item: Item) -> None:
    run_id = cardinal.run_of(item).run_id
    assert cardinal.claim(run_id)
    cardinal.write(run_id, RunEnded(run_id, Ending.FAILED, "gave_up", "It stopped.", "working"))
    cardinal.catch_up()


def test_sub_issues_that_failed_ask_at_their_parent_one_by_one(cardinal: Cardinal) -> None:
    cardinal.set_policy(with_column(sub_issues="wait"))
    whole, first, second = (cardinal.new(title) for title in ("All", "Tables", "Keys"))
    for part in (first, second):
        cardinal.forge.store.links.add_sub_issue(issue_of(whole), issue_of(part), actor=cardinal.bot)
    for item in (first, second, whole):
        cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    of_other_board = replace(cardinal.card(first), board_id=BoardId("PVT_other"))
    assert not snapshots.is_beside(cardinal.card(whole), of_other_board)
    fail(cardinal, first)
    fail(cardinal, second)
    assert cardinal.card(whole).state == "needs_input"
    cardinal.comment(whole, f"The sub-issue {name(first)} (Tables) failed: It stopped.")
    cardinal.say(whole, "/cardinal answer 2")
    cardinal.catch_up()
    retried = cardinal.run_of(first)
    assert (retried.state, retried.kind, retried.by, retried.door) == ("queued", "retry", "alice", "parent")
    cardinal.comment(whole, f"The sub-issue {name(second)} (Keys) failed")
    cardinal.say(whole, "1")
    cardinal.catch_up()
    assert cardinal.card(whole).because.startswith(f"waiting for 1 sub-issue, {name(first)} (Tables)")
    fail(cardinal, first)
    assert len([one for one in cardinal.told(whole) if "(Tables) failed" in one and ":question:" in one]) == 2
    close(cardinal, first)
    cardinal.catch_up()
    assert cardinal.ready() == (cardinal.run_of(whole).run_id,)
    assert cardinal.card(whole).state == "queued"
    assert [event.by for event in cardinal.events(QuestionAnswered)] == ["alice", "alice", "Cardinal"]
    cardinal.assert_nothing_is_stuck()


def test_a_sub_issue_that_was_cancelled_asks_at_its_parent(cardinal: Cardinal) -> None:
    cardinal.set_policy(with_column(sub_issues="wait"))
    whole, part = (cardinal.new(title) for title in ("All", "Tables"))
    cardinal.forge.store.links.add_sub_issue(issue_of(whole), issue_of(part), actor=cardinal.bot)
    for item in (part, whole):
        cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    cardinal.say(part, "/cardinal cancel")
    cardinal.catch_up()
    assert (cardinal.card(part).state, cardinal.card(whole).state) == ("blocked", "needs_input")
    cardinal.comment(whole, f"The sub-issue {name(part)} (Tables) was cancelled")
    cardinal.say(whole, "/cardinal answer 2")
    cardinal.catch_up()
    assert cardinal.run_of(part).state == "queued"
    assert cardinal.card(whole).state == "queued"
    cardinal.assert_nothing_is_stuck()


def test_a_sub_issue_that_comes_back_asks_again_and_one_that_another_parent_takes_no_more(
    cardinal: Cardinal,
) -> None:
    cardinal.set_policy(with_column(sub_issues="wait"))
    whole, part, other = (cardinal.new(title) for title in ("All", "Tables", "Other"))
    cardinal.forge.store.links.add_sub_issue(issue_of(whole), issue_of(part), actor=cardinal.bot)
    for item in (part, whole):
        cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    fail(cardinal, part)
    close(cardinal, part)
    cardinal.catch_up()
    assert cardinal.card(whole).state == "queued"
    cardinal.forge.store.issues.set_state(issue_of(part), "open", actor=cardinal.person("alice"))
    cardinal.drag(part, "Tasks")  # from Done, where GitHub's workflow put it
    cardinal.catch_up()
    assert cardinal.card(whole).state == "needs_input"
    cardinal.forge.store.links.add_sub_issue(
        issue_of(other), issue_of(part), actor=cardinal.bot, replace=True
    )
    cardinal.catch_up()
    assert cardinal.card(whole).state == "queued"
    assert "sub-issue" not in cardinal.card(whole).because
    assert "parts done" not in cardinal.face(whole)["Progress"]


def test_a_parent_that_is_transferred_waits_for_its_sub_issues_there(cardinal: Cardinal) -> None:
    cardinal.set_policy(with_column(sub_issues="wait"))
    item, part = cardinal.new("All"), cardinal.new("Tables")
    cardinal.forge.store.links.add_sub_issue(issue_of(item), issue_of(part), actor=cardinal.bot)
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    issue_of(item).repo, issue_of(item).number = cardinal.home_repo, 41
    assert sync_card(cardinal.services, cardinal.card(item).card_id)
    assert cardinal.ready() == ()
    close(cardinal, part)
    cardinal.catch_up()
    assert cardinal.ready() == (cardinal.run_of(item).run_id,)


def test_a_whole_shows_how_many_of_its_parts_are_done(cardinal: Cardinal) -> None:
    item, first, second = (cardinal.new(title) for title in ("All", "Tables", "Keys"))
    for part in (first, second):
        cardinal.forge.store.links.add_sub_issue(issue_of(item), issue_of(part), actor=cardinal.bot)
    cardinal.catch_up()
    assert cardinal.face(item)["Progress"].startswith("0 of 2 parts done")
    close(cardinal, first)
    cardinal.catch_up()
    assert cardinal.face(item)["Progress"].startswith("1 of 2 parts done")
    assert "parts done" not in cardinal.face(first).get("Progress", "")


@pytest.mark.parametrize("related", ["blocker", "parent", "part"])
def test_the_report_of_a_blocker_parent_or_part_reaches_the_briefing(
    cardinal: Cardinal, related: str
) -> None:
    first = cardinal.new("Tables", column="In Progress")
    cardinal.catch_up()
    run_id = cardinal.run_of(first).run_id
    cardinal.begin(run_id)
    cardinal.write(run_id, FinalReported(run_id, "Made <!-- psst --> three tables.", ("t.sql",), (), ()))
    cardinal.finish(run_id, files={"t.sql": b"x\n"})
    cardinal.catch_up()
    item = cardinal.new("Keys")
    if related == "parent":
        cardinal.forge.store.links.add_sub_issue(issue_of(first), issue_of(item), actor=cardinal.bot)
    elif related == "part":
        cardinal.forge.store.links.add_sub_issue(issue_of(item), issue_of(first), actor=cardinal.bot)
    else:
        block(cardinal, item, first)
        close(cardinal, first)
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    told = cardinal.claimed(item)[0].briefing.text
    before, after = told.split("Made three tables.")
    assert f"acme/shop{name(first)}" in before
    assert before.rstrip().endswith(">")
    assert before.rstrip().splitlines()[-1].startswith("<untrusted-")
    assert "psst" not in told
    assert "</untrusted-" in after


@pytest.mark.after(scene=blocked)
def test_links_that_did_not_change_are_no_event(cardinal: Cardinal) -> None:
    item = cardinal.newest
    seen = len(cardinal.events(LinksSeen))
    cardinal.forge.store.issues.edit(
        issue_of(item), title="Ship it now", body=None, actor=cardinal.person("alice")
    )
    cardinal.catch_up()
    assert len(cardinal.events(LinksSeen)) == seen
