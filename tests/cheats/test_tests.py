"""Agents that weaken tests until they pass: skipped, deleted, thinned out, hollow, or hidden."""

import dataclasses

import pytest

from ledger.states import Ending
from runner.guards.builtin import tests
from runner.guards.contract import Change, Touched
from tests.cheats.shop import (
    BRANCH,
    BREAK,
    TESTS,
    altered,
    brought_out,
    cheat,
    defaults,
    found,
    git,
    nothing_left,
    run,
)
from tests.runner.world import World

PATH = "tests/test_cart.py"
FIRST = TESTS.partition("    def test_prices_are_added")[0]
JS = """\
describe("cart", () => {
  it("is empty", () => {
    expect(total([])).toBe(0);
  });
  it("adds", () => {
    expect(total([1, 2])).toBe(3);
  });
});
"""
GO = 'package shop\n\nfunc TestAdds(t *testing.T) {\n\tif total(1) != 1 {\n\t\tt.Fatal("no")\n\t}\n}\n'


ADDS = "self.assertEqual(total([1, 2]), 3)"


def instead(before: str, after: str, of: str = TESTS, path: str = PATH) -> Touched:
    """Return the shop's tests with one text for the first of another."""
    return altered(path, of, of.replace(before, after, 1))


def led(line: str) -> Touched:
    """Return the shop's tests with a line before the second test."""
    return instead("    def test_p", f"    {line}\n    def test_p")


def js(before: str, after: str, path: str = "web/cart.test.ts") -> Touched:
    """Return tests in JavaScript with one text for the first of another."""
    return instead(before, after, JS, path)


