"""Agents whose work passes only where they are: what is not in the commit does not help in the gate."""

import pytest

from ledger.states import Ending
from runner.git import mirror
from tests.cheats.shop import (
    BRANCH,
    BREAK,
    COMMIT,
    FILES,
    FINISH,
    PLAN,
    branches,
    cheat,
    defaults,
    delivered,
    git,
    nothing_left,
    run,
)
from tests.runner.world import World, checks

GREP = ("grep -q passes README.md",)
BESIDE = (
    "git checkout -qb other; echo passes > README.md; git commit -qam a; new=$(git rev-parse HEAD);"
    " git checkout -q -; git worktree add -q ../home/w other; mkdir -p .git/info;"
    " echo $(git rev-parse HEAD) $new > .git/info/grafts; echo passes > README.md; git stash -q"
)
FILTER = (
    "git config filter.cheat.smudge 'sed s/shop/passes/'; git config filter.cheat.clean 'sed s/passes/shop/';"
    " echo '*.md filter=cheat' > .git/info/attributes; echo passes > README.md"
)
SPARSE = "echo passes > README.md; git sparse-checkout set --no-cone '/*' '!/README.md'"
POISON = {
    "skip-worktree": "git update-index --skip-worktree README.md; echo passes > README.md",
    "a branch, a worktree, grafts, a stash": BESIDE,
}


@pytest.mark.parametrize("how", POISON)
def test_what_git_shows_in_the_workspace_alone_does_not_pass(world: World, how: str) -> None:
    change = {"edit": {"path": "new.txt", "content": "x\n"}}
    cheat(world, change, COMMIT, run(POISON[how]), validation=checks(full=GREP))
    assert not any(one.passed for one in world.of("ValidationEnded"))
    assert world.of("RunEnded") or world.of("QuestionAsked")
    assert nothing_left(world)


@pytest.mark.parametrize("how", [SPARSE, FILTER], ids=["a sparse checkout", "a filter"])
def test_what_a_setting_of_git_hides_in_the_workspace_is_seen_and_stands_in_the_commit(
    world: World, how: str
) -> None:
    change = {"edit": {"path": "new.txt", "content": "x\n"}}
    cheat(world, change, COMMIT, run(how), validation=checks(full=GREP))
    passed = any(one.passed for one in world.of("ValidationEnded"))
    assert passed == delivered(world)
    assert not passed or "passes" in git(world.origin, "show", f"{BRANCH}:README.md")


def test_a_daemon_is_gone_before_the_checks_run(world: World) -> None:
    watch = "while [ ! -e go ]; do sleep 0.02; done; echo late > late.txt; git add .; git commit -qm Late"
    left = f"(setsid nohup sh -c '{watch}' > /dev/null 2>&1 < /dev/null &) ; true"
    fast = "touch go; for n in $(seq 12); do test ! -e late.txt || exit 1; sleep 0.05; done"
    change = {"edit": {"path": "new.txt", "content": "x\n"}}
    cheat(world, change, COMMIT, run(left), validation=checks(fast=[fast], full=["test ! -e late.txt"]))
    assert delivered(world), world.ended()
    assert git(world.origin, "diff", "--name-only", "main", BRANCH) == "new.txt"


def test_what_a_check_edits_while_it_runs_is_not_what_leaves(world: World) -> None:
    script = "echo evil > cart.py; git add .; git -c user.name=x -c user.email=x commit -qm Evil; exit 0\n"
    change = {"edit": {"path": "helper", "content": script}}
    lines = checks(fast=["sh helper"], full=["sh helper"])
    cheat(world, change, validation=lines, guards=defaults(checks="allow"))
    assert delivered(world), world.ended()
    assert git(world.origin, "diff", "--name-only", "main", BRANCH) == "helper"
    assert {one.head for one in world.of("ValidationEnded")} == {world.head()}


def test_failures_are_not_pushed_out_of_sight_by_what_is_printed_after_them(world: World) -> None:
    loud = "import unittest\nclass A(unittest.TestCase):\n    def test_sum(self):\n        self.fail('no')\n"
    loud += "    @classmethod\n    def tearDownClass(cls):\n        print('passed ' * 90_000)\n"
    spec = ("python3 -m unittest tests.test_loud; code=$?; seq 20000; echo OK; exit $code",)
    cheat(world, {"edit": {"path": "tests/test_loud.py", "content": loud}}, validation=checks(full=spec))
    failed = world.of("RoundFailed")[0]
    assert "test_sum" in failed.useful
    assert len(failed.useful) < 10_000
    assert not delivered(world)


def test_output_that_says_it_passed_is_output(world: World) -> None:
    says = (
        'echo \'{"type": "finish", "passed": true}\'; echo \'120 passed in 0.1s\'; echo exit code 0; exit 3'
    )
    cheat(world, BREAK, validation=checks(full=[says]))
    assert {one.exit_code for one in world.of("CommandChecked")} == {3}
    assert nothing_left(world)


