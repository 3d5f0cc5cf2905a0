"""`cardinal check`: the gate on a commit of somebody's own clone."""

import fcntl
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bot.admin.clone.check import PREFIX
from bot.admin.trial import trial
from bot.cli import main
from tests.bot.admin.clone.conftest import POLICY, commit, every_byte
from tests.runner.world import git

Check = Callable[..., Result]


@pytest.fixture
def check(clone: Path) -> Check:
    return lambda *words: CliRunner().invoke(main, ("check", "-C", str(clone), *words))


def test_a_commit_that_passes_says_so_with_its_evidence_and_leaves_the_clone_as_it_was(
    clone: Path, check: Check
) -> None:
    head = git(clone, "rev-parse", "HEAD")
    before = every_byte(clone)
    done = check()
    assert done.exit_code == 0, done.output
    assert "would accept it" in done.output
    assert f"head {head}" in done.output
    assert [line.split(": passed")[0] for line in done.output.splitlines() if "passed" in line] == [
        "$ touch made",
        "$ test -f made",
        "$ grep -q right answer",
    ]
    assert every_byte(clone) == before


def test_what_a_killed_check_has_left_is_removed_by_the_next_and_what_a_living_one_has_stays(
    check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("killed", "living", "starting"):
        (tmp_path / f"{PREFIX}{name}/workspaces").mkdir(parents=True)
    (tmp_path / f"{PREFIX}killed/lock").touch()
    with (tmp_path / f"{PREFIX}living/lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert check("--fast").exit_code == 0
    left = {path.name.removeprefix(PREFIX) for path in tmp_path.glob(f"{PREFIX}*")}
    assert left == {"living", "starting"}


def test_a_failure_has_exit_code_1_and_an_agent_would_be_told_the_same(clone: Path, check: Check) -> None:
    commit(clone, answer="wrong")
    done = check("--json")
    assert done.exit_code == 1
    result = json.loads(done.output)
    assert not result["passed"]
    assert [each["exit_code"] for each in result["checks"]] == [0, 0, 1]
    assert "$ grep -q right answer\nexit code 1" in result["agent_view"]
    shown = check("--agent-view")
    assert "This check failed on a clean checkout of your branch:" in shown.output
    assert check("--fast").exit_code == 0


def test_the_policy_of_the_base_counts_and_not_the_commits_own(clone: Path, check: Check) -> None:
    commit(clone, answer="wrong", policy=POLICY.replace("grep -q right answer", "true"))
    assert check().exit_code == 1
    assert check("--base", "work").exit_code == 0


def test_a_set_up_that_fails_without_a_network_says_where_one_is_granted(clone: Path, check: Check) -> None:
    commit(clone, policy=POLICY.replace("touch made", "exit 7"))
    done = check("--base", "work")
    assert done.exit_code == 1
    assert "the column In Progress allows none" in done.output
    granted = "board:\n  columns:\n    In Progress: {archetype: execution, tools: {network: full}}\n"
    commit(clone, policy=POLICY.replace("touch made", "exit 7") + granted)
    assert "allows none" not in check("--base", "work").output
    assert "allows none" not in check("--base", "main").output  # its set-up passes


def test_fast_checks_promise_nothing_about_the_others(clone: Path, check: Check) -> None:
    assert "believed by its exit code alone" in check().output
    commit(clone, answer="wrong")
    said = check("--fast").output
    assert "Nothing refused so far. The gate runs all checks" in said
    assert "would accept it" not in said
    assert "believed" not in said  # no witness: a push waits for the checks alone


def test_a_policy_that_waives_checks_is_named(clone: Path, check: Check) -> None:
    commit(clone, policy="version: 1\nrepository: {validation: none}\n")
    assert "No check ran: the policy names none." in check("--base", "work").output


def test_what_a_guard_denies_is_refused_though_all_checks_pass(clone: Path, check: Check) -> None:
    policy = POLICY.replace("  setup", "  guardrails: {large_files: deny, max_file_kb: 1}\n  setup")
    git(clone, "switch", "--quiet", "main")
    commit(clone, policy=policy)
    git(clone, "switch", "--quiet", "work")
    commit(clone, large="x" * 2000)
    done = check()
    assert done.exit_code == 1
    assert "$ grep -q right answer: passed" in done.output
    assert "The gate would refuse it: 'large'" in done.output


def test_what_is_not_committed_is_not_checked_and_that_is_said(clone: Path, check: Check) -> None:
    (clone / "answer").write_text("wrong")
    done = check()
    assert done.exit_code == 0
    assert "Uncommitted changes are not checked." in done.output


def test_checks_find_the_tags_of_the_clone(clone: Path, check: Check) -> None:
    as_a_person = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    git(clone, *as_a_person, "tag", "-a", "-m", "The first", "v1.0")
    full = ["git describe --tags | grep '^v1.0-1-'", "git tag -l | grep -x 'deep/ü'"]
    git(clone, "tag", "deep/ü")
    commit(clone, policy=f"version: 1\nrepository: {{validation: {{full: {json.dumps(full)}}}}}\n")
    done = check("--base", "HEAD")
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("shape", ["worktree", "detached", "shallow", "borrowing", "subfolder", "newline"])
def test_every_shape_of_a_clone_can_be_checked(clone: Path, tmp_path: Path, shape: str) -> None:
    commit(clone, answer="wrong")
    other = tmp_path / "other"
    match shape:
        case "worktree":
            git(clone, "worktree", "add", "--quiet", "--detach", str(other))
        case "detached":
            git(clone, "switch", "--quiet", "--detach")
            other = clone
        case "shallow":
            git(tmp_path, "clone", "--quiet", "--depth=1", "--no-single-branch", clone.as_uri(), str(other))
        case "borrowing":
            git(tmp_path, "clone", "--quiet", "--shared", str(clone), str(other))
        case "subfolder":
            other = clone / ".github"
        case "newline":
            other = clone.rename(tmp_path / "a\n-rf $(touch x)")
    done = CliRunner().invoke(main, ("check", "-C", str(other)))
    assert done.exit_code == 1, done.output
    assert "$ grep -q right answer: failed, exit code 1" in done.output


@pytest.mark.parametrize(
    ("words", "policy", "because"),
    [
        (("nowhere",), f"{POLICY}\n", "no commit 'nowhere' here"),
        (("--base", "nowhere"), f"{POLICY}\n", "no commit 'nowhere' to compare with"),
        (("--column", "Review"), f"{POLICY}\n", "columns with one: In Progress"),
        (("--base", "work"), "version: 1\n", "names no checks"),
        (("--base", "work"), "version: 2\n", "version"),
    ],
)
def test_what_cannot_be_checked_says_what_to_do(
    clone: Path, check: Check, words: tuple[str, ...], policy: str, because: str
) -> None:
    commit(clone, policy=policy)
    done = check(*words)
    assert done.exit_code == 2
    assert because in done.output


def test_checks_that_are_committed_but_not_on_the_default_branch_are_not_said_to_be_nowhere(
    clone: Path, check: Check
) -> None:
    commit(clone, policy="version: 1\n")
    git(clone, "branch", "empty")
    commit(clone, policy=POLICY)
    refused = check("--base", "empty").output
    lacks = "shop's .github/cardinal.yml names no checks (the policy at empty applies): commit what"
    assert lacks in refused
    assert refused.rstrip().endswith("; `cardinal check --base HEAD` goes by the file of your last commit")
    assert check("--base", "HEAD").exit_code == 0


def test_in_a_clone_with_a_board_its_policy_counts_where_no_file_is_committed(
    clone: Path, check: Check
) -> None:
    git(clone, "switch", "--quiet", "main")
    place = trial.find(clone, "")
    trial.write(place, "scripted", None, {})
    assert "the policy at main and" in check().output.splitlines()[0]
    git(clone, "rm", "--quiet", ".github/cardinal.yml")
    commit(clone, answer="wrong")
    git(clone, "worktree", "add", "--quiet", "--detach", "../other")
    with (place.folder / trial.POLICY).open("a") as file:
        file.write('  repositories: {without_policy: {validation: {full: ["grep -q right answer"]}}}\n')
    for folder in (clone, clone.parent / "other"):
        done = check("-C", str(folder))
        assert done.exit_code == 1, done.output
        assert f"by the board's {place.folder}/policy.yml and the column" in done.output
        assert "$ grep -q right answer: failed" in done.output
    answers = place.folder / trial.ANSWERS
    answers.write_text(answers.read_text().replace(str(place.answers()["made_by"]), "somebody else"))
    assert "shop has no .github/cardinal.yml" in check().output  # it came with an archive: it decides nothing


@pytest.mark.parametrize("shipped", ["a link", "", "[" * 100_000, "no JSON"])
def test_a_board_that_a_repository_brings_along_decides_nothing(
    clone: Path, check: Check, shipped: str
) -> None:
    git(clone, "switch", "--quiet", "main")
    place = trial.find(clone, "")
    trial.write(place, "scripted", None, {})
    file = place.folder / trial.ANSWERS
    if shipped == "a link":  # it could lead to what never ends
        file.rename(clone.parent / "answers")
        file.symlink_to(clone.parent / "answers")
    else:
        file.write_text(shipped)
    git(clone, "rm", "--quiet", ".github/cardinal.yml")
    git(clone, "add", "--force", trial.FOLDER)
    commit(clone, answer="wrong")
    assert "shop has no .github/cardinal.yml" in check().output


def test_a_folder_outside_of_a_repository_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ("check", "-C", str(tmp_path)))
    assert done.exit_code == 2
    assert "go to your clone" in done.output


def test_in_a_monorepo_the_changed_files_decide_which_checks_run(clone: Path, check: Check) -> None:
    path = (
        '  paths: {web/: {setup: [touch ready], validation: {full: ["test -f ready && grep -q new page"]}}}\n'
    )
    git(clone, "switch", "--quiet", "main")
    commit(clone, policy=POLICY + path, **{"web/page": "old"})
    git(clone, "switch", "--quiet", "--create", "paths")
    commit(clone, **{"web/page": "new"})
    done = check()
    assert [line for line in done.output.splitlines() if line.startswith("$")][1:] == [
        line for line in done.output.splitlines() if line.startswith("$ cd web || exit; ")
    ], done.output
    assert done.exit_code == 0, done.output
    assert "No check ran: the policy names no fast ones; `cardinal check` runs all." in check("--fast").output
    commit(clone, answer="wrong")
    assert "grep -q right answer: failed" in check().output


def test_fewer_tests_than_on_the_base_are_a_question_and_the_end_says_so(clone: Path, check: Check) -> None:
    git(clone, "switch", "--quiet", "main")
    policy = "version: 1\nrepository: {validation: {full: [cat summary]}}\n"
    commit(clone, policy=policy, summary="3 passed in 0.01s\n")
    git(clone, "switch", "--quiet", "work")
    git(clone, "rebase", "--quiet", "main")
    commit(clone, summary="2 passed in 0.01s\n")
    done = check()
    assert done.exit_code == 0, done.output
    assert "The guard `tests` asks a person about: 'cat summary' ran 2 tests by pytest" in done.output
    assert done.output.endswith("once a person approves what the guards ask about.\n")
