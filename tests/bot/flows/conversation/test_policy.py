"""The policy file: the last good one stays in force, and what is wrong is said where it was pushed."""

from pathlib import Path

import pytest

from bot.state import policies as in_force
from bot.sync import board
from forge.store.board import Item
from ledger.events.board import BoardSeen
from ledger.events.policy import PolicyLoaded, PolicyProposed, PolicyRejected
from ledger.log import event_store
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.opening import opened
from tests.bot.flows.settings import POLICY, with_column


def checks(cardinal: Cardinal, commit: str) -> list[tuple[str, str]]:
    """Return conclusion and summary of the policy's checks on a commit."""
    runs = cardinal.forge.store.checks.on_commit(cardinal.home_repo, commit)
    return [(str(run.conclusion), run.output["summary"]) for run in runs if run.name == "cardinal/policy"]


# What a policy file can be wrong in is a table in `tests/rules/policy/test_policy.py`.
@pytest.mark.parametrize(
    ("text", "word"),
    [("version: 1\nboard: [", "line 2"), ("\x00\x01 not text", "character"), ("", "")],
)
def test_a_bad_policy_changes_nothing_and_is_a_failed_check_on_its_commit(
    cardinal: Cardinal, text: str, word: str
) -> None:
    before = cardinal.services.context.policy(cardinal.board_id)
    commit = cardinal.set_policy(text)
    cardinal.catch_up()
    assert cardinal.services.context.policy(cardinal.board_id) == before
    ((conclusion, summary),) = checks(cardinal, commit)
    assert conclusion == "failure"
    assert word.lower() in summary.lower()
    assert len(cardinal.events(PolicyRejected)) == 1
    cardinal.assert_nothing_is_stuck()


def test_a_repaired_policy_is_in_force_at_once_and_said_so(cardinal: Cardinal) -> None:
    cardinal.set_policy("nonsense: true")
    cardinal.catch_up()
    commit = cardinal.set_policy(with_column(budget_usd="7.5"))
    cardinal.catch_up()
    assert checks(cardinal, commit)[0][0] == "success"
    column = cardinal.services.context.policy(cardinal.board_id).column("In Progress")
    assert column is not None
    assert column.budget_usd == 7.5
    status = cardinal.project.status
    option = status.option_named("In Progress")
    assert option is not None
    assert "up to $7.50" in option.description


def test_going_back_to_the_file_in_force_clears_what_was_wrong(cardinal: Cardinal) -> None:
    cardinal.set_policy("nonsense: true")
    cardinal.catch_up()
    commit = cardinal.set_policy(POLICY)
    cardinal.catch_up()
    assert checks(cardinal, commit)[0][0] == "success"


def test_a_policy_that_is_read_again_unchanged_says_nothing(cardinal: Cardinal) -> None:
    cardinal.set_policy("nonsense: true")
    cardinal.catch_up()
    before = cardinal.count()
    for _ in range(3):
        board.refresh(cardinal.services)
    assert cardinal.count() == before
    assert len(cardinal.events(PolicyRejected)) == 1


def test_without_a_file_the_default_board_applies(cardinal: Cardinal) -> None:
    repos, alice = cardinal.forge.store.repos, cardinal.person("alice")
    repos.write_files(cardinal.home_repo, "main", {".github/cardinal.yml": None}, "Bare", actor=alice)
    cardinal.catch_up()
    assert cardinal.events(PolicyLoaded)[-1].text == ""
    column = cardinal.services.context.policy(cardinal.board_id).column("In Progress")
    assert column is not None
    assert column.plan_required
    assert len(cardinal.events(BoardSeen)) >= 1


def test_a_run_keeps_the_settings_that_it_was_queued_with(cardinal: Cardinal) -> None:
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    kept = cardinal.run_of(item).settings
    cardinal.set_policy(with_column(budget_usd="9"))
    cardinal.catch_up()
    assert cardinal.run_of(item).settings == kept


