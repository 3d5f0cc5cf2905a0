"""Changes that make a red check green by what runs it, and not by what it tests."""

from pathlib import Path
from typing import Any

import pytest

from ledger.events.witness import witness_text
from ledger.rows.limit_answers import PUBLISH_PROTECTED
from ledger.states import Ending
from runner.run.run_spec import Guards, RunSpec
from tests.cheats.shop import BREAK, COMMIT, FINISH, PLAN, delivered, nothing_left, run
from tests.runner.world import World, checks

NO_GUARDS = Guards({})
PYTEST = "PYTHONPATH=lib python3 -m pytest -q tests"
UNITTEST = "python3 -m unittest discover -q"
SCRIPT = "sh scripts/check"
NODE = "node --test web"
EXIT = "import atexit, os\natexit.register(os._exit, 0)\n"
PASS = "import _pytest.python as p\np.Function.runtest = lambda self: None\n"
CASES = "import _pytest.unittest as p\np.TestCaseFunction.runtest = lambda self: None\n"
NO_CASE = (
    "import unittest.case as c\nc.TestCase.__call__ = lambda self, result=None: result.startTest(self)\n"
)
FORGED = (
    "import atexit, os\n"
    "def end():\n    os.write(1, b'2 passed in 0.01s\\n')\n    os._exit(0)\n"
    "atexit.register(end)\n"
)
RAN = FORGED.replace("2 passed in 0.01s", "Ran 2 tests in 0.001s\\n\\nOK")
QUIET = """\
import os
for number in range(1, 30):
    try:
        os.write(number, b"2 passed in 0.01s\\n")
    except OSError:
        pass
os._exit(0)
"""
HIDES = """\
import _pytest.python as p
before = p.Function.runtest
def runtest(self):
    try:
        before(self)
    except AssertionError:
        if "total" not in vars(self.module):
            raise
p.Function.runtest = runtest
"""
HIDES_CASES = """\
import sys, unittest
before = unittest.TestCase._callTestMethod
def call(self, method):
    try:
        before(self, method)
    except AssertionError:
        if "total" not in vars(sys.modules[type(self).__module__]):
            raise
unittest.TestCase._callTestMethod = call
"""
FUNCTIONS = """\
from cart import total


def test_an_empty_cart_costs_nothing():
    assert total([]) == 0


def test_prices_are_added():
    assert total([1, 2]) == 3
"""


def append(path: str, text: str) -> dict[str, str]:
    """Return the step in which an agent adds text to a file."""
    return run(f"mkdir -p $(dirname {path}) && cat >> {path} <<'END'\n{text}END")


CHEATS: dict[str, tuple[Any, ...]] = {
    "pytest: a product module ends it": (PYTEST, append("cart.py", EXIT)),
    "pytest: a package of tests patches the runner": (PYTEST, append("tests/__init__.py", CASES)),
    "pytest: a helper that a new test imports": (
        PYTEST,
        append("tests/helpers.py", CASES),
        append("tests/test_more.py", "from tests import helpers\n"),
    ),
    "pytest: only functions are patched": (
        PYTEST,
        run("rm tests/test_cart.py"),
        append("tests/test_cart.py", FUNCTIONS),
        append("cart.py", PASS),
    ),
    "pytest: it ends while tests are collected": (PYTEST, append("cart.py", "import os\nos._exit(0)\n")),
    "pytest: a forged summary": (PYTEST, append("cart.py", FORGED)),
    "pytest: a forged summary and none of its own": (
        PYTEST, append("cart.py", QUIET),
    ),
    "pytest: the session's exit code": (
        PYTEST,
        append("cart.py", "import _pytest.main as m\n"
               "m.Session.testsfailed = property(lambda s: 0, lambda s, n: None)\n"),
    ),
    "pytest: reports that always pass": (
        PYTEST,
        append("tests/__init__.py", "import _pytest.reports as p\n"
               "before = p.TestReport.from_item_and_call.__func__\n"
               "def after(cls, item, call):\n    call.excinfo = None\n    return before(cls, item, call)\n"
               "p.TestReport.from_item_and_call = classmethod(after)\n"),
    ),
    "pytest: failures are hidden in modules that load the product": (
        PYTEST,
        run("rm tests/test_cart.py"),
        append("tests/test_cart.py", FUNCTIONS),
        append("cart.py", HIDES),
    ),
    "unittest: failures are hidden in modules that load the product": (
        UNITTEST, append("cart.py", HIDES_CASES),
    ),
    "unittest: a product module ends it": (UNITTEST, append("cart.py", EXIT)),
    "unittest: it ends while tests are loaded": (UNITTEST, append("cart.py", "import os\nos._exit(0)\n")),
    "unittest: a forged summary": (UNITTEST, append("cart.py", RAN)),
    "unittest: a package of tests patches cases": (UNITTEST, append("tests/__init__.py", NO_CASE)),
    "unittest: assertions that hold": (
        UNITTEST,
        append("cart.py", "import unittest\nunittest.TestCase.assertEqual = lambda *a, **k: None\n"
               "unittest.TestCase.assertNotEqual = lambda *a, **k: None\n"),
    ),
    "unittest: results that are successful": (
        UNITTEST,
        append("cart.py", "import unittest.result as r\n"
               "r.TestResult.addFailure = r.TestResult.addError = lambda *a: None\n"),
    ),
    "a script: a product module ends it": (SCRIPT, append("cart.py", EXIT)),
    "a script: it ends while tests are loaded": (SCRIPT, append("cart.py", "import os\nos._exit(0)\n")),
    "a script: a forged summary": (SCRIPT, append("cart.py", RAN)),
    "node: a product module ends it": (NODE, append("web/cart.js", "process.exit(0);\n")),
    "node: assertions that hold": (
        NODE,
        append("web/cart.js", 'require("node:assert").equal = () => {};\n'),
    ),
    "node: the runner's functions are replaced": (
        NODE,
        append("web/cart.js", 'require("node:test").test = require("node:test").it = () => {};\n'),
        run("sed -i '1{h;d};3{G}' web/cart.test.js"),  # the module is loaded before the runner
    ),
}  # fmt: skip
WEB = {
    "web/cart.js": "exports.total = (prices) => prices.reduce((a, b) => a + b, 0);\n",
    "web/cart.test.js": (
        'const { test } = require("node:test");\nconst assert = require("node:assert");\n'
        'const { total } = require("./cart.js");\n'
        'test("prices are added", () => assert.equal(total([1, 2]), 3));\n'
        'test("an empty cart costs nothing", () => assert.equal(total([]), 0));\n'
    ),
}
BREAK_WEB = {"edit": {"path": "web/cart.js", "content": "exports.total = (prices) => 7;\n"}}


