"""Bad input from end to end: it is answered with a sentence a person can act on, and nothing stays stuck."""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from bot.scheduler import jobs
from forge.store.board import Item
from forge.store.models import Repo, Role
from ledger.events.conversation import CommandGiven
from ledger.events.publication import EntryGivenUp
from ledger.states import RunState
from tests import warm
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.people import issue_of
from tests.waiting import until

EDIT = {"edit": {"path": "shop/new.py", "content": "TOTAL = 1\n"}}
COMMIT = {"commit": "Add a total"}
FINISH = {"finish": {"done": "It is done.", "changed": ["shop/new.py: new"]}}
TITLE = (
    "$(touch /tmp/pwned) `id`; rm -rf / && '; DROP TABLE events; -- "
    "<script>alert(1)</script><img src=x onerror=alert(1)> \u202egnirts\u202c \u2066x\u2069 @alice #1 é\u0301"
)
WAIT_S = 60


def start(cardinal: Cardinal, **scenario: Any) -> Item:
    """Return a card in progress whose scripted agent will do what the scenario says."""
    cardinal.scenario(**scenario)
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    return item


def ended(cardinal: Cardinal, item: Item) -> tuple[str, str, str]:
    """Let the run go to its end; return its ending, reason and detail."""
    cardinal.catch_up(work=True)
    run = cardinal.run_of(item)
    assert run.state == "ended", run
    cardinal.assert_nothing_is_stuck()
    return str(run.ending), run.reason, run.detail


def assert_told(cardinal: Cardinal, item: Item, *words: str) -> None:
    """Assert that the card's face, its reason and a comment say what is wrong."""
    card = cardinal.card(item)
    said = "\n".join([card.because, *cardinal.told(item)]).lower()
    assert card.state in ("failed", "blocked"), card.state
    assert cardinal.face(item)["Agent"].split(" ", 1)[1] in ("failed", "blocked")
    for word in words:
        assert word.lower() in said, f"{word} not in {said}"


def test_a_title_full_of_tricks_is_only_text_wherever_it_is_shown(
    cardinal: Cardinal, caplog: pytest.LogCaptureFixture
) -> None:
    cardinal.scenario(work=[EDIT, COMMIT, FINISH])
    item = cardinal.new(TITLE, "In Progress", body=TITLE)
    with caplog.at_level("DEBUG"):
        cardinal.catch_up(work=True)
    run, pull = cardinal.run_of(item), cardinal.pull_of(item)
    assert run.ending == "succeeded", run.detail
    assert re.fullmatch(r"cardinal/\d+-[a-z0-9-]{1,40}", run.branch)
    git = cardinal.forge.store.repos.git(cardinal.repo)
    commits = git.run("log", "--format=%an %s %b", "-3", run.branch).decode()
    told = [pull.issue.body or "", *cardinal.told(item)]
    shown = "\n".join([pull.issue.title, commits, *told, *caplog.messages])
    shown += "".join(cardinal.face(item).values())
    assert "\u202e" not in shown
    assert "\u2066" not in shown
    assert "<script" not in "\n".join(told)
    assert not re.search(r"(?<![`\w/])@alice", "\n".join(told))
    assert all("\n" not in message for message in caplog.messages)
    cardinal.forge.store.reviews.submit(pull, "APPROVE", "", [], actor=cardinal.person("bob"))
    cardinal.drag(item, "Done")
    cardinal.catch_up()
    assert pull.merged_at is not None
    merged = git.run("log", "--format=%s%n%b", "-1", "main").decode()
    assert "\u202e" not in merged
    for words in (("board",), ("show", f"acme/shop#{issue_of(item).number}")):
        done = printed(cardinal, *words)
        assert "\u202e" not in done
        assert "\x1b" not in done
        assert "DROP TABLE" in done
    cardinal.assert_nothing_is_stuck()


