"""A ledger from a back-up adopts what GitHub shows of the time since, and only then acts."""

import re
from collections import Counter
from pathlib import Path

import pytest

from bot.sync import adoption
from forge.store.board import Item
from ledger.events.conversation import CommandGiven
from ledger.events.related import CardProposed
from ledger.events.run import RunClaimed, RunEnded, RunQueued, UsageMetered
from ledger.ids import RunId
from ledger.lifecycle import backup
from ledger.log import event_store
from ledger.queue import restored
from ledger.states import CardState, Ending, RunState
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.people import issue_of
from tests.bot.flows.recovery.test_restored import all_accepted, restart

FILES = {"shop/total.py": b"One = 1\n"}
MARKER = re.compile(r"<!-- cardinal:([^\s<>]+):[0-9a-f]{64} -->")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return tmp_path / "back-up.db"


def back_up(cardinal: Cardinal, copy: Path) -> None:
    cardinal.catch_up()
    backup.backup(cardinal.services.engine, copy)
    cardinal.clock.forward(3600)


def lose(cardinal: Cardinal, copy: Path) -> None:
    """Lose the ledger, and put the back-up in its place; GitHub delivers nothing again by itself."""
    cardinal.catch_up()
    all_accepted(cardinal)
    cardinal.services.engine.dispose()
    backup.restore(copy, cardinal.services.config.database_url, overwrite_newer=True)
    cardinal.leases.clear()


def work_on(cardinal: Cardinal, item: Item, files: dict[str, bytes] | None = FILES) -> RunId:
    """Let the card's run deliver."""
    run_id = cardinal.run_of(item).run_id
    cardinal.begin(run_id)
    cardinal.catch_up()
    cardinal.finish(run_id, files=files)
    cardinal.catch_up()
    return run_id


def said_twice(cardinal: Cardinal) -> dict[str, int]:
    """Return the markers that several of Cardinal's comments in the shop have."""
    comments = cardinal.forge.store.issues.comments_of(cardinal.repo)
    keys = Counter(key for it in comments if it.author is cardinal.bot for key in MARKER.findall(it.body))
    return {key: count for key, count in keys.items() if count > 1}


@pytest.mark.parametrize("drafted", ["Tasks", "In Progress"])
def test_work_that_was_finished_since_is_not_done_again(cardinal: Cardinal, copy: Path, drafted: str) -> None:
    item = cardinal.new(column=drafted)
    back_up(cardinal, copy)
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    run_id = work_on(cardinal, item)
    pull, reports = cardinal.pull_of(item), len(cardinal.told(item))
    lose(cardinal, copy)
    assert cardinal.ready() == ()
    restart(cardinal)
    cardinal.catch_up(work=True)
    card = cardinal.card(item)
    assert (card.pull_number, card.pull_head) == (pull.number, pull.head_sha)
    assert (card.state, card.run_id) == (CardState.WORK_COMPLETE, run_id), card.because
    assert [event.run_id for event in cardinal.events(RunClaimed)] == []
    assert said_twice(cardinal) == {}
    assert len(cardinal.told(item)) == reports
    restart(cardinal)
    cardinal.catch_up(work=True)
    assert [(it.run_id, it.ending) for it in cardinal.events(RunEnded)] == [(run_id, Ending.SUCCEEDED)]
    cardinal.assert_nothing_is_stuck()


def test_a_new_run_has_a_number_that_no_marker_on_github_has(cardinal: Cardinal, copy: Path) -> None:
    first = cardinal.new("First")
    back_up(cardinal, copy)
    gone = cardinal.new("Gone", column="In Progress")
    cardinal.drag(first, "In Progress")
    cardinal.catch_up()
    for item in (gone, first):
        work_on(cardinal, item)
    cardinal.forge.store.projects.delete_item(gone, actor=cardinal.person("alice"))
    lose(cardinal, copy)
    restart(cardinal)
    cardinal.catch_up()
    later = cardinal.new("Later", column="In Progress")
    cardinal.catch_up()
    assert cardinal.run_of(later).run_id == "r3"
    assert said_twice(cardinal) == {}


