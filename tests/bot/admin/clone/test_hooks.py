"""Git's hooks in somebody's clone, and on a git server of one's own: real pushes, real commits."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from bot.admin.clone import hooks
from bot.admin.trial import trial
from bot.cli import main
from tests.bot.admin.clone.conftest import POLICY, Hooks, commit, every_byte, tried
from tests.bot.admin.clone.shapes import history
from tests.runner.world import git

SAYS = "#!/bin/sh\necho there before >&2\n"
HISTORY_MB = (0, pytest.param(1024, marks=[pytest.mark.soak, pytest.mark.timeout(600)]))


@pytest.fixture(params=HISTORY_MB, ids="{} MB".format)
def grown(clone: Path, request: pytest.FixtureRequest) -> None:
    """Both branches with that much history, which no compression makes smaller; a later `origin` has it."""
    history(clone, request.param)
    git(clone, "merge", "--quiet", "--ff-only", "main")


def test_a_push_that_the_gate_would_refuse_is_held_with_the_way_past(
    clone: Path, origin: Path, cardinal: Hooks
) -> None:
    said = cardinal("install").output
    assert "A push is checked with `test -f made`, then by the guards, by the policy at " in said
    commit(clone, answer="right, too")
    done = tried(clone, "push", "origin", "work")
    assert done.returncode == 0, done.stderr
    assert "$ test -f made: passed" in done.stderr
    assert "right answer" not in done.stderr  # of the full tier
    commit(clone, policy=POLICY.replace("touch made", "echo"))
    assert tried(clone, "push", "origin", "work:main").returncode == 0  # by the policy that is there
    git(clone, "fetch", "--quiet", "origin")
    commit(clone, answer="right, again")
    done = tried(clone, "push", "origin", "work")
    assert done.returncode == 1
    assert "$ test -f made: failed, exit code 1" in done.stderr
    assert "git push --no-verify" in done.stderr
    assert not re.search("[0-9a-f]{40}", done.stderr)  # digests are for a second look, with `cardinal check`
    assert tried(clone, "push", "--no-verify", "origin", "work").returncode == 0


@pytest.mark.usefixtures("grown")
def test_a_push_with_nothing_to_check_starts_no_cardinal(clone: Path, origin: Path, tmp_path: Path) -> None:
    hooks.install_hooks(clone, os.environ)  # with the program that is installed here
    hook = clone / ".git/hooks/pre-push"
    started = tmp_path / "started"
    hook.write_text(hook.read_text().replace('"$cardinal" hooks', f'touch {started}; "$cardinal" hooks'))
    commit(clone, answer="right, too")
    git(clone, "tag", "v1", "HEAD~1")
    for words in (("v1",), ("HEAD~1:refs/heads/copy",), ("--delete", "copy")):
        assert tried(clone, "push", "origin", *words).returncode == 0
        assert not started.exists()
    assert "$ test -f made: passed" in tried(clone, "push", "origin", "work").stderr
    assert started.exists()


@pytest.mark.parametrize(
    ("program", "said"), [("/nowhere", "is gone, so nothing was"), ("/bin/false", "failed, so nothing was")]
)
def test_a_hook_whose_cardinal_is_gone_or_broken_says_so_and_blocks_nothing(
    clone: Path, origin: Path, cardinal: Hooks, program: str, said: str
) -> None:
    cardinal("install")
    hook = clone / ".git/hooks/pre-push"
    hook.write_text(re.sub("^cardinal=.*", f"cardinal={program}", hook.read_text(), flags=re.MULTILINE))
    commit(clone, answer="right, too")
    done = tried(clone, "push", "origin", "work")
    assert (done.returncode, f"{program} {said} checked" in done.stderr) == (0, True)


@pytest.mark.parametrize(
    ("checks", "step"),
    [
        ('{full: ["true"]}', "move those of `full` that take seconds there"),
        ("none", "name some that take seconds. `cardinal policy propose` looks for them"),
    ],
)
def test_where_no_check_is_quick_the_status_says_that_the_guards_are_alone(
    clone: Path, origin: Path, cardinal: Hooks, checks: str, step: str
) -> None:
    commit(clone, policy=f"version: 1\nrepository: {{validation: {checks}}}\n")
    git(clone, "push", "--quiet", "origin", "work:main")
    cardinal("install")
    said = cardinal("status").output
    assert "A push is judged by the guards alone" in said
    assert f"names no `fast` checks, so {step}" in said


def test_a_push_that_cannot_be_checked_says_why_and_goes_on(
    clone: Path, origin: Path, cardinal: Hooks
) -> None:
    commit(clone, policy="version: 2\n")
    git(clone, "push", "--quiet", "origin", "work:main")
    assert (
        "A push is not checked here, the gate will: the policy file is not valid"
        in cardinal("install").output
    )
    commit(clone, answer="right, too")
    done = tried(clone, "push", "origin", "work")
    assert done.returncode == 0
    assert "not checked here, but the gate will check it: the policy file is not valid" in done.stderr


def test_without_a_committed_policy_a_push_is_judged_only_where_the_clone_has_a_board(
    clone: Path, origin: Path, cardinal: Hooks
) -> None:
    git(clone, "rm", "--quiet", ".github/cardinal.yml")
    commit(clone, answer="none")
    git(clone, "branch", "--force", "main")
    git(clone, "push", "--quiet", "origin", "work:main")
    git(clone, "fetch", "--quiet", "origin")
    assert "There is no policy here, so pushes are not checked" in cardinal("install").output
    commit(clone, answer="wrong")
    assert "Cardinal" not in tried(clone, "push", "origin", "work").stderr
    place = trial.find(clone, "main")
    trial.write(place, "scripted", None, {})
    with (place.folder / trial.POLICY).open("a") as file:
        file.write('  repositories: {without_policy: {validation: {fast: ["grep -q right answer"]}}}\n')
    assert "No policy" not in cardinal("status").output
    commit(clone, answer="wrong, too")
    done = tried(clone, "push", "origin", "work")
    assert (done.returncode, "$ grep -q right answer: failed" in done.stderr) == (1, True), done.stderr


def test_the_pre_commit_framework_has_a_hook_that_judges_what_it_pushes(
    clone: Path,
    origin: Path,
    program: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    (offered,) = yaml.safe_load(Path(".pre-commit-hooks.yaml").read_text())
    monkeypatch.chdir(clone)
    monkeypatch.setattr(sys, "executable", str(program))  # the hook calls the `cardinal` beside it
    monkeypatch.setenv("PRE_COMMIT_FROM_REF", git(clone, "rev-parse", "main"))
    monkeypatch.setenv("PRE_COMMIT_TO_REF", commit(clone, answer="right, too"))
    for branch, said in (("", True), ("refs/heads/work", True), ("refs/tags/v1", False)):
        monkeypatch.setenv("PRE_COMMIT_REMOTE_BRANCH", branch)
        assert CliRunner().invoke(main, offered["entry"].split()[1:]).exit_code == 0
        assert ("$ test -f made: passed" in capfd.readouterr().err) is said


@pytest.mark.parametrize(
    ("branch", "trailer"),
    [
        ("cardinal/12-carts", "Cardinal-Card: #12"),
        ("work", ""),
        ("cardinal/board-12-carts", ""),
        ("cardinal/1x-carts", ""),
    ],
)
def test_a_commit_on_a_cards_branch_names_the_card_once(
    clone: Path, cardinal: Hooks, branch: str, trailer: str
) -> None:
    cardinal("install")
    git(clone, "switch", "--quiet", "--force-create", branch)
    for args in (("--message", "Sum"), ("--amend", "--no-edit")):
        assert tried(clone, "commit", "--allow-empty", *args).returncode == 0
    message = git(clone, "log", "-1", "--format=%B")
    assert message.count("Cardinal-Card") == bool(trailer)
    assert trailer in message


@pytest.mark.usefixtures("grown")
def test_another_policy_is_told_after_a_checkout_and_a_merge(clone: Path, cardinal: Hooks) -> None:
    cardinal("install")
    commit(clone, policy=f"{POLICY}\n")
    for args in (("switch", "main"), ("merge", "work")):
        assert "Cardinal: the policy differs here." in tried(clone, *args).stderr
    commit(clone, answer="right, too")
    assert "policy" not in tried(clone, "switch", "work").stderr


def test_hooks_that_are_there_are_called_first_and_come_back(
    clone: Path, origin: Path, cardinal: Hooks
) -> None:
    theirs = clone / ".git/hooks/pre-push"
    theirs.write_text(SAYS)
    theirs.chmod(0o755)
    for _ in range(2):
        assert "pre-push also runs the hook that was there before" in cardinal("install").output
    commit(clone, answer="right, too")
    done = tried(clone, "push", "origin", "work")
    assert "there before" in done.stderr
    assert "$ test -f made: passed" in done.stderr
    theirs.with_name("pre-push.before-cardinal").write_text("#!/bin/sh\nexit 3\n")
    commit(clone, answer="right, again")
    assert tried(clone, "push", "origin", "work").returncode == 1
    theirs.with_name("pre-push.before-cardinal").write_text(SAYS)
    cardinal("uninstall")
    assert theirs.read_text() == SAYS
    assert [path.name for path in theirs.parent.iterdir() if not path.name.endswith(".sample")] == [
        "pre-push"
    ]


def test_a_link_that_leads_nowhere_is_kept_and_nothing_is_written_behind_it(
    clone: Path, cardinal: Hooks, tmp_path: Path
) -> None:
    theirs = clone / ".git/hooks/pre-push"
    theirs.symlink_to(tmp_path / "elsewhere")
    cardinal("install")
    assert not theirs.is_symlink()
    assert not (tmp_path / "elsewhere").exists()
    cardinal("uninstall")
    assert theirs.readlink() == tmp_path / "elsewhere"


@pytest.mark.usefixtures("grown")
def test_installing_and_taking_out_leaves_every_byte_as_it_was(clone: Path, cardinal: Hooks) -> None:
    before = every_byte(clone)
    cardinal("install")
    assert every_byte(clone) != before
    assert git(clone, "status", "--porcelain") == ""
    cardinal("uninstall")
    assert every_byte(clone) == before


@pytest.mark.parametrize(
    ("managed", "manager"), [(".husky/_", ".husky/pre-push"), ("hooks", "hooks/pre-push")]
)
def test_where_others_look_after_the_hooks_the_line_to_add_is_said(
    clone: Path, origin: Path, cardinal: Hooks, managed: str, manager: str
) -> None:
    git(clone, "config", "core.hooksPath", managed)
    before = git(clone, "status", "--porcelain", "--ignored")
    output = cardinal("install").output
    line = next(text for text in output.splitlines() if f"to {clone}/{manager}: " in text).rpartition(": ")[2]
    assert git(clone, "status", "--porcelain", "--ignored") == before
    file = clone / manager
    (clone / managed).mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{line}\n")
    file.chmod(0o755)
    if managed != "hooks":  # husky's own file calls that one
        (clone / managed / "pre-push").write_text(f'#!/bin/sh\nexec "{file}" "$@"\n')
        (clone / managed / "pre-push").chmod(0o755)
    assert cardinal("status", "--json").output.count('"installed"') == 1
    commit(clone, answer="right, too")
    assert "$ test -f made: passed" in tried(clone, "push", "origin", "work").stderr


@pytest.mark.parametrize(
    ("first", "last", "trouble"),
    [
        ("", "echo lint is fine >&2", ""),
        ("set -e", 'test "$(wc -l)" = 1', ""),
        ("cat > /dev/null", "", "consumes the list of branches, so only HEAD is checked"),
        ("exit 0", "", "ended before Cardinal's line: put the line first"),
        ("false || exit", "", "failed before Cardinal's line: put the line first"),
    ],
)
def test_a_refusal_holds_the_push_wherever_the_line_stands_in_a_teams_hook_or_status_says_why_not(
    clone: Path, origin: Path, cardinal: Hooks, first: str, last: str, trouble: str
) -> None:
    commit(clone, policy=POLICY.replace("touch made", "echo"))
    assert tried(clone, "push", "origin", "work:main").returncode == 0
    git(clone, "fetch", "--quiet", "origin")
    git(clone, "config", "core.hooksPath", "hooks")
    output = cardinal("install").output
    line = next(text for text in output.splitlines() if "/hooks/pre-push: " in text)
    line = line.partition("/hooks/pre-push: ")[2]
    file = clone / "hooks/pre-push"
    file.parent.mkdir()
    file.write_text(f"#!/bin/sh\n{first}\n{line}\n{last}\n")
    file.chmod(0o755)
    status = cardinal("status").output
    assert trouble in status
    assert bool(trouble) is ("put the line" in status)
    commit(clone, answer="right, again")
    done = tried(clone, "push", "origin", "work")
    held = "The gate would refuse it" in done.stderr
    assert held is (not trouble or "HEAD" in trouble), done.stderr
    assert done.returncode == (1 if held or "failed" in trouble else 0)


def test_a_line_that_loses_the_refusal_is_found_by_status(clone: Path, origin: Path, cardinal: Hooks) -> None:
    git(clone, "config", "core.hooksPath", "hooks")
    cardinal("install")
    file = clone / "hooks/pre-push"
    file.parent.mkdir()
    file.write_text('#!/bin/sh\n"$(git rev-parse --git-common-dir)/cardinal-hooks/pre-push" "$@"\ntrue\n')
    file.chmod(0o755)
    assert "ignores the refusal, so every push goes through: use this line" in cardinal("status").output


def be_strict(clone: Path) -> None:
    """Have a policy on `main` by which no large file leaves."""
    strict = POLICY.replace("  setup", "  guardrails: {large_files: deny, max_file_kb: 1}\n  setup")
    commit(clone, policy=strict)
    git(clone, "push", "--quiet", "origin", "work:main")


def test_a_server_refuses_what_a_guard_denies_by_the_policy_it_has(
    clone: Path, origin: Path, cardinal: Hooks
) -> None:
    be_strict(clone)
    assert [place.name for place in hooks.places(origin, {})] == ["pre-receive"]
    cardinal("install", folder=origin)
    commit(clone, policy=POLICY, small="x")
    assert tried(clone, "push", "origin", "work").returncode == 0
    head = git(clone, "rev-parse", "HEAD")
    commit(clone, large="x" * 2000)
    for force in ((), ("--no-verify",)):
        done = tried(clone, "push", *force, "origin", "work")
        assert done.returncode == 1
        assert "Cardinal refuses this push: 'large'" in done.stderr
    assert git(origin, "rev-parse", "work") == head
    hook = origin / "hooks/pre-receive"
    hook.write_text(hook.read_text().replace("/cardinal\n", "/nowhere\n", 1))
    assert "whoever runs this server" in tried(clone, "push", "origin", "work").stderr


def test_as_update_a_server_refuses_the_one_branch_and_takes_the_other(
    clone: Path, origin: Path, cardinal: Hooks
) -> None:
    be_strict(clone)
    cardinal("install", folder=origin)
    cardinal("install", "--update", folder=origin)
    cardinal("install", folder=origin)  # again keeps what was chosen
    assert [(hook.name, hook.state) for hook in hooks.places(origin, {})] == [("update", "installed")]
    assert not (origin / "hooks/pre-receive").exists()
    good = commit(clone, small="x")
    commit(clone, large="x" * 2000)
    done = tried(clone, "push", "origin", f"{good}:refs/heads/good", "HEAD:refs/heads/bad")
    assert done.returncode == 1
    assert done.stderr.count("Cardinal refuses this push: 'large'") == 1
    assert git(origin, "branch", "--list", "--format=%(refname:short)", "good", "bad") == "good"
    cardinal("uninstall", folder=origin)
    assert not (origin / "hooks/update").exists()


def test_a_server_judges_the_commits_of_tags_and_takes_more_than_five_branches(
    clone: Path, origin: Path, cardinal: Hooks
) -> None:
    be_strict(clone)
    cardinal("install", folder=origin)
    commit(clone, small="x")
    git(clone, "tag", "light")
    git(clone, "tag", "--annotate", "--message", "Good", "v1")
    refs = [f"HEAD:refs/heads/many/{number}" for number in range(6)]
    assert tried(clone, "push", "origin", *refs, "light", "v1").returncode == 0
    commit(clone, large="x" * 2000)
    git(clone, "tag", "--force", "light")
    git(clone, "tag", "--force", "--annotate", "--message", "Bad", "v1")
    git(clone, "tag", "--annotate", "--message", "Of a tag", "v2", "v1")
    git(clone, "tag", "file", "HEAD:small")
    done = tried(clone, "push", "--force", "origin", "light", "v1", "v2", "refs/tags/file")
    assert done.returncode == 1
    assert done.stderr.count("Cardinal refuses this push: 'large'") == 3
    assert "Cardinal refuses this push: the tag does not point to a commit" in done.stderr
    assert git(origin, "tag", "--list").split() == ["light", "v1"]
    assert git(origin, "rev-parse", "v1^{commit}") == git(origin, "rev-parse", "many/0")


def test_a_server_without_a_commit_takes_the_first_push_and_then_a_head_is_needed(
    clone: Path, cardinal: Hooks, tmp_path: Path
) -> None:
    empty = tmp_path / "empty.git"
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=trunk", str(empty))
    cardinal("install", folder=empty)
    assert tried(clone, "push", str(empty), "main").returncode == 0
    commit(clone, answer="right, too")
    done = tried(clone, "push", str(empty), "work")
    assert done.returncode == 1
    assert "git symbolic-ref HEAD refs/heads/" in done.stderr
    git(empty, "symbolic-ref", "HEAD", "refs/heads/main")
    assert tried(clone, "push", str(empty), "work").returncode == 0


def handed_over(hook: Path, folder: Path, given: str) -> str:
    """Return what a hook gives to Cardinal's program for these lines of git."""
    hook.write_text(hook.read_text().replace('"$cardinal" hooks', "printf '%s\\n'"))
    args = (str(hook), "origin", "there")
    return subprocess.run(
        args, cwd=folder, input=given, capture_output=True, text=True, timeout=60, check=True
    ).stdout


def test_many_branches_at_once_are_looked_at_within_a_bound(
    clone: Path, origin: Path, cardinal: Hooks
) -> None:
    cardinal("install")
    head = git(clone, "rev-parse", "HEAD")
    fresh = commit(clone, answer="right, too")
    given = "".join(f"HEAD {fresh} refs/heads/many/{number} {head}\n" for number in range(4_000))
    assert handed_over(clone / ".git/hooks/pre-push", clone, given).count(head) == 6
    cardinal("install", folder=origin)
    given = "".join(f"{'0' * 40} {head} refs/heads/many/{number}\n" for number in range(4_000))
    assert handed_over(origin / "hooks/pre-receive", origin, given).count(head) == 51
