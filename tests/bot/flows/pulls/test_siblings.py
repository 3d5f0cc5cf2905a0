"""A merge: other finished branches of the repository are rebased and checked, without an agent."""

from forge.store.board import Item
from ledger.events.branch import BranchRebased
from ledger.events.run import RunQueued, SessionStarted, ValidationEnded
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.pulls.test_gate import checks_on, push
from tests.bot.flows.pulls.test_review import review
from tests.bot.flows.runs.test_validation import worked
from tests.bot.flows.settings import POLICY


def delivered(cardinal: Cardinal, title: str, files: dict[str, bytes]) -> Item:
    """Return a card in review whose pull request has these files."""
    item = cardinal.new(title, column="In Progress")
    cardinal.catch_up()
    run_id = cardinal.run_of(item).run_id
    cardinal.begin(run_id)
    cardinal.finish(run_id, files=files)
    cardinal.catch_up()
    cardinal.drag(item, "Review")
    cardinal.catch_up()
    return item


def merge(cardinal: Cardinal, item: Item) -> None:
    review(cardinal, cardinal.pull_of(item), "APPROVE")
    cardinal.catch_up()
    cardinal.drag(item, "Done")
    cardinal.catch_up(work=True)
    assert cardinal.pull_of(item).merged_at is not None


def lines(cardinal: Cardinal, commit: str) -> list[tuple[str, str]]:
    """Return author and subject of the commits that a commit has beyond the base, newest first."""
    git = cardinal.forge.store.repos.git(cardinal.repo)
    listed = git.run("log", "--format=%an|%s", f"main..{commit}").decode().splitlines()
    return [(author, subject) for author, _, subject in (line.partition("|") for line in listed)]


def test_the_other_branch_is_rebased_checked_and_still_approved(cardinal: Cardinal) -> None:
    first, second = (delivered(cardinal, name, {f"{name}.txt": b"x\n"}) for name in ("one", "two"))
    pull = cardinal.pull_of(second)
    push(cardinal, pull, {"by-hand.txt": b"x\n"})
    cardinal.catch_up(work=True)
    review(cardinal, pull, "APPROVE")
    cardinal.catch_up()
    before = pull.head_sha
    merge(cardinal, first)
    (event,) = cardinal.events(BranchRebased)
    assert (event.before, event.after, event.same) == (before, pull.head_sha, True)
    base = cardinal.forge.store.repos.commit_of(cardinal.repo, "main")
    assert event.base == base
    assert [author for author, _ in lines(cardinal, pull.head_sha)] == ["Alice", "cardinal[bot]"]
    assert checks_on(cardinal, pull.head_sha).conclusion == "success"
    assert [(run.kind, run.rebases, run.by) for run in cardinal.events(RunQueued)][-1] == (
        "check",
        True,
        "merge",
    )
    assert cardinal.events(SessionStarted) == []
    assert cardinal.card(second).state == "approved"
    cardinal.drag(second, "Done")
    cardinal.catch_up(work=True)
    assert pull.merged_at is not None
    assert sum(run.rebases for run in cardinal.events(RunQueued)) == 1
    cardinal.assert_nothing_is_stuck()


def test_a_conflict_leaves_the_branch_and_the_card_says_what_to_do(cardinal: Cardinal) -> None:
    first, second = (delivered(cardinal, name, {"same.txt": name.encode()}) for name in ("one", "two"))
    pull = cardinal.pull_of(second)
    before = pull.head_sha
    merge(cardinal, first)
    assert pull.head_sha == before
    because = cardinal.card(second).because
    assert f"{pull.head_ref} cannot be rebased on main: both change same.txt" in because
    assert "merge main into" in because
    assert "drag the card back to its execution column and comment `/cardinal retry`" in because
    assert any("cannot be rebased" in comment.body for comment in pull.issue.comments)
    cardinal.drag(second, "In Progress")
    cardinal.catch_up()
    assert cardinal.events(RunQueued)[-1].kind == "check", "the drag alone starts nothing"
    cardinal.say(second, "/cardinal retry")
    cardinal.catch_up()
    assert cardinal.events(RunQueued)[-1].kind == "retry"


def test_the_merge_lane_lets_one_in_at_a_time_and_checks_each_on_the_last(cardinal: Cardinal) -> None:
    """GitHub requires the gate's check, which the lane itself turns to *in progress*."""
    cardinal.repo.required_checks["main"] = ("cardinal/gate",)
    cardinal.set_policy(POLICY.replace("method: squash", "method: squash, lane: true"))
    cardinal.catch_up()
    items = [delivered(cardinal, name, {f"{name}.txt": b"x\n"}) for name in ("one", "two", "three")]
    pulls = [cardinal.pull_of(item) for item in items]
    for pull in pulls:
        review(cardinal, pull, "APPROVE")
    cardinal.catch_up()
    for item in items:
        cardinal.drag(item, "Done")
    cardinal.catch_up()
    assert [cardinal.card(item).because for item in items] == [
        "1st in the merge lane: it is rebased on the newest base and checked there, then merged",
        f"approved, 2nd in the merge lane behind #{pulls[0].number}",
        f"approved, 3rd in the merge lane behind #{pulls[1].number}",
    ]
    cardinal.catch_up(work=True)
    merged = sorted(pulls, key=lambda pull: str(pull.merged_at))
    assert [pull.number for pull in merged] == [pull.number for pull in pulls]
    assert [cardinal.card(item).state for item in items] == ["done"] * 3
    checked = [(it.head, it.base) for it in cardinal.events(ValidationEnded) if it.base != "b" * 40]
    assert [head for head, _ in checked] == [pull.head_sha for pull in pulls]
    assert len({base for _, base in checked}) == 3
    assert len([call for call in cardinal.calls("/merge") if call.startswith("PUT")]) == 3
    assert [checks_on(cardinal, pull.head_sha).conclusion for pull in pulls] == ["success"] * 3
    cardinal.assert_nothing_is_stuck()


def test_what_was_checked_on_the_newest_base_is_merged_by_the_lane_without_another_check(
    cardinal: Cardinal,
) -> None:
    cardinal.set_policy(POLICY.replace("method: squash", "method: squash, lane: true"))
    item = worked(cardinal)
    older = delivered(cardinal, "older", {"older.txt": b"x\n"})
    for each in (item, older):
        cardinal.drag(each, "Review")
        cardinal.catch_up()
        review(cardinal, cardinal.pull_of(each), "APPROVE")
    cardinal.catch_up()
    cardinal.drag(item, "Done")
    cardinal.catch_up(work=True)
    assert cardinal.pull_of(item).merged_at is not None
    assert not any(run.card_id == item.node_id and run.rebases for run in cardinal.events(RunQueued))
    cardinal.drag(older, "Done")  # its gate saw a base of its own, that is not under it any more
    cardinal.catch_up(work=True)
    assert cardinal.pull_of(older).merged_at is not None
    assert any(run.card_id == older.node_id and run.rebases for run in cardinal.events(RunQueued))
    cardinal.assert_nothing_is_stuck()