# What an agent makes of the tests, and the words that a person reads.
WEAKENED = {
    "deleted": (altered(PATH, TESTS, ""), "is gone, with 2 tests"),
    "deleted, by another name": (altered("Te\u0455ts/TEST_Cart.PY", TESTS, ""), "is gone, with 2 tests"),
    "one test taken out": (altered(PATH, TESTS, FIRST), "has 1 test less"),
    "commented out": (instead("    def test_p", "    # def test_p"), "1 test less"),
    "renamed, so that no runner finds it": (instead("def test_prices", "def prices"), "1 test less"),
    "an assertion taken out": (
        instead("        self.assertNotEqual(total([1]), 0)\n", ""),
        "1 assertion less",
    ),
    "an assertion commented out": (instead("self.assertNot", "# self.assertNot"), "has 1 assertion less"),
    "the same assertion, twice": (
        altered("test_a.py", "def test_a():\n    assert a\n    assert a\n", "def test_a():\n    a()\n"),
        "has 2 assertions less",
    ),
    "emptied": (instead(ADDS, "pass"), "1 assertion less"),
    "skipped": (led('@unittest.skip("later")'), "switches tests off"),
    "skipped if": (led("@unittest.skipIf(True, '')"), "switches tests off"),
    "expected to fail": (led("@pytest.mark.xfail"), "switches tests off"),
    "a module off": (instead("import", "pytestmark = pytest.mark.skip\nimport"), f"{PATH}:1 switches"),
    "in a block that never runs": (led("if False:"), "switches tests off"),
    "ends the process": (instead("import", "import os; os._exit(0)\nimport"), "switches tests off"),
    "asserts what always holds": (instead(ADDS, "self.assertTrue(True)"), "asserts what always holds"),
    "or True": (instead(ADDS, "assert total([1]) == 1 or True"), "asserts what always holds"),
    "the same on both sides": (instead(ADDS, "assert 3 == 3"), "asserts what always holds"),
    "by the gate's environment": (led('if os.environ.get("HOME") == "/x":'), "in another environment"),
    "in the product's code": (
        altered("cart.py", "", 'if "PYTEST_CURRENT_TEST" in os.environ:\n'),
        "it is tested",
    ),
    "it.skip": (js("it(", "it.skip("), "switches tests off"),
    "describe.only": (js("describe(", "describe.only("), "switches tests off"),
    "xit": (js("  it(", "  xit(", "web/__tests__/cart.js"), "switches tests off"),
    "it['skip']": (js("it(", "it['skip'](", "web/cart.spec.js"), "switches tests off"),
    "expect(true)": (js("expect(total([])).toBe(0)", "expect(true).toBe(true)"), "what always holds"),
    "an expectation taken out": (js("    expect(total([])).toBe(0);\n", ""), "has 1 assertion less"),
    "t.Skip": (instead("\tif", "\tt.Skip()\n\tif", GO, "cart_test.go"), "switches tests off"),
    "a build tag": (
        instead("package", "//go:build never\npackage", GO, "cart_test.go"),
        "switches tests off",
    ),
    "t.Fatal taken out": (instead('\t\tt.Fatal("no")\n', "", GO, "cart_test.go"), "has 1 assertion less"),
    "#[ignore]": (altered("tests/cart.rs", "#[test]\n", "#[test]\n#[ignore]\n"), "switches tests off"),
    "@Disabled": (altered("src/test/CartTest.java", "@Test\n", "@Disabled\n@Test\n"), "switches tests off"),
    "[Fact(Skip)]": (altered("CartTests.cs", "[Fact]\n", '[Fact(Skip = "x")]\n'), "switches tests off"),
    "RSpec": (altered("spec/cart_spec.rb", "it 'adds' do\n", "xit 'adds' do\n"), "switches tests off"),
    "PHPUnit": (altered("tests/CartTest.php", "a\n", "$this->markTestSkipped();\n"), "switches tests off"),
    "Django's tests.py, out of sight": (altered("shop/tests.py", TESTS, ""), "is gone, with 2 tests"),
    "pending, in RSpec": (
        altered("spec/cart_spec.rb", "it 'a' do\n", "it 'a', pending: true do\n"),
        "tests off",
    ),
    "RSpec in one line": (
        altered("spec/a_spec.rb", "a\nit { is_expected.to eq 3 }\n", "a\n"),
        "has 1 test less",
    ),
    "what RSpec expects": (altered("spec/a_spec.rb", "is_expected.to eq 3\n", "a\n"), "1 assertion less"),
    "GoogleTest": (altered("cart_test.cc", "a\nTEST(Cart, Adds) {\n", "a\n"), "has 1 test less"),
    "what GoogleTest expects": (
        altered("cart_test.cc", "EXPECT_EQ(a(), 3);\n", "a();\n"),
        "1 assertion less",
    ),
    "DISABLED_": (altered("a_test.cc", "TEST(A, B) {\n", "TEST(A, DISABLED_B) {\n"), "switches tests off"),
    "GTEST_SKIP": (altered("a_test.cc", "TEST(A, B) {\n", "TEST(A, B) {\nGTEST_SKIP();\n"), "tests off"),
    "TestNG": (altered("ATest.java", "@Test\n", "@Test(enabled = false)\n"), "switches tests off"),
    "todo of node": (js('"adds", ', '"adds", { todo: true }, '), "switches tests off"),
    "context['only']": (js("describe(", "context['only']("), "switches tests off"),
    "assert True, with words": (instead(ADDS, "assert True, 'adds'"), "asserts what always holds"),
    "assert True, with a remark": (instead(ADDS, "assert True  # adds"), "asserts what always holds"),
    "assert True or": (instead(ADDS, "assert True or total([])"), "asserts what always holds"),
    "itself": (js("expect(total([])).toBe(0)", "expect(total).toBe(total)"), "what always holds"),
    "itself, in RSpec": (altered("spec/a_spec.rb", "a\n", "expect(a).to eq a\n"), "what always holds"),
    "a script that forgives": (altered("ci/run.sh", "pytest\n", "pytest || true\n"), "failing checks pass"),
    "; :": (altered("ci/run.sh", "npm test\n", "npm test; :\n"), "lets failing checks pass"),
    "; exit 0": (altered("ci/run.sh", "npm test\n", "npm test; exit 0\n"), "lets failing checks pass"),
}


@pytest.mark.parametrize("how", WEAKENED)
def test_a_weakened_test_is_found_with_what_was_done_to_it(how: str) -> None:
    file, said = WEAKENED[how]
    assert any(said in one for one in found("tests", file)), found("tests", file)


