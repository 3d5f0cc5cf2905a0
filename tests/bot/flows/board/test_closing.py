"""An issue is closed, and GitHub's own workflows move its card: nobody dragged it."""

from collections.abc import Callable

import pytest

from bot.sync import sweep
from forge.store.board import Item
from forge.store.pulls import MergeMethod
from ledger.events.board import CardMoved, IssueClosed
from ledger.events.pull import BranchDeleted, MergeAwaited
from ledger.events.run import QuestionAsked, RunQueued, RunStopAsked
from ledger.states import Reason
from tests.bot.flows.board.test_movers import reviewed
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.people import issue_of
from tests.bot.flows.settings import POLICY

UNNAMED = "\n".join(line for line in POLICY.splitlines() if "  move:" not in line)


def close(cardinal: Cardinal, item: Item, reason: str, who: str = "bob") -> None:
    store = cardinal.forge.store
    user = store.automation() if who == "workflow" else cardinal.person(who)
    store.issues.set_state(issue_of(item), "closed", reason, actor=user)


def reopen(cardinal: Cardinal, item: Item, who: str = "bob") -> None:
    cardinal.forge.store.issues.set_state(issue_of(item), "open", actor=cardinal.person(who))


def read_once(cardinal: Cardinal) -> None:
    """See all that has happened by one read, as after an outage or with `--poll`."""
    cardinal.mail.clear()
    cardinal.clock.forward(sweep.UNMERGED_S + 1)
    cardinal.sweep()
    cardinal.catch_up()


def in_turn(cardinal: Cardinal) -> None:
    cardinal.catch_up()


def backwards(cardinal: Cardinal) -> None:
    cardinal.mail.reverse()
    cardinal.catch_up()


def untold(cardinal: Cardinal) -> None:
    """See it by one read that says of nobody who moved the card."""
    for item in cardinal.project.items:
        item.status_changes.clear()
    read_once(cardinal)


READS = (in_turn, backwards, read_once, untold)


@pytest.mark.after(scene=reviewed)
@pytest.mark.parametrize(("reason", "policy"), [("not_planned", POLICY), ("duplicate", UNNAMED)])
@pytest.mark.parametrize("see", READS)
def test_an_approved_pull_request_is_closed_unmerged_with_its_abandoned_issue(
    cardinal: Cardinal, see: Callable[[Cardinal], None], reason: str, policy: str
) -> None:
    cardinal.set_policy(policy)
    cardinal.catch_up()
    item = cardinal.newest
    pull = cardinal.pull_of(item)
    close(cardinal, item, reason)
    assert cardinal.column(item) == "Done"
    see(cardinal)
    assert (pull.issue.state, pull.merged_at) == ("closed", None)
    assert cardinal.card(item).state == "done"
    assert cardinal.calls("PUT") == []
    assert not any("could not be merged" in one for one in cardinal.told(item))
    cardinal.assert_nothing_is_stuck()


@pytest.mark.after(scene=reviewed)
@pytest.mark.parametrize(("see", "policy"), [*((see, POLICY) for see in READS), (in_turn, UNNAMED)])
def test_a_completed_issue_merges_nothing_and_its_card_says_how_to(
    cardinal: Cardinal, see: Callable[[Cardinal], None], policy: str
) -> None:
    cardinal.set_policy(policy)
    cardinal.catch_up()
    item = cardinal.newest
    pull = cardinal.pull_of(item)
    close(cardinal, item, "completed")
    see(cardinal)
    assert (pull.issue.state, pull.merged_at) == ("open", None)
    told = cardinal.comment(item, "was closed as completed", f"To merge pull request #{pull.number}").body
    assert "bob" not in told
    assert cardinal.card(item).state == "blocked"
    assert "/cardinal retry" in cardinal.card(item).because
    cardinal.say(item, "/cardinal retry", "bob")
    cardinal.catch_up()
    assert pull.merged_at is not None
    assert cardinal.card(item).state == "done"


