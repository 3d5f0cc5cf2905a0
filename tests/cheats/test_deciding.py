"""Agents that leave the tests alone and alter what runs them: settings, scripts, the program itself."""

import json
from dataclasses import replace

import pytest

from ledger.states import Ending
from runner.guards.contract import Touched
from tests.cheats.shop import (
    BREAK,
    CHECKS,
    altered,
    brought_out,
    cheat,
    checks,
    defaults,
    found,
    nothing_left,
    run,
)
from tests.runner.world import World

LINES = (
    *CHECKS,
    "./run.sh|tee log",
    "cd web && sh go",
    "python3 -m tools.verify",
    "pytest tests/test_cart.py",
    "python3 -m pytest -q tests/test_cart.py",
    "./run_tests.sh && sh scripts/run-tests.sh",
    "python3 ci/run_tests.py",
    ">>log sh ci/kept.sh >log 2>&1",
)
PACKAGE = {"name": "shop", "version": "1.0.0", "scripts": {"test": "jest"}, "dependencies": {"a": "1"}}
PROJECT = '[project]\nname = "shop"\ndependencies = ["a"]\n[tool.pytest.ini_options]\naddopts = "-q"\n'
POM = "<plugin>\n<artifactId>maven-surefire-plugin</artifactId>\n</plugin>\n"


def new(path: str, text: str = "x\n") -> Touched:
    """Return a file that is new."""
    return altered(path, "", text)


def package(**changes: object) -> Touched:
    """Return package.json with other values for some keys."""
    return altered("package.json", json.dumps(PACKAGE, indent=1), json.dumps(PACKAGE | changes, indent=1))


def project(before: str, after: str) -> Touched:
    """Return pyproject.toml with one text for another."""
    return altered("pyproject.toml", PROJECT, PROJECT.replace(before, after))


