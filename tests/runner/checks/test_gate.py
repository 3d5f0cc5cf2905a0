"""The full checks see the commit and nothing else: what an agent left lying about cannot help it pass."""

import hashlib
from dataclasses import replace

import pytest

from ledger.events.run import RunStopAsked
from ledger.states import Ending, StopKind
from runner.artifacts.store import store_of
from runner.checks.command import CheckLog
from runner.checks.set_up import may_share
from runner.run.log import RunLog
from runner.run.run_spec import FACTS, PathSpec
from runner.supervisor import execute_run
from runner.workspaces.packages import Packages, write_packages
from tests.runner.flows.test_story import EDIT, FINISH, PLAN
from tests.runner.world import RUN, World, checks, git, limited

IGNORED = {"edit": {"path": ".gitignore", "content": "*.local\n__pycache__/\n"}}
CACHED = """
mkdir -p __pycache__
echo 'answer = 42' > module.py
python3 - <<'PROGRAM'
import py_compile
never_checked = py_compile.PycInvalidationMode.UNCHECKED_HASH
py_compile.compile("module.py", "module.pyc", invalidation_mode=never_checked)
PROGRAM
mv module.pyc __pycache__/module.cpython-$(python3 -c 'import sys; print("%d%d" % sys.version_info[:2])').pyc
echo 'answer = 0' > module.py
"""
CHEATS = {
    "an ignored file": (["test -f secret.local"], {"run": "echo 1 > secret.local"}),
    "a file at home": (["test -f $HOME/helper"], {"run": "echo 1 > $HOME/helper"}),
    "a setting of git": (["git config cheat.passed"], {"run": "git config cheat.passed yes"}),
    "a hook of git": (["test -x .git/hooks/cheat"], {"run": "cp /bin/true .git/hooks/cheat"}),
    "a file hidden from git": (["test -f hidden"], {"run": "echo hidden >> .git/info/exclude; touch hidden"}),
    "a compiled module": (["python3 -c 'import module; assert module.answer == 42'"], {"run": CACHED}),
    "a change that git is told not to see": (
        ["grep passes README.md"],
        {"run": "git update-index --assume-unchanged README.md; echo passes > README.md"},
    ),
    "a replaced commit": (
        ["test -f replaced"],
        {"run": "git commit -qam x; touch replaced; git add replaced; git commit -qm y; "
                "new=$(git rev-parse HEAD); git reset -q --hard HEAD^; git replace HEAD $new"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("cheat", CHEATS)
def test_what_is_not_in_the_commit_does_not_help_to_pass(world: World, cheat: str) -> None:
    full, trick = CHEATS[cheat]
    world.scenario(plan=[PLAN], work=[IGNORED, EDIT, {"commit": "Hello"}, trick, FINISH])
    spec = world.spec(validation=checks(full=full), limits=limited(iterations=1))
    assert world.run(spec).why == "limit"
    assert world.of("CommandChecked")[-1].exit_code != 0
    assert world.of("BranchPushed") == []


def test_set_up_runs_in_the_gate_too_is_evidence_and_knows_its_card_as_agent_and_checks_do(
    world: World,
) -> None:
    branch, names = "cardinal/12-$(id);'\"", " ".join(f'"${name}"' for name in FACTS)
    setup, full = f"printf '%s|' {names} > made.txt", f"printf '%s|' {names} | cmp - made.txt"
    agent = {"run": f"printf '%s|' {names} | tee hello.txt | cmp - made.txt"}
    world.scenario(plan=[PLAN], work=[EDIT, agent, {"commit": "Hello"}, FINISH])
    world.run(world.spec(validation=checks(setup=[setup], full=[full]), branch=branch, pull=None))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert [(check.command, check.tier) for check in world.of("CommandChecked")] == [
        (setup, "full"),
        (full, "full"),
    ]
    assert world.show("hello.txt", branch) == f"PVTI_1|12||{branch}|r1|"


def test_set_up_that_names_its_card_has_no_result_for_others() -> None:
    assert may_share(("make prepare",))
    assert not may_share(("make prepare", "createdb shop_$CARDINAL_ISSUE"))


@pytest.mark.parametrize("below", ["", "hello"])
def test_where_packages_of_a_clone_stand_for_the_set_up_the_gate_runs_without_it(
    world: World, below: str
) -> None:
    (world.root / "clone" / ".venv").mkdir(parents=True)
    (world.root / "clone" / ".venv" / "pyvenv.cfg").touch()
    file = world.root / "packages.json"
    write_packages(file, Packages(str(world.root / "clone"), {"home/venv": ".venv"}, ("echo > ~/venv/new",)))
    spec = checks(setup=["echo > ~/venv/new", "true"], full=["test -f ~/venv/pyvenv.cfg"])
    path = PathSpec("hello", ".", spec.setup, spec.fast, spec.full)
    validation = replace(spec, setup=(), paths=(path,)) if below else spec
    world.scenario(plan=[PLAN], work=[{"edit": {"path": f"{below or '.'}/x", "content": "x\n"}}, FINISH])
    world.run(world.spec(validation=validation, paths=replace(world.places, packages=file)))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert [check.command for check in world.of("CommandChecked")] == ["true", "test -f ~/venv/pyvenv.cfg"]


def test_evidence_names_the_commits_and_its_log_can_be_looked_up(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, FINISH])
    token = "ghp_" + "a" * 36
    world.run(world.spec(validation=checks(fast=["true"], full=[f"echo before; echo {token} >&2; exit 0"])))
    fast, full = world.of("CommandChecked")
    assert {fast.head, full.head} == {world.head()}
    assert {fast.base, full.base} == {world.head("main")}
    assert [(one.head, one.base) for one in world.of("ValidationEnded")] == [
        (world.head(), world.head("main"))
    ] * 2
    kept = store_of(world.places).read(full.log_digest) or b""
    assert sorted(kept.decode().split()) == ["[redacted]", "before"]
    assert hashlib.sha256(kept).hexdigest() == full.log_digest


def test_the_gates_place_is_gone_afterwards(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, FINISH])
    world.run(world.spec(validation=checks(full=["touch left"])))
    assert [place.name for place in world.places.workspaces.iterdir()] == ["PVTI_1"]


def test_the_gate_stands_on_the_branch_beside_its_base(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, FINISH])
    line = 'test "$(git branch --show-current)" = cardinal/12-hello && git diff --name-only origin/main HEAD'
    world.run(world.spec(validation=checks(full=[line])))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert world.only("CommandChecked").tail == "hello.txt"