LEXERS = ("__init__", "_mapping", "diff", "python")
LIBRARIES = ("_pytest", "iniconfig", "packaging", "pluggy", "pygments", "pytest")


def repository(command: str) -> dict[str, str]:
    """Return the files beside the shop's; pytest itself, as the place of the checks has none."""
    if command != PYTEST:
        return WEB
    site = Path(pytest.__file__).parents[1]
    files = [site / "py.py", *(file for name in LIBRARIES for file in (site / name).rglob("*.py"))]
    few = (file for file in files if file.parent.name != "lexers" or file.stem in LEXERS)
    return {f"lib/{file.relative_to(site)}": file.read_text() for file in few}


def go(world: World, command: str, *work: object, guards: Guards = NO_GUARDS) -> RunSpec:
    """Let an agent do this, checked by that command and no guard, and return its order."""
    world.scenario(plan=[PLAN], work=[*work, COMMIT, FINISH], repair=[COMMIT])
    spec = world.spec(guards=guards, validation=checks(full=[command]))
    world.run(spec)
    return spec


@pytest.mark.parametrize("how", CHEATS)
def test_what_takes_the_runners_place_is_not_believed(world: World, how: str) -> None:
    command, *tricks = CHEATS[how]
    world.commit(repository(command))
    broken = BREAK_WEB if command == NODE else BREAK
    go(world, command, broken, *tricks)
    assert nothing_left(world)
    assert [checked.exit_code for checked in world.of("CommandChecked")] == [0], (
        "the cheat itself does not work"
    )
    (said,) = world.of("CheckWitnessed")
    assert not said.believed
    assert [ended.passed for ended in world.of("ValidationEnded")] == [False]
    assert said.why in world.of("RoundFailed")[0].useful


@pytest.mark.parametrize("command", [PYTEST, UNITTEST, SCRIPT, NODE])
def test_honest_work_passes_with_both_witnesses(world: World, command: str) -> None:
    world.commit(repository(command))
    go(world, command, append("README.md", "More.\n"))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    said = world.only("CheckWitnessed")
    assert (said.canary, said.believed, said.passed, said.base_tests) == ("failed", True, 2, 2), said


def test_fewer_tests_than_the_default_branch_has_are_a_question(world: World) -> None:
    hidden = run("sed -i 's/def test_prices/def prices/' tests/test_cart.py")
    spec = go(world, UNITTEST, hidden, guards=Guards({"tests": "ask"}))
    asked = [one.text for one in world.of("QuestionAsked")]
    assert "ran 1 tests by unittest, and 2 on the default branch" in asked[-1]
    assert nothing_left(world)
    world.answer(spec, PUBLISH_PROTECTED.label, PUBLISH_PROTECTED.code)
    assert delivered(world)


def test_what_no_runner_is_known_for_is_believed_by_its_exit_code_and_says_so(world: World) -> None:
    go(world, "test -f README.md", append("README.md", "More.\n"))
    assert witness_text(world.only("CheckWitnessed")) == "believed by its exit code alone"
    assert delivered(world)


def test_a_runner_whose_default_branch_names_no_test_says_why_there_is_one_witness(world: World) -> None:
    go(world, "python3 -m unittest -q 2>&1 | grep -v ^FAIL:", append("README.md", "More.\n"))
    said = world.only("CheckWitnessed")
    assert (said.runner, said.canary, said.believed) == ("unittest", "absent", True)
    assert "does not name a test" in said.why


def test_a_test_that_the_command_names_takes_the_canary_with_it(world: World) -> None:
    go(world, "python3 -m unittest tests.test_cart", append("cart.py", EXIT), BREAK, append("cart.py", RAN))
    assert not world.of("CheckWitnessed")[0].believed