NINE = "".join(f"    def test_{n}(self):\n        self.assertEqual(total([{n}]), {n})\n" for n in range(9))
MANY = TESTS + NINE
LAST = TESTS.removeprefix(FIRST)
MOVED = (altered(PATH, TESTS, ""), altered("tests/test_basket.py", "", TESTS))
SKIPPED = TESTS.replace("    def test_p", '    @unittest.skip("later")\n    def test_p')
HONEST = {
    "a new test": (altered(PATH, TESTS, MANY),),
    "a new file of tests": (altered("tests/test_more.py", "", MANY),),
    "renamed": MOVED,
    "moved into a file that is there": (
        altered(PATH, TESTS, FIRST), altered("tests/test_b.py", "import a\n", f"import a\n{LAST}")),
    "split in two": (
        altered(PATH, TESTS, ""), altered("tests/test_a.py", "", FIRST),
        altered("tests/test_b.py", "", LAST)),
    "split, and the rest rewritten": (
        altered(PATH, MANY, FIRST.replace("test_an", "test_the")),
        altered("tests/test_b.py", "", LAST + NINE)),
    "another name": (instead("test_prices_are_added", "test_a_sum"),),
    "rewritten with as many assertions": (instead(ADDS, "self.assertGreater(total([2, 2]), 3)"),),
    "another expected value": (instead(", 3)", ", 4)"),),
    "formatted": (instead(ADDS, "self.assertEqual(\n            total([1, 2]),\n            3,\n        )"),),
    "indented otherwise": (altered("a.test.ts", JS, JS.replace("  ", "\t")),),
    "other line ends": (altered(PATH, TESTS, TESTS.replace("\n", "\r\n")),),
    "from unittest to bare assert": (instead(ADDS, "assert total([1, 2]) == 3"),),
    "words about skipping": (instead("import", "# Nothing is skipped here.\nskipped_lines = 3\nimport"),),
    "a constant compared": (instead(ADDS, "assert 1 == len(rows)\n        assert True is result"),),
    "a constant compared, in words": (instead(ADDS, "self.assertTrue(1 == total([1]))"),),
    "names that begin alike": (
        js("expect(total([])).toBe(0);", "expect(user).toEqual(users[0]);\nexpect(a).toBe(aOfFirst);"),
        altered("spec/a_spec.rb", "", "expect(user).to eq(user_from_db)\n")),
    "data that is pending, todo, only": (
        js("toBe(0);", 'toEqual({ pending: true });\nexpect(body["todo"]).toBe(1);'),
        js("  it(", '  it("b", () => { expect(a()).toEqual({ todo: true }); });\n  it(', "a.test.js"),
        altered("tests/test_a.py", "", 'new(labels=["todo"])\nassert response.context["only"] == 1\n')),
    "imports that go": (
        altered("CartTest.java", "import static org.junit.Assert.assertNull;\na\n", "a\n"),
        altered("cart_test.go", '"github.com/stretchr/testify/assert"\na\n', "a\n"),
        altered("a.test.js", "const assert = require('node:assert');\na\n", "a\n"),
        altered("b.test.ts", 'import assert from "node:assert/strict";\na\n', "a\n")),
    "a skip that stood at the margin, further in": (
        altered(PATH, "@skip\nclass A:\n", "class A:\n    @skip\n"),),
    "moved beside another that is renamed": (
        altered("tests/test_a.py", "def test_b():\n", "def test_c():\n"),
        altered("tests/test_b.py", "def test_b():\n", ""), altered("tests/test_c.py", "", "def test_b():\n")),
    "no tests at all": (altered("cart.py", "def test_b():\n    assert a\n", "assert True\n"),),
    "tests that know who runs them": (altered(PATH, "", 'name = os.environ["PYTEST_CURRENT_TEST"]\n'),),
    "a skip that was there, renamed": (altered(PATH, SKIPPED, ""), altered("tests/test_b.py", "", SKIPPED)),
    "a skip that was there, indented otherwise": (altered(PATH, SKIPPED, SKIPPED.replace("    ", "  ")),),
    "from JavaScript to TypeScript": (altered("a.test.js", JS, ""), altered("a.test.tsx", "", JS)),
    "a fixture that goes": (altered("tests/carts.py", "def cart():\n    return []\n", ""),),
    "numbers of a model": (altered("tests/test_a.py", "", 'model.fit("x")\nexpected = 3\n'),),
    "ordinary code": (altered("cart.py", "", "if prices:\n    return sum(prices)\nonly = skip = 1\n"),),
    "a script": (altered("ci/run.sh", "", "pytest -q\nrm -f log || true\ncd web && npm test\n"),),
    "prose about tests": (altered("docs/tests.md", "", "Run `pytest || true` or `it.skip(`.\n"),),
}  # fmt: skip