@pytest.mark.after(scene=reviewed)
@pytest.mark.parametrize("reason", ["completed", "not_planned"])
@pytest.mark.parametrize("see", [in_turn, backwards, read_once])
def test_an_issue_that_is_reopened_at_once_merges_nothing(
    cardinal: Cardinal, see: Callable[[Cardinal], None], reason: str
) -> None:
    item = cardinal.newest
    pull = cardinal.pull_of(item)
    close(cardinal, item, reason)
    reopen(cardinal, item)
    see(cardinal)
    assert (pull.issue.state, pull.merged_at) == ("open", None)
    assert "GitHub's own workflow moved the card" in cardinal.card(item).because
    cardinal.drag(item, "Review", "bob")
    cardinal.catch_up()
    cardinal.drag(item, "Done", "bob")
    cardinal.catch_up()
    assert pull.merged_at is not None


@pytest.mark.after(scene=reviewed)
@pytest.mark.parametrize("see", [in_turn, read_once])
@pytest.mark.parametrize("first", ["drag", "close"])
def test_a_persons_drag_beside_the_close_counts(
    cardinal: Cardinal, see: Callable[[Cardinal], None], first: str
) -> None:
    item = cardinal.newest
    if first == "close":  # then the workflow, then bob takes it out and in again
        close(cardinal, item, "completed")
        cardinal.drag(item, "Review", "bob")
    cardinal.drag(item, "Done", "bob")
    if first == "drag":  # GitHub's workflow "Auto-close issue" does the same
        close(cardinal, item, "completed", "workflow")
    see(cardinal)
    assert cardinal.pull_of(item).merged_at is not None
    assert cardinal.card(item).state == "done"


@pytest.mark.after(scene=reviewed)
@pytest.mark.parametrize("see", [in_turn, read_once])
def test_a_drag_to_done_does_not_merge_what_its_dragger_gives_up_at_once(
    cardinal: Cardinal, see: Callable[[Cardinal], None]
) -> None:
    item = cardinal.newest
    pull = cardinal.pull_of(item)
    cardinal.drag(item, "Done", "bob")
    close(cardinal, item, "not_planned")
    see(cardinal)
    assert (pull.issue.state, pull.merged_at) == ("closed", None)
    assert cardinal.card(item).state == "done"


@pytest.mark.after(scene=reviewed)
def test_what_is_to_be_merged_and_is_given_up_before_the_call_stays_unmerged(cardinal: Cardinal) -> None:
    item = cardinal.newest
    pull = cardinal.pull_of(item)
    cardinal.drag(item, "Done", "bob")
    cardinal.catch_up(publish=False)
    close(cardinal, item, "duplicate")
    cardinal.catch_up()
    assert (pull.issue.state, pull.merged_at) == ("closed", None)
    assert cardinal.card(item).state == "done"
    assert not any("could not be merged" in one for one in cardinal.told(item))


@pytest.mark.after(scene=reviewed)
def test_a_reopened_pull_request_of_a_card_that_was_given_up_is_not_merged(cardinal: Cardinal) -> None:
    item = cardinal.newest
    pull = cardinal.pull_of(item)
    head = pull.head_sha
    close(cardinal, item, "not_planned")
    cardinal.catch_up()
    bob, repos = cardinal.person("bob"), cardinal.forge.store.repos
    repos.create_ref(cardinal.repo, f"refs/heads/{pull.head_ref}", head, actor=bob)
    cardinal.forge.store.issues.set_state(pull.issue, "open", actor=bob)
    cardinal.catch_up()
    for column in ("Review", "Done"):
        cardinal.drag(item, column, "bob")
        cardinal.catch_up()
        assert "its issue was closed as not planned. Reopen it" in cardinal.card(item).because
    assert pull.merged_at is None
    reopen(cardinal, item)
    cardinal.catch_up()
    cardinal.say(item, "/cardinal retry", "bob")
    cardinal.catch_up()
    assert pull.merged_at is not None


@pytest.mark.after(scene=Cardinal.at_work)
@pytest.mark.parametrize("see", READS)
def test_a_run_goes_on_behind_a_completed_issue_and_nobody_is_asked(
    cardinal: Cardinal, see: Callable[[Cardinal], None]
) -> None:
    item = cardinal.newest
    run_id = cardinal.run_of(item).run_id
    close(cardinal, item, "completed")
    see(cardinal)
    assert (cardinal.events(RunStopAsked), cardinal.events(QuestionAsked)) == ([], [])
    assert cardinal.column(item) == "Done", "nobody fights over the column"
    told = cardinal.comment(item, "was closed as completed").body
    assert f"{run_id} continues" in told
    assert "/cardinal cancel" in told
    cardinal.finish(run_id, files={"prices.py": b"1\n"})
    cardinal.catch_up()
    assert cardinal.pull_of(item).merged_at is None
    assert "to merge pull request" in cardinal.card(item).because.lower()


