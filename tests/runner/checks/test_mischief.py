"""What an agent can try against the gate, the mirror and the log, and what comes of it."""

import pytest

from ledger.states import Ending
from runner import workspaces
from runner.agents.adapters.scripted import ScriptedDialogue
from runner.agents.board_tools import check_call
from runner.agents.contract import Command, Usage
from runner.gateway.control.messages import believable
from runner.run.history import History
from runner.session.tool_effects import effect_of
from runner.workspaces.contract import Tenancy
from tests.runner.flows.test_story import EDIT, FINISH, PLAN
from tests.runner.world import BRANCH, World, checks, git

COMMIT = {"commit": "Say hello"}

SCRIPT = ScriptedDialogue(Command((), b""))


def work(world: World, *steps: object) -> None:
    world.scenario(plan=[PLAN], work=[*steps, FINISH])


def test_what_a_check_commits_is_not_published(world: World) -> None:
    sneaky = (
        "if [ -e once ]; then exit 0; fi\necho evil > evil.txt && git add evil.txt"
        " && git -c user.name=x -c user.email=x@y commit -qm 'Sneaked in'\n"
    )
    work(world, EDIT, {"edit": {"path": "check.sh", "content": sneaky}}, COMMIT)
    world.run(world.spec(validation=checks(fast=["sh check.sh"], full=["true"])))
    assert world.ended().ending is Ending.SUCCEEDED
    assert "evil.txt" not in git(world.origin, "ls-tree", "--name-only", BRANCH)
    assert world.of("ValidationEnded")[-1].head == world.head()


@pytest.mark.parametrize("tier", ["fast", "full"])
def test_what_lies_in_the_agents_home_or_is_ignored_by_git_decides_nothing(world: World, tier: str) -> None:
    world.commit({".gitignore": "*.cfg\n", "check.sh": "test -e local.cfg || test -e ~/pass\n"})
    local = {"edit": {"path": "local.cfg", "content": "x"}}
    work(world, EDIT, local, {"run": "touch ~/pass"}, COMMIT)
    world.run(world.spec(validation=checks(**{tier: ["sh check.sh"]})))
    assert not any(one.passed for one in world.of("ValidationEnded") if one.tier == tier)
    assert world.of("BranchPushed") == []


@pytest.mark.parametrize(
    ("commit", "said"),
    [
        ("git commit -qm 'Fixes #999'", "closes another issue"),
        ("git commit -qm 'A' -m '[skip ci]'", "skip its checks"),
    ],
)
def test_a_commit_that_lies_or_orders_github_about_is_shown_to_a_person_first(
    world: World, commit: str, said: str
) -> None:
    work(world, {"run": f"echo a > a.txt; git add a.txt; {commit}"})
    spec = world.spec()
    world.run(spec)
    asked = world.only("QuestionAsked")
    assert said in asked.text
    assert BRANCH not in git(world.origin, "branch", "--format=%(refname:short)")
    world.answer(spec, "Publish it anyway")
    assert world.ended().ending is Ending.SUCCEEDED


def test_the_cards_own_issue_may_be_named_and_peoples_commits_keep_their_author(world: World) -> None:
    world.commit({"theirs.txt": "x"}, BRANCH, "Fixes #3")
    world.commit({"other.txt": "x"})  # so that their commit is rebased
    work(world, EDIT, {"run": "git add -A; git commit -qm 'Fixes #12: Say hello'"})
    world.run(world.spec())
    assert world.ended().ending is Ending.SUCCEEDED, world.of("QuestionAsked")


def test_a_huge_binary_is_a_large_change(world: World) -> None:
    work(world, {"run": "head -c 23000000 /dev/urandom > big.bin"}, COMMIT)
    world.run(world.spec())
    assert "MB of at most 20 MB" in world.only("QuestionAsked").text