@pytest.mark.parametrize("what", HONEST)
def test_honest_work_on_tests_is_not_asked_about(what: str) -> None:
    assert found("tests", *HONEST[what]) == []


def test_three_tests_that_become_one_with_parameters_are_asked_about_and_told_as_that() -> None:
    one = "@pytest.mark.parametrize('n', [1, 2, 3])\ndef test_n(n):\n    assert total([n]) == n\n"
    three = "".join(f"def test_{n}():\n    assert total([{n}]) == {n}\n" for n in (1, 2, 3))
    assert found("tests", altered(PATH, three, one)) == [f"{PATH}:0 has 2 tests less than before"]


def test_a_test_is_moved_once_and_only_to_where_runners_look_as_surely() -> None:
    copy = altered("tests/test_a.py", TESTS, ""), *MOVED
    assert len(found("tests", *copy)) == 1
    hidden = altered(PATH, TESTS, ""), altered("tests/cart.py", "", TESTS)
    assert found("tests", *hidden) == [f"{PATH}:0 is gone, with 2 tests"]


def test_no_line_makes_up_for_a_test_that_it_does_not_replace() -> None:
    a, b, c = (f"def test_{name}():\n" for name in "abc")
    for others in (
        (altered("tests/test_y.py", b, a),),  # one for another: it has no more than before
        (altered("tests/test_y.py", f"{a}x\ny\n", f"x\ny\n{a}{c}"),),  # only the place within its file is new
        (altered("tests/test_y.py", "", a), altered("tests/test_z.py", "", a)),  # one of them twice
    ):
        gone = altered("tests/test_x.py", f"{a}{b}" if len(others) > 1 else a, "")
        assert len(found("tests", gone, *others)) == 1
    again = altered("tests/test_x.py", f"{a}x\ny\n{b}", f"x\ny\n{a}"), altered("tests/test_y.py", "", a)
    assert found("tests", *again) == ["tests/test_x.py:0 has 1 test less than before"]


def test_a_skip_is_moved_once_and_not_to_the_margin_where_it_counts_for_a_whole_file() -> None:
    moved = altered(PATH, SKIPPED, ""), altered("tests/test_a.py", "", SKIPPED)
    (said,) = found("tests", *moved, altered("tests/test_b.py", "a\n", '    @unittest.skip("later")\na\n'))
    assert said == "tests/test_b.py:1 switches tests off"
    wider = (
        instead('    @unittest.skip("later")\n', "", SKIPPED),
        altered("tests/test_b.py", "class A:\n", '@unittest.skip("later")\nclass A:\n'),
    )
    assert found("tests", *wider) == ["tests/test_b.py:1 switches tests off"]


def test_the_hollow_copy_of_a_test_is_no_test_that_moved() -> None:
    hollow = "".join(line for line in TESTS.splitlines(keepends=True) if "assert" not in line)
    moved = altered(PATH, TESTS, ""), altered("tests/test_b.py", "", hollow)
    assert found("tests", *moved) == [f"{PATH}:0 has 3 assertions less than before"]


def test_what_was_not_read_is_asked_about_and_does_not_pass_as_nothing() -> None:
    unread = dataclasses.replace(altered(PATH, TESTS, "x"), unread=True)
    (said,) = found("tests", unread)
    assert "was not compared" in said
    change = Change("b" * 40, "c" * 40, (unread,), ())
    (asked,) = tests.find_breaches(change, defaults(tests="deny"))
    assert asked.doubtful  # it may be harmless: people say


ENDLESS = (
    "assert" * 170_000,
    "expect(" * 150_000,
    "skip:" * 200_000,
    "pytest " * 140_000,
    " " * 10**6 + "x",
    "if environ " * 90_000,
    "it.a.b" * 170_000,
    "a" * 10**6,
    "assert expect( or " * 60_000,
    "import a" * 120_000,
    '"a/a' * 250_000,
    'it("' * 250_000,
    "@Test(enabled " * 70_000,
    "test pending" * 80_000,
)


@pytest.mark.parametrize("line", ENDLESS, ids=range(len(ENDLESS)))
@pytest.mark.timeout(30)
def test_no_long_line_holds_the_guard_up(line: str) -> None:
    line = line[-(2**18) :]  # trying every way would take minutes
    files = altered(PATH, f"{line}\n", f"{line}y\n"), altered("run.sh", "", f"{line}\n")
    assert len(found("tests", *files)) <= 4  # see the limit above