WHOLE = "decides what the checks do"
SHADOW = "stands before the program that runs the checks"
DECIDES = {
    "Makefile": (new("Makefile"), WHOLE),
    "a makefile by case": (new("sub/MAKEFILE"), WHOLE),
    "conftest.py": (new("tests/deep/conftest.py"), WHOLE),
    "conftest.py by look-alikes": (new("соnftest.py"), WHOLE),
    "settings of pytest": (new("pytest.ini"), WHOLE),
    "settings of coverage": (altered(".coveragerc", "fail_under = 90\n", "fail_under = 0\n"), WHOLE),
    "settings of jest": (new("web/jest.config.js"), WHOLE),
    "settings of playwright": (new("playwright.config.ts"), WHOLE),
    "settings that go": (altered("tox.ini", "x\n", ""), WHOLE),
    "RSpec": (new(".rspec"), WHOLE),
    "PHPUnit": (new("phpunit.xml.dist"), WHOLE),
    "linters": (new("web/.eslintrc.json"), WHOLE),
    "types": (new("tsconfig.json"), WHOLE),
    "an action that workflows use": (new(".github/actions/test/action.yml"), WHOLE),
    "another CI": (new(".circleci/config.yml"), WHOLE),
    "a pytest of its own": (new("pytest.py"), SHADOW),
    "a unittest of its own": (new("unittest/__main__.py"), SHADOW),
    "sitecustomize": (new("src/sitecustomize.py"), SHADOW),
    "a path file": (new("lib/x.pth"), SHADOW),
    "a program of node": (new("node_modules/.bin/jest"), SHADOW),
    "attributes": (new(".gitattributes", "*.py linguist-generated=true\n"), "what a review does not show"),
    "the policy": (altered(".github/cardinal.yml", "a\n", "b\n"), "says what agents may do here"),
    "a persona": (new(".github/cardinal/personas/tester.md"), "says what agents may do here"),
    "who reviews": (new("docs/CODEOWNERS"), "who reviews it"),
    "a script of the checks": (altered("scripts/check", "a\n", "true\n"), "is run by the checks"),
    "a script before a pipe": (altered("run.sh", "a\n", "true\n"), "is run by the checks"),
    "a script in a folder": (altered("web/go", "a\n", ""), "is run by the checks"),
    "a script that is called like a test": (altered("run_tests.sh", "a\n", "true\n"), "is run by the checks"),
    "the same in a folder": (altered("scripts/run-tests.sh", "a\n", "true\n"), "is run by the checks"),
    "the same in Python": (altered("ci/run_tests.py", "a\n", "b\n"), "is run by the checks"),
    "settings of cargo": (new(".cargo/config.toml", '[alias]\ntest = "version"\n'), WHOLE),
    "settings of maven": (new(".mvn/maven.config", "-DskipTests\n"), WHOLE),
    "a script of which the output is kept": (altered("ci/kept.sh", "a\n", ""), "is run by the checks"),
    "a module of the checks": (new("tools/verify.py"), "is run by the checks"),
    "scripts of package.json": (package(scripts={"test": "true"}), "in `scripts`"),
    "jest in package.json": (package(jest={"testPathIgnorePatterns": ["."]}), "in `jest`"),
    "package.json that nobody can read": (altered("package.json", "{}", "{"), "in the file"),
    "package.json that is too deep": (altered("package.json", "{}", "[" * 90_000), "in the file"),
    "package.json of a key twice": (
        altered("package.json", "{}", '{"scripts": {}, "scripts": {"test": ":"}}'), "in `scripts`"),
    "pytest in pyproject": (project('"-q"', '"-q --ignore=tests"'), "in `tool.pytest`"),
    "coverage in pyproject": (project("[tool", "[tool.coverage]\na = 1\n[tool"), "`tool.coverage`"),
    "a linter in pyproject": (project("[tool", '[tool.ruff]\nexclude = ["."]\n[tool'), "in `tool.ruff`"),
    "a section with spaces": (project("[tool", "[ tool . 'ruff' ]\na = 1\n[tool"), "`tool.ruff`"),
    "pytest in setup.cfg": (altered("setup.cfg", "", "[tool:pytest]\naddopts = -k none\n"), "`tool:pytest`"),
    "lints of cargo": (altered("Cargo.toml", "", "[[test]]\nname = 'a'\ntest = false\n"), "in `test`"),
    "surefire": (altered("pom.xml", POM, POM + "<skipTests>true</skipTests>\n"), "in lines about tests"),
    "surefire that goes": (altered("pom.xml", POM, "a\n"), "in lines about tests"),
    "lines that were not read": (replace(altered("pom.xml", "a\n", "b\n"), unread=True), "about tests"),
    "sections that were not read": (replace(package(), whole=None), "it was not read"),
    "gradle": (altered("build.gradle", "", "test { enabled = false }\n"), "in lines about tests"),
}  # fmt: skip


@pytest.mark.parametrize("how", DECIDES)
def test_what_alters_the_checks_is_found_with_why(how: str) -> None:
    file, said = DECIDES[how]
    (told,) = found("checks", file, checked_by=LINES)
    assert told.startswith(f"{file.path}:")
    assert said in told


LOOKS = (
    "ruff check .",
    "pytest -q tests",
    "test -f src/hello.py && grep -q b docs/a.md",
    "env > build/out 2>err",
)
ORDINARY = {
    "a module and its test": (new("src/cart.py"), new("tests/test_cart.py")),
    "a fixture": (new("tests/fixtures/carts.py"), new("tests/fixtures/cart.json")),
    "a test that the checks name": (altered("tests/test_cart.py", "a\n", "b\n"),),
    "a version": (package(version="1.0.1"), package(dependencies={"a": "2"})),
    "a dependency": (project('["a"]', '["a", "b"]'),),
    "a dependency for tests": (altered("build.gradle", "", "testImplementation 'junit:junit:4'\n"),),
    "a plugin that is about something else": (altered("pom.xml", POM, POM + "<version>2</version>\n"),),
    "another key of setup.cfg": (altered("setup.cfg", "", "[metadata]\nname = shop\n"),),
    "package.json written anew": (
        altered("package.json", json.dumps(PACKAGE), json.dumps(PACKAGE, indent=8)),
    ),
    "code about coverage": (new("insurance/coverage.py"), new("docs/makefile.md"), new("check.py")),
    "templates and settings": (new("web/index.html"), new("app.yml"), new(".gitignore"), new("Dockerfile")),
    "what the checks only look at": (new("src/hello.py"), altered("docs/a.md", "a\n", "b\n")),
    "what the checks write": (new("build/out"), new("err"), new("log")),
    "a script that no check names": (new("scripts/deploy"), new("other/run.sh2")),
}  # fmt: skip