@pytest.mark.after(scene=Cardinal.at_work)
@pytest.mark.parametrize(("reason", "asks"), [("not_planned", True), ("duplicate", False)])
@pytest.mark.parametrize("see", READS)
def test_a_run_is_cancelled_with_its_abandoned_issue_and_nobody_is_asked(
    cardinal: Cardinal, see: Callable[[Cardinal], None], reason: str, asks: bool
) -> None:
    item = cardinal.newest
    run_id = cardinal.run_of(item).run_id
    if asks:
        cardinal.ask(run_id, "Which?")
        cardinal.catch_up()
    close(cardinal, item, reason)
    see(cardinal)
    assert [event.why for event in cardinal.events(RunStopAsked)] == [
        f"bob closed the issue as {reason.replace('_', ' ')}"
    ]
    assert len(cardinal.events(QuestionAsked)) == int(asks)
    assert cardinal.column(item) == "Done"
    assert not any("dragged" in one for one in cardinal.told(item))


@pytest.mark.parametrize("reason", ["completed", "not_planned"])
@pytest.mark.parametrize("see", READS)
def test_a_run_that_has_not_begun_ends_with_its_closed_issue(
    cardinal: Cardinal, see: Callable[[Cardinal], None], reason: str
) -> None:
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    close(cardinal, item, reason)
    see(cardinal)
    assert cardinal.run_of(item).ending == "cancelled"
    assert f"bob closed the issue as {reason.replace('_', ' ')}" in cardinal.run_of(item).detail
    assert cardinal.card(item).state == "done"
    assert cardinal.ready() == ()


@pytest.mark.parametrize("who", ["mallory", "bob"])
def test_only_who_may_move_cards_ends_a_run_that_waits_by_closing_its_issue(
    cardinal: Cardinal, who: str
) -> None:
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    close(cardinal, item, "completed", who)
    cardinal.catch_up()
    assert (cardinal.run_of(item).ending == "cancelled") == (who == "bob")
    assert cardinal.events(IssueClosed)[-1].trusted == (who == "bob")


@pytest.mark.after(scene=reviewed)
@pytest.mark.parametrize("way", ["queue", "auto"])
@pytest.mark.parametrize(
    ("see", "reason"), [*((see, "not_planned") for see in READS), (in_turn, "completed")]
)
def test_a_merge_by_github_is_taken_back_with_an_abandoned_issue_alone(
    cardinal: Cardinal, see: Callable[[Cardinal], None], reason: str, way: str
) -> None:
    item = cardinal.newest
    pull = cardinal.pull_of(item)
    if way == "queue":
        cardinal.repo.merge_queues.add("main")
    else:
        cardinal.repo.required_checks["main"] = ("ci",)
        cardinal.repo.auto_merge_allowed = True
    cardinal.drag(item, "Done", "bob")
    cardinal.catch_up()
    assert [event.how for event in cardinal.events(MergeAwaited)] == [way]
    close(cardinal, item, reason)
    see(cardinal)
    waits = pull.queued_at is not None or pull.auto_merge is not None
    assert (waits, pull.issue.state) == ((True, "open") if reason == "completed" else (False, "closed"))
    assert pull.merged_at is None


@pytest.mark.parametrize("reason", ["completed", "not_planned"])
def test_a_card_in_the_merge_lane_leaves_it_only_when_it_is_given_up(cardinal: Cardinal, reason: str) -> None:
    cardinal.set_policy(POLICY.replace("method: squash", "method: squash, lane: true"))
    cardinal.catch_up()
    items = [reviewed(cardinal) for _ in range(2)]
    pulls = [cardinal.pull_of(item) for item in items]
    for item in items:
        cardinal.drag(item, "Done", "bob")
        cardinal.catch_up(publish=False)
    assert "2nd in the merge lane" in cardinal.card(items[1]).because
    close(cardinal, items[0], reason)
    cardinal.catch_up(publish=False)
    place = "1st" if reason == "not_planned" else "2nd"
    assert f"{place} in the merge lane" in cardinal.card(items[1]).because
    cardinal.catch_up()
    assert (pulls[0].issue.state, pulls[0].merged_at) == (
        "closed" if reason == "not_planned" else "open",
        None,
    )
    assert (cardinal.card(items[0]).reason is Reason.MERGE_TURN) == (reason == "completed")


