"""The shop that agents cheat in, with the guardrails of a policy that says nothing, and what leaves it."""

import dataclasses
import difflib
import subprocess
from typing import Any

from ledger.events.guard import Violation
from ledger.states import Ending
from rules.policy.repository import Guardrails
from runner.git.mirror import Mirror
from runner.guards import builtin
from runner.guards.contract import NOTHING, Change, Message, Touched
from runner.guards.diff import Known, change_of
from runner.phases.guard import violations
from runner.run.run_spec import Guards, RunSpec
from tests.runner.flows.test_story import FINISH, PLAN
from tests.runner.world import BRANCH, GIT_ENVIRONMENT, REPOSITORY, World, checks, git

PLAIN = "100644"
TESTS = """\
import unittest

from cart import total


class Carts(unittest.TestCase):
    def test_an_empty_cart_costs_nothing(self):
        self.assertEqual(total([]), 0)

    def test_prices_are_added(self):
        self.assertEqual(total([1, 2]), 3)
        self.assertNotEqual(total([1]), 0)
"""
FILES = {
    "README.md": "A shop.\n",
    "cart.py": "def total(prices):\n    return sum(prices)\n",
    "tests/__init__.py": "",
    "tests/test_cart.py": TESTS,
    "scripts/check": "python3 -m unittest discover -q\n",
    "package.json": '{"scripts": {"test": "node --test"}}\n',
}
CHECKS = ("sh scripts/check",)
BREAK = {"edit": {"path": "cart.py", "content": "def total(prices):\n    return 7\n"}}
COMMIT = {"commit": "Work"}


def defaults(**actions: str) -> Guards:
    """Return the guards of a policy that names no guardrails, but for these."""
    said = Guardrails()
    named = {name: guard.ACTION for name, guard in builtin.GUARDS.all()} | actions
    return Guards(named, said.protect, said.allow, said.max_file_kb)


def run(line: str) -> dict[str, str]:
    """Return the step in which the agent runs a shell line."""
    return {"run": line}


def cheat(world: World, *work: object, repair: tuple[object, ...] = (), **changes: Any) -> RunSpec:
    """Let an agent do this in the shop, which the gate checks, and return its order."""
    world.scenario(plan=[PLAN], work=[*work, COMMIT, FINISH], repair=[*repair, COMMIT])
    given: dict[str, Any] = {"guards": defaults(), "validation": checks(full=CHECKS)}
    spec = world.spec(**(given | changes))
    world.run(spec)
    return spec


def branches(world: World) -> list[str]:
    """Return what GitHub has: every ref of it."""
    return git(world.origin, "for-each-ref", "--format=%(refname)").split()


def nothing_left(world: World) -> bool:
    """Whether GitHub has nothing but its main branch."""
    return branches(world) == ["refs/heads/main"]


def delivered(world: World) -> bool:
    """Whether a run's work was published as a success, which is what makes a pull request ready."""
    return bool(world.of("BranchPushed")) and world.ended().ending is Ending.SUCCEEDED


def prepare(world: World) -> None:
    """Give a world a clone, as an agent has one, and the host's mirror: made once, and copied."""
    git(world.root, "clone", "--quiet", str(world.origin), str(world.root / "clone"))
    world.places.mirrors.mkdir()
    mirror_of(world).fetch("main")


def mirror_of(world: World) -> Mirror:
    """Return the host's mirror of the shop."""
    return Mirror(world.places.mirrors, REPOSITORY, world.remote, lambda: None)


def brought_out(world: World, line: str, *, before: str = "true") -> tuple[Violation, ...]:
    """Return what the guards of a silent policy find in what a shell line makes of the shop, after people
    did what `before` says.
    """
    clone, mirror = world.root / "clone", mirror_of(world)
    _commit(world, before)
    base = git(clone, "rev-parse", "HEAD")
    _commit(world, line)
    git(clone, "push", "--quiet", str(mirror.path), "HEAD:refs/cardinal/r1-head")
    change = change_of(mirror, base, mirror.read_ref("r1-head"), Known((base,), "", ()))
    return violations(change, dataclasses.replace(defaults(), checks=CHECKS))


def _commit(world: World, line: str) -> None:
    """Run a line in the clone, and commit what it left, if it left something."""
    given: dict[str, Any] = {"cwd": world.root / "clone", "env": GIT_ENVIRONMENT | {"LC_ALL": "C.UTF-8"}}
    subprocess.run(("sh", "-ec", line), check=True, timeout=120, **given)
    save = "git add --all --force; git diff --cached --quiet || git commit -qm Work"
    subprocess.run(("sh", "-ec", save), check=True, timeout=120, **given)


def altered(path: str, before: str, after: str) -> Touched:
    """Return one path as a comparison shows it; an empty text is no file."""
    old, new = before.splitlines(), after.splitlines()
    lines: list[tuple[int, str]] = []
    gone: list[str] = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            gone += old[a:b]
            lines += [(number + 1, new[number]) for number in range(c, d)]
    modes = PLAIN if before else NOTHING, PLAIN if after else NOTHING
    return Touched(
        path, *modes, "1" * 40, "2" * 40, size_bytes=len(after), lines=tuple(lines), gone=tuple(gone),
        whole=(before, after),
    )  # fmt: skip


def found(guard: str, *files: Touched, checked_by: tuple[str, ...] = CHECKS) -> list[str]:
    """Return what one guard finds in a change of these files, as `path:line what`."""
    change = Change("b" * 40, "c" * 40, files, (Message("c" * 40, "Work"),))
    rules = Guards({guard: "ask"}, checks=checked_by)
    return [f"{one.path}:{one.line} {one.what}" for one in builtin.load(guard).find_breaches(change, rules)]


__all__ = ["BRANCH", "FINISH", "PLAN", "checks", "git"]