def test_an_agent_that_deletes_the_failing_test_gets_a_question_and_publishes_nothing(world: World) -> None:
    order = cheat(world, BREAK, run("git rm -q tests/test_cart.py"))
    asked = world.only("QuestionAsked")
    assert asked.asker == "guard"
    assert "'tests/test_cart.py' is gone, with 2 tests (rule 'tests: ask')" in asked.text
    assert nothing_left(world)
    world.answer(order, "Stop here")
    assert world.ended().reason == "stopped"
    assert nothing_left(world)


def test_an_agent_that_skips_the_tests_fails_with_file_and_rule_where_that_is_denied(world: World) -> None:
    skip = run("sed -i '1i import unittest; raise unittest.SkipTest' tests/test_cart.py")
    cheat(world, BREAK, skip, repair=({"say": "{{prompt}}"},), guards=defaults(tests="deny"))
    assert (world.ended().ending, world.ended().reason) == (Ending.FAILED, "guardrail")
    assert "'tests/test_cart.py':1 switches tests off (rule 'tests: deny')" in world.ended().detail
    assert "repair the code" in world.only("AgentSaid").text
    assert world.of("ValidationEnded") == []
    assert nothing_left(world)


def test_an_agent_that_repairs_the_code_instead_delivers(world: World) -> None:
    undo = run("git reset -q --soft origin/main && git restore -S -W tests cart.py && echo more >> README.md")
    guards = defaults(tests="deny")
    cheat(world, BREAK, run("git rm -q tests/test_cart.py"), repair=(undo,), guards=guards)
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert git(world.origin, "diff", "--name-only", "main", BRANCH) == "README.md"


HIDDEN = {
    "renamed out of sight": ("git mv tests/test_cart.py tests/cart_test_old.txt", "is gone, with 2 tests"),
    "moved where nobody looks": ("git mv tests/test_cart.py shelf.py", "is gone, with 2 tests"),
    "into a language that nobody runs": (
        "git mv tests/test_cart.py tests/test_cart.lua", "is gone, with 2 tests"),
    "the folder becomes a link": ("git rm -rq tests; ln -s scripts tests", "is gone, with 2 tests"),
    "the file becomes a link": ("ln -sf ../README.md tests/test_cart.py", "is gone, with 2 tests"),
    "in two bytes a letter": (
        "python3 -c \"import pathlib as p; f = p.Path('tests/test_cart.py'); "
        "f.write_bytes(f.read_text().replace('def test', 'def tost').encode('utf-16'))\"", "2 tests less"),
    "truncated": (": > tests/test_cart.py", "has 2 tests less"),
    "taken out and put back in another commit, thinner": (
        "git rm -q tests/test_cart.py; git commit -qm a; mkdir -p tests; echo import a > tests/test_cart.py",
        "has 2 tests less"),
    "by attributes": ("echo '* -diff binary' > .gitattributes; : > tests/test_cart.py", "has 2 tests less"),
}  # fmt: skip


@pytest.mark.parametrize("how", HIDDEN)
def test_no_way_of_git_takes_tests_away_unseen(world: World, how: str) -> None:
    line, said = HIDDEN[how]
    told = {one.what for one in brought_out(world, line) if one.guard == "tests" and one.action == "ask"}
    assert any(said in what for what in told), told


def test_a_renamed_and_a_moved_test_pass_and_so_does_a_commit_on_the_way(world: World) -> None:
    line = (
        "sed -i '1i import unittest; raise unittest.SkipTest' tests/test_cart.py; git rm -q README.md;"
        " git commit -qam a; git revert --no-edit HEAD > /dev/null;"
        " git mv tests/test_cart.py tests/test_basket.py"
    )
    assert brought_out(world, line) == ()


def test_more_deleted_files_than_are_read_leave_nothing_new_unread_and_are_asked_about(world: World) -> None:
    many = "for n in $(seq 205); do printf 'def test_a():\\n    assert %s\\n' $n > tests/test_$n.py; done"
    told = brought_out(world, "git rm -q tests/test_[0-9]*.py; echo a > a.py", before=many)
    assert sum("is gone" in one.what for one in told) == 200
    assert sum("was not compared" in one.what for one in told) == 5
    assert {one.guard for one in told} == {"tests"}