def test_a_home_repository_out_of_reach_leaves_the_last_good_policy_in_force(cardinal: Cardinal) -> None:
    before = cardinal.events(PolicyLoaded)
    cardinal.forge.store.repos.delete(cardinal.home_repo, actor=cardinal.person("alice"))
    cardinal.sweep()
    assert cardinal.events(PolicyLoaded) == before
    with event_store.reading(cardinal.services.engine) as db:
        assert "Planning" in in_force.in_force(db, cardinal.board_id).board.columns


def test_nothing_starts_while_the_repository_that_was_named_for_the_policy_is_out_of_reach(
    tmp_path: Path,
) -> None:
    dragged: list[Item] = []

    def out_of_reach(cardinal: Cardinal) -> None:
        cardinal.configure(policy_repository="acme/handbook")
        cardinal.set_policy(POLICY.replace("acme/board", "acme/handbook"))
        dragged.append(cardinal.new(column="In Progress"))
        cardinal.catch_up(publish=False)
        assert (cardinal.events(PolicyLoaded), cardinal.ready()) == ([], ())
        cardinal.forge.store.access.rename(cardinal.home_repo, "handbook", actor=cardinal.person("alice"))

    with opened(tmp_path, before=out_of_reach) as cardinal:
        cardinal.clock.forward(60)
        cardinal.catch_up(publish=False)
        assert cardinal.run_of(dragged[0]).agent == "scripted"


def test_a_board_whose_home_repository_never_was_has_the_built_in_policy(tmp_path: Path) -> None:
    def without_home(cardinal: Cardinal) -> None:
        cardinal.forge.store.repos.delete(cardinal.home_repo, actor=cardinal.person("alice"))

    with opened(tmp_path, before=without_home) as cardinal:
        assert [(event.text, event.commit) for event in cardinal.events(PolicyLoaded)] == [("", "")]
        item = cardinal.new(column="Tasks")
        cardinal.catch_up()
        assert cardinal.card(item).column == "Tasks"


def propose(cardinal: Cardinal, text: str, branch: str = "other-rules") -> str:
    """Commit a policy file to a branch, as Alice; return the commit."""
    repos, alice = cardinal.forge.store.repos, cardinal.person("alice")
    repos.create_ref(
        cardinal.home_repo, f"refs/heads/{branch}", repos.commit_of(cardinal.home_repo, "main"), actor=alice
    )
    files: dict[str, bytes | None] = {".github/cardinal.yml": text.encode()}
    return repos.write_files(cardinal.home_repo, branch, files, "Other rules", actor=alice)


def test_a_branch_with_another_policy_says_what_it_would_change_and_changes_nothing(
    cardinal: Cardinal,
) -> None:
    before = cardinal.services.context.policy(cardinal.board_id)
    hostile = "  repositories: {labels: {'`|<b>@alice': acme/shop}}\n"
    commit = propose(cardinal, with_column(budget_usd="7.5") + hostile)
    cardinal.catch_up()
    ((conclusion, summary),) = checks(cardinal, commit)
    assert conclusion == "success"
    row, *settings = [line for line in summary.splitlines() if line.startswith("| `")]
    assert row.startswith("| `In Progress` | 0 |")
    assert "up to $7.50" in row.split("|")[4]
    assert "up to $7.50" not in row.split("|")[3]
    assert settings == [
        "| `In Progress: budget_usd` | `2.0` | `7.5` |",
        "| `board.repositories.labels.´\\|<b>@alice` | `not set` | `acme/shop` |",
    ]
    assert cardinal.services.context.policy(cardinal.board_id) == before
    cardinal.catch_up()
    assert len(cardinal.events(PolicyProposed)) == len(checks(cardinal, commit)) == 1
    cardinal.assert_nothing_is_stuck()


def test_a_bad_policy_on_a_branch_is_refused_before_it_is_merged(cardinal: Cardinal) -> None:
    commit = propose(cardinal, "nonsense: true")
    cardinal.catch_up()
    ((conclusion, summary),) = checks(cardinal, commit)
    assert (conclusion, "nonsense" in summary) == ("failure", True)
    assert cardinal.events(PolicyRejected) == []
    merged = cardinal.set_policy("nonsense: true")  # as a merge would
    cardinal.catch_up()
    assert checks(cardinal, merged)[0][0] == "failure"
    assert len(cardinal.events(PolicyRejected)) == 1