def test_a_gate_is_stopped_like_everything_else_and_leaves_nothing(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, FINISH])
    claimed, log = world.claim(world.spec(validation=checks(full=["sleep 60"])))

    class Watched(RunLog):
        """Cancels once the gate stands."""

        def beat(self) -> None:
            if (
                world.places.workspaces / "gate-PVTI_1" / "repo" / "hello.txt"
            ).exists() and not self.history.stop:
                world.write(RunStopAsked(RUN, StopKind.CANCEL, "ann", ""))
            super().beat()

    log.__class__ = Watched
    execute_run(claimed, log, world.remote, world.clock)
    assert world.ended().ending is Ending.CANCELLED
    assert not (world.places.workspaces / "gate-PVTI_1").exists()


def test_a_commit_that_appears_behind_the_gates_back_is_not_published(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, FINISH])
    claimed, log = world.claim(world.spec(validation=checks(full=["true"])))

    class Tampered(RunLog):
        """Moves the workspace's branch once the gate has passed it."""

        def append(self, *events: object) -> None:
            super().append(*events)  # type: ignore[arg-type]
            if any(getattr(event, "after", "") == "publishing" for event in events):
                repo = world.places.workspaces / "PVTI_1" / "repo"
                git(repo, "-c", f"safe.directory={repo}", "commit", "--allow-empty", "-qm", "Sneaked in")

    log.__class__ = Tampered
    execute_run(claimed, log, world.remote, world.clock)
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    (pushed,), (passed,) = world.of("BranchPushed"), world.of("ValidationEnded")
    assert pushed.head == passed.head == git(world.origin, "rev-parse", pushed.branch)


def test_a_log_over_its_cap_keeps_its_beginning_and_its_end(world: World) -> None:
    log, store = CheckLog(cap_bytes=200), store_of(world.places)
    for number in range(100):
        log.add(f"line {number}")
    kept = (store.read(log.keep(store).digest) or b"").decode().splitlines()
    assert (kept[0], kept[-1]) == ("line 0", "line 99")
    assert sum("bytes are left out" in line for line in kept) == 1
    assert sum(map(len, kept)) < 300
