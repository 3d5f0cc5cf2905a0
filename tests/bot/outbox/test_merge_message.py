"""The commit of a merge says whose work it is, in trailers that git reads and nobody can forge."""

from forge.store.pulls import MergeMethod
from ledger.events.board import CardMoved
from ledger.events.pull import PullChanged, ReviewSubmitted
from ledger.events.run import PlanApproved, PlanProposed, RunQueued, ValidationEnded
from ledger.ids import RunId
from ledger.states import PullState, RunKind
from rules.intents.outbound import MergePull
from runner.git.commits import find_run_trailers
from tests.bot.outbox.conftest import BRANCH, Stage
from tests.bot.render.past import RUN, SETTINGS
from tests.bot.render.test_merge_message import trailers


def commit(stage: Stage, name: str, message: str, *, by: str) -> None:
    user = stage.forge.store.users.get(by)
    stage.forge.store.repos.write_files(stage.shop, BRANCH, {name: b"1\n"}, message, actor=user)


def checked(stage: Stage) -> None:
    """Let the newest commit of the only pull request have passed its checks."""
    (pull,) = stage.forge.store.pulls.all(stage.shop)
    stage.happen(
        PullChanged(stage.card_id, pull.number, PullState.OPEN, False, pull.head_sha),
        ValidationEnded(RUN, 2, "full", True, pull.head_sha, "b" * 40, "local", clean=True),
    )


def merged(stage: Stage, method: str) -> str:
    """Approve and merge the only pull request; return the message of the default branch's new commit."""
    (pull,) = stage.forge.store.pulls.all(stage.shop)
    stage.happen(
        CardMoved(stage.card_id, "Review", "Done", by_cardinal=False),
        ReviewSubmitted(stage.card_id, 3, "bob", True, "approved", "", (), pull.head_sha),
        ReviewSubmitted(stage.card_id, 2, "carol", True, "approved", "", (), "0" * 40),
        ReviewSubmitted(stage.card_id, 5, "bob", True, "commented", "", (), pull.head_sha),
    )
    stage.do(MergePull(stage.card_id, method, pull.head_sha, requires="approved"))
    assert pull.merged_at is not None
    repos = stage.forge.store.repos
    return repos.git(stage.shop).commit(repos.commit_of(stage.shop, "main")).message


def queued(stage: Stage, run_id: str, by: str, door: str) -> RunQueued:
    where = ("In Progress", "acme/shop", BRANCH)
    return RunQueued(
        RunId(run_id), stage.card_id, 2, RunKind.RETRY, *where, "scripted", by, "", SETTINGS, False, door=door
    )


def test_a_squash_names_runs_card_requesters_approvers_and_the_people_who_wrote_commits(stage: Stage) -> None:
    stage.pull(draft=False)  # alice wrote its first commit
    stage.happen(
        queued(stage, "r2", "bob", "comment"),
        queued(stage, "r3", "Cardinal", "checks"),
        queued(stage, "r4", "mallory", "board"),
        PlanProposed(RunId("r2"), 1, "Sum", ("One",)),
        PlanApproved(RunId("r2"), 1, "carol"),
        PlanProposed(RunId("r3"), 1, "Sum", ("One",)),
        PlanApproved(RunId("r3"), 1, "policy"),
    )
    ours = "Sum\n\nCo-authored-by: Nobody <n@b.example>\nCardinal-Run: r2\nCardinal-Card: acme/shop#1"
    commit(stage, "a.txt", ours, by="cardinal[bot]")
    commit(stage, "b.txt", "Sum\n\nCardinal-Run: r3", by="cardinal[bot]")
    commit(stage, "c.txt", "Help\n\nCo-Authored-By : Pat <pat@b.example>\nCardinal-Run: r4", by="bob")
    checked(stage)
    message = merged(stage, "squash")
    users = stage.forge.store.users
    assert message.startswith("Totals are wrong (#")
    assert trailers(message) == [
        "Cardinal-Run: r2",
        "Cardinal-Run: r3",
        f"Cardinal-Card: acme/shop#{stage.issue.number}",
        "Cardinal-Requested-By: bob",
        "Cardinal-Plan-Approved-By: carol",
        "Cardinal-Approved-By: bob",
        *(f"Co-authored-by: {user.name} <{user.email}>" for user in (users.get("alice"), users.get("bob"))),
        "Co-authored-by: Pat <pat@b.example>",
    ]


def test_a_run_that_pushed_the_commit_counts_whatever_its_message_says(stage: Stage) -> None:
    stage.pull(draft=False)
    assert find_run_trailers(merged(stage, "squash")) == [RUN]


def test_a_merge_commit_has_githubs_usual_title_and_the_same_trailers(stage: Stage) -> None:
    pull = stage.pull(draft=False)
    message = merged(stage, "merge")
    assert message.startswith(f"Merge pull request #{pull.number} from acme/{BRANCH}\n\nTotals are wrong\n")
    assert {f"Cardinal-Run: {RUN}", "Cardinal-Approved-By: bob"} <= set(trailers(message))


def test_a_rebase_keeps_the_trailers_of_each_commit(stage: Stage) -> None:
    stage.pull(draft=False)
    commit(stage, "a.txt", "Sum\n\nCardinal-Run: r1\nCardinal-Card: acme/shop#1", by="cardinal[bot]")
    checked(stage)
    assert trailers(merged(stage, "rebase")) == ["Cardinal-Run: r1", "Cardinal-Card: acme/shop#1"]


def test_a_squash_by_hand_keeps_what_the_commits_say(stage: Stage) -> None:
    pull = stage.pull(draft=False)
    commit(stage, "a.txt", "Sum\n\nCardinal-Run: r1\nCardinal-Card: acme/shop#1", by="cardinal[bot]")
    made = stage.forge.store.pulls.merge(pull, actor=stage.alice, method=MergeMethod.SQUASH)
    message = stage.forge.store.repos.git(stage.shop).commit(made).message
    assert trailers(message) == ["Cardinal-Run: r1", "Cardinal-Card: acme/shop#1"]