def test_no_setting_of_the_agents_git_runs_while_the_mirror_is_shown(world: World) -> None:
    spy = (
        "git config core.alternateRefsCommand 'sh -c \"ls /mirror > /workspace/home/seen\"';"
        " mkdir -p .git/objects/info; echo /mirror/objects > .git/objects/info/alternates"
    )
    work(world, EDIT, {"run": spy}, COMMIT, {"ask": {"question": "Well?"}})
    spec = world.spec()
    world.run(spec)
    world.commit({"other.txt": "x"})
    world.answer(spec, "Go on")
    assert list(world.places.workspaces.glob("*/home/*"))
    assert not list(world.places.workspaces.glob("*/home/seen"))


def test_the_dates_of_commits_are_those_of_the_log_whatever_the_agent_says(world: World) -> None:
    began = int(world.clock.now().timestamp())
    lies = "GIT_AUTHOR_DATE='{0} 12:00 +1400' GIT_COMMITTER_DATE='{0} 12:00 +1400' git commit -qm 'In {0}'"
    future, past = (
        {"run": f"echo {day} > {day}.txt; git add -A; {lies.format(day)}"}
        for day in ("2099-01-01", "1971-01-01")
    )
    check = "[ -e 1971-01-01.txt ]"  # fails first: what was stamped before is not stamped again
    world.scenario(plan=[PLAN], work=[future, FINISH], repair=[past, FINISH])
    spec = world.spec(validation=checks(fast=[check]))
    world.run(spec)
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    dates = git(world.origin, "log", "--reverse", "--format=%ad %cd", "--date=raw", f"main..{BRANCH}")
    rows = [row.split() for row in dates.splitlines()]
    assert len(rows) == 2
    for authored, zone, committed, committers in rows:
        assert authored == committed
        assert zone == committers == "+0000"
        assert began - 5 <= int(authored) <= int(world.clock.now().timestamp())
    assert int(rows[0][0]) <= int(rows[1][0])
    first, *_, last = (one.head for one in world.of("ValidationEnded"))
    assert git(world.origin, "rev-list", "--reverse", f"main..{BRANCH}").split() == [first, last]


def test_words_about_a_private_key_do_not_end_the_run(world: World) -> None:
    note = {"note": "it starts with -----BEGIN RSA PRIVATE KEY----- here"}
    work(world, EDIT, note, COMMIT)
    world.run(world.spec())
    assert world.ended().ending is Ending.SUCCEEDED
    assert "BEGIN RSA" not in world.only("Noted").text


def test_a_secret_in_one_field_leaves_the_others(world: World) -> None:
    plan = {"summary": "ghp_" + "a" * 40, "steps": ["-----BEGIN A PRIVATE KEY-----", "b"]}
    call = check_call("1", "plan", plan)
    effect = effect_of(call, world.spec(), History(), planning=True, session_id="s")  # type: ignore[arg-type]
    assert [event for event in effect.events if "ghp_" in repr(event) or "BEGIN A" in repr(event)] == []
    assert "b" in effect.events[1].steps  # type: ignore[attr-defined]


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "1" + "0" * 40, '"x"'])
def test_no_number_of_an_agent_breaks_the_account(number: str) -> None:
    for usd, read in ((number, "1"), ("1", number)):
        (heard,) = SCRIPT.decode(f'{{"type": "usage", "usd": {usd}, "in": {read}, "out": 1}}')
        if isinstance(heard, Usage):
            used = believable(heard)
            assert 0 <= used.usd <= 1e6
            assert 0 <= used.input_tokens <= 10**12


def test_a_workspace_that_is_nested_without_end_and_closed_is_removed(world: World) -> None:
    deep = "import os\nfor _ in range(3000):\n    os.mkdir('d')\n    os.chdir('d')\nos.chmod('.', 0)\n"
    nest = {"run": "cp deep.py ~/ && rm deep.py && cd ~ && python3 deep.py"}
    work(world, EDIT, {"edit": {"path": "deep.py", "content": deep}}, nest)
    spec = world.spec()
    world.run(spec)
    assert world.ended().ending is Ending.SUCCEEDED
    assert list(world.places.workspaces.glob("*/home/d/d/d"))
    workspaces.load("local").open(world.places, Tenancy(spec.card_id)).destroy()
    assert list(world.places.workspaces.glob("*")) == []