@pytest.mark.after(scene=reviewed)
@pytest.mark.parametrize("see", READS)
def test_a_merge_by_hand_ends_the_card_without_a_word(
    cardinal: Cardinal, see: Callable[[Cardinal], None]
) -> None:
    item = cardinal.newest
    before = len(cardinal.told(item))
    pull = cardinal.pull_of(item)
    cardinal.forge.store.pulls.merge(pull, actor=cardinal.person("bob"), method=MergeMethod.SQUASH)
    assert issue_of(item).state == "closed"
    see(cardinal)
    assert cardinal.card(item).state == "done"
    assert [event.branch for event in cardinal.events(BranchDeleted)] == [pull.head_ref]
    assert cardinal.told(item)[before:] == []
    assert cardinal.calls("PUT") == []


@pytest.mark.after(scene=reviewed)
@pytest.mark.parametrize("see", READS)
def test_somebody_elses_pull_request_that_closes_the_issue_merges_only_itself(
    cardinal: Cardinal, see: Callable[[Cardinal], None]
) -> None:
    item = cardinal.newest
    store, bob = cardinal.forge.store, cardinal.person("bob")
    store.repos.create_ref(
        cardinal.repo, "refs/heads/other", store.repos.commit_of(cardinal.repo, "main"), actor=bob
    )
    store.repos.write_files(cardinal.repo, "other", {"other.py": b"1\n"}, "Other", actor=bob)
    text = f"Closes #{issue_of(item).number}"
    other = store.pulls.create(cardinal.repo, "Other", text, "other", "main", actor=bob)
    store.pulls.merge(other, actor=bob)
    assert issue_of(item).state == "closed"
    see(cardinal)
    pull = cardinal.pull_of(item)
    assert (pull.issue.state, pull.merged_at) == ("open", None)
    assert f"To merge pull request #{pull.number}" in cardinal.card(item).because


@pytest.mark.after(scene=reviewed)
@pytest.mark.parametrize("policy", [POLICY, UNNAMED])
@pytest.mark.parametrize("closed", [True, False])
def test_a_workflow_that_archives_gives_nothing_up(cardinal: Cardinal, closed: bool, policy: str) -> None:
    cardinal.set_policy(policy)
    cardinal.catch_up()
    item = cardinal.newest
    pull = cardinal.pull_of(item)
    if closed:
        close(cardinal, item, "completed")
        cardinal.catch_up()
    store = cardinal.forge.store
    store.projects.set_archived(item, True, actor=store.automation())
    cardinal.catch_up()
    assert pull.issue.state == "open"
    assert f"pull request #{pull.number} stays open" in cardinal.told(item)[-1]
    assert cardinal.card(item).state == "archived"


@pytest.mark.after(scene=reviewed)
@pytest.mark.parametrize("see", [in_turn, backwards, read_once])
def test_the_workflow_behind_a_reopened_issue_starts_nothing(
    cardinal: Cardinal, see: Callable[[Cardinal], None]
) -> None:
    cardinal.set_policy(UNNAMED)
    cardinal.catch_up()
    item, store = cardinal.newest, cardinal.forge.store
    before = len(cardinal.events(RunQueued))
    close(cardinal, item, "completed")
    cardinal.catch_up()
    reopen(cardinal, item)
    store.projects.drag(item, "In Progress", actor=store.automation())
    see(cardinal)
    assert len(cardinal.events(RunQueued)) == before
    assert cardinal.events(CardMoved)[-1].by == "github-project-automation[bot]"


@pytest.mark.after(scene=reviewed)
def test_a_retry_merges_also_after_a_check_of_what_a_person_pushed(cardinal: Cardinal) -> None:
    item = cardinal.newest
    pull = cardinal.pull_of(item)
    close(cardinal, item, "completed")
    cardinal.catch_up()
    cardinal.forge.store.repos.write_files(
        cardinal.repo, pull.head_ref, {"late.txt": b"late\n"}, "Late", actor=cardinal.person("carol")
    )
    cardinal.catch_up()
    cardinal.forge.store.reviews.submit(pull, "APPROVE", "", [], actor=cardinal.person("bob"))
    cardinal.catch_up()
    cardinal.say(item, "/cardinal retry", "bob")
    cardinal.catch_up(work=True)
    assert pull.merged_at is not None