def printed(cardinal: Cardinal, *words: str) -> str:
    """Return what `cardinal <words>` prints."""
    home = cardinal.services.config.home
    environ = {"PATH": "/usr/bin:/bin", "CARDINAL_HOME": str(home), "PYTHONUTF8": "1"}
    return warm.Warm(warm.cardinal, *words, env=environ).finish()


def test_an_agent_that_prints_without_end_and_without_a_newline_is_stopped(cardinal: Cardinal) -> None:
    item = start(cardinal, work=[{"flood": {"bytes": 200_000_000}}])
    ending, reason, detail = ended(cardinal, item)
    assert (ending, reason) == ("failed", "guardrail"), detail
    assert_told(cardinal, item, "output")
    assert cardinal.card(item).pull_number is None


def test_an_agent_that_speaks_no_utf8_is_read_past(cardinal: Cardinal) -> None:
    item = start(cardinal, work=["garbage", EDIT, COMMIT, FINISH])
    assert ended(cardinal, item)[0] == "succeeded"
    assert cardinal.pull_of(item).issue.state == "open"


def test_an_agent_that_crashes_leaves_a_reason(cardinal: Cardinal) -> None:
    item = start(cardinal, work=[{"progress": "Halfway"}, "crash"])
    assert ended(cardinal, item)[:2] == ("lost", "gave_up")  # killed each time that it was tried again
    assert_told(cardinal, item, "killed", "halfway")


def test_a_scenario_that_is_not_there_fails_the_run_with_the_names_that_are(cardinal: Cardinal) -> None:
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    assert ended(cardinal, item)[:2] == ("failed", "spawn_failed")
    assert_told(cardinal, item, "scenario")


def in_repository(cardinal: Cardinal, repo: Repo) -> Item:
    """Return a card in progress of an issue in that repository."""
    carol, store = cardinal.person("carol"), cardinal.forge.store
    issue = store.issues.create(repo, "Start", "Please.", actor=carol)
    item = store.projects.add(cardinal.project, issue, actor=carol)
    store.projects.drag(item, "In Progress", actor=carol)
    cardinal.catch_up()
    return item


def test_a_repository_without_commits_is_a_reason(cardinal: Cardinal) -> None:
    cardinal.scenario(work=[EDIT, COMMIT, FINISH])
    repo = cardinal.forge.store.repos.create(cardinal.project.owner, "empty")
    cardinal.forge.store.repos.set_role(repo, cardinal.person("carol"), Role.WRITE)
    item = in_repository(cardinal, repo)
    assert ended(cardinal, item)[:2] == ("failed", "repository")
    assert_told(cardinal, item, "no commits yet", "push a first commit")


def test_a_missing_base_branch_is_a_reason(cardinal: Cardinal) -> None:
    cardinal.repo.default_branch = "gone"
    item = start(cardinal, work=[EDIT, COMMIT, FINISH])
    assert ended(cardinal, item)[:2] == ("failed", "repository")
    assert_told(cardinal, item, "no branch gone")


def test_a_branch_that_may_not_be_pushed_is_a_reason(cardinal: Cardinal) -> None:
    item = start(cardinal, work=[EDIT, COMMIT, FINISH])
    cardinal.forge.store.repos.protect(cardinal.repo, cardinal.run_of(item).branch, reviews=1)
    assert ended(cardinal, item)[:2] == ("failed", "repository")
    assert_told(cardinal, item, "protection")


def test_a_protected_base_takes_work_as_a_pull_request_and_a_refused_merge_is_a_reason(
    cardinal: Cardinal,
) -> None:
    cardinal.forge.store.repos.protect(cardinal.repo, "main", reviews=2)
    item = start(cardinal, work=[EDIT, COMMIT, FINISH])
    assert ended(cardinal, item)[0] == "succeeded"
    cardinal.drag(item, "Done")
    cardinal.catch_up()
    assert_told(cardinal, item, "could not be merged", "review")
    assert cardinal.pull_of(item).merged_at is None