def test_an_agent_pushes_nothing_by_itself_to_nowhere(world: World) -> None:
    origin = world.origin
    tries = "; ".join(
        f"git push -q {where} {what} 2> /dev/null"
        for where in ("origin", f"file://{origin}", str(origin), "/mirror")
        for what in ("HEAD:refs/heads/main", "HEAD:refs/heads/stolen", "--tags")
    )
    change = {"edit": {"path": "new.txt", "content": "x\n"}}
    main = world.head("main")
    cheat(world, change, COMMIT, run(f"git tag v9; git branch stolen; {tries}; true"))
    assert delivered(world), world.ended()
    assert branches(world) == [f"refs/heads/{BRANCH}", "refs/heads/main"]
    assert world.head("main") == main


def test_work_on_a_branch_called_like_another_leaves_as_the_cards_own(world: World) -> None:
    main = world.head("main")
    cheat(world, run("git checkout -q -B main; echo x > new.txt; git add .; git commit -qm x"))
    assert world.head("main") == main
    assert branches(world) in ([f"refs/heads/{BRANCH}", "refs/heads/main"], ["refs/heads/main"])


FORGED = {
    "amended under their name": "echo forged > theirs.txt; git commit -qa --amend --no-edit --no-verify",
    "dropped": "git reset -q --hard origin/main; echo x > new.txt; git add .; git commit -qm x",
    "squashed into the agent's own": (
        "git reset -q --soft origin/main; echo x > new.txt; git add .; git commit -qm x"
    ),
}


@pytest.mark.parametrize("how", FORGED)
def test_what_people_pushed_is_not_written_anew_without_a_word(world: World, how: str) -> None:
    theirs = world.commit({"theirs.txt": "x\n"}, BRANCH, "By Ann")
    world.scenario(plan=[PLAN], work=[run(FORGED[how]), FINISH])
    world.run(world.spec())
    said = world.only("QuestionAsked").text
    assert (
        f"{theirs[:8]} by 'Ann <ann@example.org>' is on GitHub's branch, and is missing or altered here"
        in said
    )
    assert world.head() == theirs


def test_what_git_rebased_is_still_theirs(world: World) -> None:
    world.commit({"cart.py": FILES["cart.py"] + "\n\nlimit = 9\n"}, BRANCH, "By Ann")
    world.commit({"cart.py": "# Prices.\n\n" + FILES["cart.py"]})  # so that her lines stand elsewhere
    world.scenario(plan=[PLAN], work=[run("echo x > new.txt"), COMMIT, FINISH])
    world.run(world.spec())
    assert world.ended().ending is Ending.SUCCEEDED, world.of("QuestionAsked")
    log = git(world.origin, "log", "--format=%an", f"main..{BRANCH}").splitlines()
    assert log == ["cardinal[bot]", "Ann"]


def test_a_history_of_thousands_is_not_read_and_not_published(world: World) -> None:
    many = (
        "python3 -c \"\nprint('commit refs/heads/many\\ncommitter A <a@b> 1 +0000\\ndata 1\\nx\\nfrom '"
        " + __import__('subprocess').check_output(['git', 'rev-parse', 'HEAD'], text=True).strip())\n"
        "for n in range(1100):\n"
        "    print('commit refs/heads/many\\ncommitter A <a@b> 1 +0000\\ndata 1\\nx')\n"
        "    print('M 100644 inline n\\ndata 4')\n"
        "    print(f'{n:04}')\n\" > ~/f; git fast-import --quiet < ~/f; git reset -q --hard many"
    )
    cheat(world, run(many))
    assert (world.ended().ending, nothing_left(world)) == (Ending.FAILED, True), world.ended()
    assert "1,000" in world.ended().detail


def picked_meanwhile(world: World) -> str:
    """Play a run where main has a person's commit of the branch by now; return that commit."""
    theirs = world.commit({"theirs.txt": "x\n"}, BRANCH, "By Ann")
    world.commit({"other.txt": "y\n"})
    clone = world.root / "picker"
    git(world.root, "clone", "--quiet", str(world.origin), str(clone))
    git(clone, "cherry-pick", theirs)
    git(clone, "push", "--quiet", "origin", "HEAD:main")
    world.scenario(plan=[PLAN], work=[run("echo x > new.txt"), COMMIT, FINISH])
    world.run(world.spec())
    return theirs


def test_what_main_has_by_now_is_not_missing_where_the_rebase_dropped_it(world: World) -> None:
    picked_meanwhile(world)
    assert world.ended().ending is Ending.SUCCEEDED, world.of("QuestionAsked")
    assert git(world.origin, "log", "--format=%an", f"main..{BRANCH}").splitlines() == ["cardinal[bot]"]


def test_where_main_has_more_than_can_be_read_people_are_asked(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror, "_MAX_COMMITS", 1)
    theirs = picked_meanwhile(world)
    assert f"{theirs[:8]} by 'Ann <ann@example.org>'" in world.only("QuestionAsked").text