def test_nothing_is_done_before_github_was_read(
    cardinal: Cardinal, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = cardinal.new(column="In Progress")
    back_up(cardinal, copy)
    lose(cardinal, copy)
    cardinal.say(item, "/cardinal cancel")
    cardinal.drag(item, "Tasks")
    before = len(cardinal.told(item))
    cardinal.catch_up(work=True)
    assert not cardinal.claim(cardinal.run_of(item).run_id)
    assert (len(cardinal.told(item)), cardinal.run_of(item).state) == (before, RunState.QUEUED)
    with monkeypatch.context() as patched:
        patched.setattr(adoption, "_adopt_all", refuse)
        with pytest.raises(ConnectionError):
            cardinal.sweep()
    assert cardinal.ready() == ()
    cardinal.sweep()
    cardinal.catch_up()
    assert cardinal.run_of(item).ending is Ending.CANCELLED
    assert [event.command for event in cardinal.events(CommandGiven)] == ["cancel"]


def refuse(_services: object) -> None:
    raise ConnectionError


@pytest.mark.parametrize("ends", [True, False])
def test_a_run_without_a_pull_request_is_adopted_as_lost_and_starts_no_other(
    cardinal: Cardinal, copy: Path, ends: bool
) -> None:
    item = cardinal.new()
    back_up(cardinal, copy)
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    run_id = cardinal.run_of(item).run_id
    cardinal.begin(run_id)
    if ends:
        cardinal.write(run_id, RunEnded(run_id, Ending.FAILED, "agent_error", "no idea", "working"))
    lose(cardinal, copy)
    restart(cardinal)
    cardinal.catch_up(work=True)
    card = cardinal.card(item)
    assert (card.state, card.run_id) == (CardState.FAILED, run_id), card.because
    assert "/cardinal retry" in card.because
    assert said_twice(cardinal) == {}
    cardinal.drag(item, "Tasks")
    cardinal.catch_up()
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    assert cardinal.run_of(item).run_id == "r2", "a drag after the restore is a new one"


def test_a_run_that_waited_then_and_has_ended_since_is_over(cardinal: Cardinal, copy: Path) -> None:
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    run_id = cardinal.run_of(item).run_id
    cardinal.begin(run_id)
    cardinal.ask(run_id, "Which colour?")
    back_up(cardinal, copy)
    cardinal.say(item, "Red")
    cardinal.catch_up()
    work_on(cardinal, item)
    lose(cardinal, copy)
    restart(cardinal)
    cardinal.catch_up(work=True)
    assert cardinal.card(item).state is CardState.WORK_COMPLETE, cardinal.card(item).because
    assert cardinal.run_of(item).ending is Ending.SUCCEEDED
    assert said_twice(cardinal) == {}


@pytest.mark.parametrize("state", ["merged", "closed"])
def test_a_pull_request_that_is_no_longer_open_is_known_as_such(
    cardinal: Cardinal, copy: Path, state: str
) -> None:
    item = cardinal.new()
    back_up(cardinal, copy)
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    work_on(cardinal, item)
    store, alice, pull = cardinal.forge.store, cardinal.person("alice"), cardinal.pull_of(item)
    if state == "merged":
        store.pulls.merge(pull, actor=alice)
        store.repos.delete_ref(cardinal.repo, f"refs/heads/{pull.head_ref}", actor=alice)
    else:
        store.issues.set_state(pull.issue, "closed", actor=alice)
    cardinal.drag(item, "Done" if state == "merged" else "Review")
    lose(cardinal, copy)
    restart(cardinal)
    cardinal.catch_up(work=True)
    card = cardinal.card(item)
    assert (card.pull_number, card.pull_state) == (pull.number, state)
    assert [it.number for it in store.pulls.all(cardinal.repo)] == [pull.number]
    assert card.state is (CardState.DONE if state == "merged" else CardState.BLOCKED), card.because
    assert said_twice(cardinal) == {}


def test_a_card_that_came_after_the_back_up_keeps_its_work(cardinal: Cardinal, copy: Path) -> None:
    back_up(cardinal, copy)
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    run_id = work_on(cardinal, item)
    lose(cardinal, copy)
    restart(cardinal)
    cardinal.catch_up(work=True)
    assert (cardinal.card(item).state, cardinal.card(item).run_id) == (CardState.WORK_COMPLETE, run_id)
    assert [event.run_id for event in cardinal.events(RunQueued)] == [run_id]
    assert said_twice(cardinal) == {}


def test_an_entry_that_was_delivered_after_the_back_up_is_not_sent_again(
    cardinal: Cardinal, copy: Path
) -> None:
    item = cardinal.new()
    cardinal.catch_up()
    cardinal.say(item, "/cardinal explain")
    cardinal.catch_up(publish=False)
    backup.backup(cardinal.services.engine, copy)
    lose(cardinal, copy)
    told = len(cardinal.told(item))
    assert told
    restart(cardinal)
    cardinal.catch_up()
    assert len(cardinal.told(item)) == told
    assert said_twice(cardinal) == {}


def test_a_strangers_marker_is_not_adopted(cardinal: Cardinal, copy: Path) -> None:
    item = cardinal.new()
    back_up(cardinal, copy)
    forged = f"Look\n\n<!-- cardinal:report:r40:{'0' * 64} -->"
    cardinal.forge.store.issues.comment(issue_of(item), forged, actor=cardinal.person("mallory"))
    lose(cardinal, copy)
    restart(cardinal)
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    assert cardinal.run_of(item).run_id == "r1"
    with event_store.reading(cardinal.services.engine) as db:
        assert not restored.is_restored(db)


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_card_that_was_made_after_the_back_up_is_not_made_again(cardinal: Cardinal, copy: Path) -> None:
    item = cardinal.at_work()
    run_id = cardinal.run_of(item).run_id
    before = len(cardinal.repo.issues)
    cardinal.write(run_id, CardProposed(run_id, 1, "One more", "The rest.", "It is much."))
    backup.backup(cardinal.services.engine, copy)
    lose(cardinal, copy)
    made = len(cardinal.repo.issues)
    assert made == before + 1
    restart(cardinal)
    cardinal.catch_up()
    assert len(cardinal.repo.issues) == made


@pytest.mark.after(scene=Cardinal.at_work)
def test_what_github_says_of_a_runs_cost_and_answers_stays(cardinal: Cardinal, copy: Path) -> None:
    item = cardinal.at_work()
    run_id = cardinal.run_of(item).run_id
    cardinal.ask(run_id, "Which colour?")
    back_up(cardinal, copy)
    cardinal.say(item, "Red")
    cardinal.catch_up()
    cardinal.begin(run_id)
    cardinal.write(run_id, UsageMetered(run_id, 1.25, 10, 10, 1, 90.0))
    cardinal.finish(run_id, files=FILES)
    cardinal.catch_up()
    shown = [comment.body for comment in issue_of(item).comments], cardinal.face(item)["Cost $"]
    assert shown[1] == "1.25"
    lose(cardinal, copy)
    restart(cardinal)
    cardinal.catch_up(work=True)
    assert ([comment.body for comment in issue_of(item).comments], cardinal.face(item)["Cost $"]) == shown