@pytest.mark.parametrize("what", ORDINARY)
def test_ordinary_work_on_a_project_is_not_asked_about(what: str) -> None:
    assert found("checks", *ORDINARY[what], checked_by=(*LINES, *LOOKS)) == []


def test_a_commit_on_the_way_is_not_what_is_checked(world: World) -> None:
    line = "echo true > scripts/check; git commit -qam a; git revert --no-edit HEAD > /dev/null; echo a > a"
    assert brought_out(world, line) == ()


SHOWN = {
    "a runner of its own": ("echo 'raise SystemExit' > unittest.py", "unittest.py"),
    "a virtual environment": ("mkdir -p .venv/bin; echo true > .venv/bin/python3", ".venv/bin/python3"),
    "a path file in it": ("mkdir -p .venv/lib; echo 'import os' > .venv/lib/a.pth", ".venv/lib/a.pth"),
    "one of node": ("mkdir -p node_modules/.bin; echo > node_modules/.bin/jest", "node_modules/.bin/jest"),
    "the script, renamed": ("git mv scripts/check scripts/check2", "scripts/check"),
    "the script, a link": ("ln -sf /bin/true scripts/check", "scripts/check"),
    "another folder": ("git mv scripts s; mkdir scripts; echo true > scripts/check", "scripts/check"),
    "by index only": (
        "git update-index --cacheinfo 100644,$(echo true | git hash-object -w --stdin),scripts/check;"
        " git commit -qm a; git update-index --assume-unchanged scripts/check", "scripts/check"),
    "scripts of package.json": ("echo '{\"scripts\": {\"test\": \":\"}}' > package.json", "package.json"),
    "a huge package.json": (
        "(printf '{\"a\": \"'; head -c 1200000 /dev/zero | tr '\\0' a; echo '\"}') > package.json",
        "package.json"),
    "a filter": ("echo '*.py filter=cheat eol=crlf' > .gitattributes", ".gitattributes"),
}  # fmt: skip


@pytest.mark.parametrize("how", SHOWN)
def test_no_way_of_git_alters_the_checks_unseen(world: World, how: str) -> None:
    line, path = SHOWN[how]
    told = brought_out(world, line)
    assert any(one.path == path and one.guard in ("checks", "generated", "symlinks") for one in told), told


def test_a_swallowed_exit_code_is_a_question_with_file_and_rule_and_nothing_leaves(world: World) -> None:
    trap = run(
        "printf 'trap \"exit 0\" EXIT\\npython3 -m unittest discover -q 2>/dev/null\\n' > scripts/lint"
    )
    order = cheat(world, BREAK, trap, validation=checks(full=("sh scripts/lint",)))
    assert world.of("ValidationEnded")[-1].passed  # no witness there is fooled by it: only a person can say
    asked = world.only("QuestionAsked").text
    assert "'scripts/lint' is run by the checks (rule 'checks: ask')" in asked
    assert nothing_left(world)
    world.answer(order, "Stop here")
    assert world.ended().reason == "stopped"
    assert nothing_left(world)


def test_a_runner_of_the_agents_own_fails_with_file_and_rule_where_that_is_denied(world: World) -> None:
    cheat(world, BREAK, run("echo 'raise SystemExit' > unittest.py"), guards=defaults(checks="deny"))
    assert (world.ended().ending, world.ended().reason) == (Ending.FAILED, "guardrail")
    assert "'unittest.py' stands before the program" in world.ended().detail
    assert "rule 'checks: deny'" in world.ended().detail
    assert nothing_left(world)


def test_the_policy_that_an_agent_writes_is_a_question_and_not_its_gate(world: World) -> None:
    own = {
        "edit": {"path": ".github/cardinal.yml", "content": "version: 1\nrepository: {validation: none}\n"}
    }
    cheat(world, own)
    assert [one.command for one in world.of("CommandChecked")] == list(CHECKS)
    assert "'.github/cardinal.yml' says what agents may do here" in world.only("QuestionAsked").text
    assert nothing_left(world)