def test_a_repository_that_was_deleted_before_its_run_began_is_a_reason(cardinal: Cardinal) -> None:
    item = start(cardinal, work=[EDIT, COMMIT, FINISH])
    cardinal.forge.store.repos.delete(cardinal.repo, actor=cardinal.person("alice"))
    cardinal.mail.clear()
    jobs.carry_out(cardinal.services, cardinal.run_of(item).run_id)
    cardinal.catch_up()
    run = cardinal.run_of(item)
    assert (run.ending, run.reason) == ("failed", "repository")
    assert "deleted" in run.detail
    cardinal.assert_nothing_is_stuck()


@contextmanager
def mid_run(cardinal: Cardinal, item: Item) -> Iterator[None]:
    """Let the card's run work in a thread meanwhile; it must be over soon after the block."""
    run_id = cardinal.run_of(item).run_id
    worker = threading.Thread(target=jobs.carry_out, args=(cardinal.services, run_id))
    worker.start()

    def works() -> bool:
        assert worker.is_alive(), cardinal.run(run_id)
        return cardinal.run(run_id).last_line == "At work"

    try:
        until(works, "it works", every_s=0.05)
        yield
    finally:
        worker.join(WAIT_S)
    assert not worker.is_alive()


def delete_card(cardinal: Cardinal, item: Item) -> None:
    cardinal.forge.store.projects.delete_item(item, actor=cardinal.person("alice"))


def delete_repository(cardinal: Cardinal, item: Item) -> None:
    cardinal.forge.store.repos.delete(cardinal.repo, actor=cardinal.person("alice"))


def delete_issue(cardinal: Cardinal, item: Item) -> None:
    cardinal.forge.store.issues.delete(issue_of(item), actor=cardinal.person("alice"))


@pytest.mark.parametrize("delete", [delete_card, delete_repository, delete_issue])
def test_what_is_deleted_mid_run_cancels_the_run_and_leaves_nothing(
    cardinal: Cardinal, delete: Callable[[Cardinal, Item], None]
) -> None:
    item = start(cardinal, work=[{"progress": "At work"}, "hang"])
    with mid_run(cardinal, item):
        delete(cardinal, item)
        cardinal.catch_up()
    cardinal.catch_up()
    run = cardinal.run_of(item)
    assert (run.state, run.ending) == ("ended", "cancelled"), run
    assert "the card left the board" in run.stop_why
    assert cardinal.card(item).archived
    assert cardinal.failures == []
    cardinal.assert_nothing_is_stuck()


def test_a_pull_request_that_goes_mid_run_is_a_reason(cardinal: Cardinal) -> None:
    item = start(cardinal, work=[EDIT, COMMIT, FINISH])
    assert ended(cardinal, item)[0] == "succeeded"
    pull = cardinal.pull_of(item)
    cardinal.say(item, "/cardinal retry")
    cardinal.scenario(work=[{"progress": "At work"}, {"sleep": 2}, FINISH])
    cardinal.catch_up()
    with mid_run(cardinal, item):
        cardinal.forge.store.issues.delete(pull.issue, actor=cardinal.person("alice"))
        cardinal.catch_up()
    cardinal.catch_up()
    assert cardinal.run_of(item).state is RunState.ENDED
    cardinal.assert_nothing_is_stuck()
    assert cardinal.card(item).because


def test_a_deleted_issue_gives_its_comments_up_and_blocks_nothing_else(cardinal: Cardinal) -> None:
    item, other = start(cardinal, work=[FINISH]), cardinal.new("Other")
    cardinal.catch_up()
    cardinal.say(item, "/cardinal status")
    cardinal.forge.store.issues.delete(issue_of(item), actor=cardinal.person("alice"))
    cardinal.say(other, "/cardinal status")
    cardinal.catch_up()
    assert len(cardinal.told(other)) == 1
    assert len(cardinal.events(CommandGiven)) == 2
    assert all("deleted" in event.because for event in cardinal.events(EntryGivenUp))
    cardinal.assert_nothing_is_stuck()
