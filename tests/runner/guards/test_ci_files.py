"""Every file, line and section that decides what checks do, and how a check's line names what it runs."""

import json

import pytest

from runner.guards import ci_files

WHOLE = """
makefile GNUmakefile a.mk justfile .justfile Taskfile.yml taskfile.yaml Rakefile tox.ini noxfile.py
conftest.py pytest.ini .pytest.ini pytest.toml .coveragerc .rspec spec_helper.rb rails_helper.rb
test_helper.exs phpunit.xml phpunit.xml.dist jest.config.js vitest.workspace.ts playwright-ct.config.ts
karma.conf.js cypress.setup.js ava.config.cjs wdio.conf.js web-test-runner.config.mjs setupTests.ts
setup-tests.js .mocharc.yml .nycrc .c8rc.json nextest.toml testng.xml ruff.toml .ruff.toml mypy.ini
.mypy.ini .flake8 .pylintrc pylintrc pyrightconfig.json .eslintrc.js .eslintignore eslint.config.mjs
biome.json biome.jsonc tsconfig.base.json .rubocop.yml .golangci.yml clippy.toml .clippy.toml detekt.yml
checkstyle.xml phpstan.neon .credo.exs .pre-commit-config.yaml lefthook.yml .gitlab-ci.yml .travis.yml
Jenkinsfile azure-pipelines.yml codecov.yml .codecov.yml .github/actions/a/action.yml
web/.github/actions/a/action.yml .circleci/config.yml .buildkite/pipeline.yml .husky/pre-commit
.config/nextest.toml/a .cargo/config a/.cargo/config.toml .mvn/maven.config .mvn/jvm.config
.github/cardinal.yml .github/cardinal.yaml .github/cardinal/a.md CODEOWNERS .github/CODEOWNERS
docs/CODEOWNERS .gitattributes a/.gitattributes pytest.py _pytest/__init__.py unittest.pyi doctest.py
coverage.py tox.py nox.py nose.py nose2.py pluggy.py hypothesis.py mypy.py ruff/__main__.py src/pytest.py
tests/pytest.py a/sitecustomize.py usercustomize.py a.pth node_modules/.bin/a
"""
BY_LINES = "pom.xml a/build.gradle build.gradle.kts vite.config.ts mix.exs build.sbt POM.xml"
ABOUT_TESTS = """\
ignoreFailures = true
<skipTests>true</skipTests>
<maven.test.skip>true</maven.test.skip>
<artifactId>maven-surefire-plugin</artifactId>
<artifactId>maven-failsafe-plugin</artifactId>
id 'jacoco'
useJUnitPlatform()
exclude '**/Cart*'
test {
checks: [a]
tasks.named('a')
tasks.test
task.check
tasks.withType(Test)
onlyIf { false }
enabled = false
minimum_coverage 0
test_paths = ["a"]
test_options = []
Test / fork := true
defp aliases do
"""
DEPENDENCIES = """\
testImplementation('junit:coverage:4')
  testApi 'test(a)'
androidTestRuntimeOnly 'coverage'
testFixturesCompileOnly 'coverage'
"""
RUN_BY = {
    "  ./a": "a",
    "MODE=b C='' ./a": "a",
    """  MODE='b c' C="d e"f ./a""": "a",
    "cd web; ./a": "web/a",
    "pushd web && ./a": "web/a",
    "(cd web && ./a)": "web/a",
    "make -C web && ./a": "web/a",
    "npm --prefix web x; ./a": "web/a",
    "x --directory web; ./a": "web/a",
    "x --cwd web; ./a": "web/a",
    "pytest --rootdir a": "a",
    "pytest -c a": "a",
    "sh -c './a'": "a",
    "echo `./a`": "a",
    "{ ./a; }": "a",
    "true & ./a": "a",
    "true\n./a": "a",
    "./A": "a",
    "a -m": "a",
    "python3 -m a.b": "a/b/__main__.py",
    "pytest -m a.b": "a/b/__init__.py",
    "sh -m ./a": "a",
    "sh -x ./a": "a",
    "timeout 5 ./a": "a",
    "/usr/bin/python3 ./a": "a",
}
PROGRAMS = """
sh bash dash zsh ksh source . python python3 pypy3 node deno bun ruby perl php lua tsx ts-node exec env time
nice timeout sudo xargs if then else do while until ! run npx
"""
SECTIONS = {
    "package.json": "scripts jest vitest mocha ava nyc c8 tap eslintConfig lint-staged wireit nx",
    "composer.json": "scripts autoload-dev",
    "deno.json": "tasks test lint",
    "pyproject.toml": "tool.pytest tool.coverage tool.tox tool.nox tool.poe tool.taskipy tool.pdm.scripts"
    " tool.hatch.envs tool.ruff tool.mypy tool.pyright tool.pylint tool.black tool.poetry.scripts"
    " project.entry-points.pytest11",
    "Cargo.toml": "test lints workspace.lints lib.test lib.doctest profile.test",
    "setup.cfg": "tool:pytest coverage:run FLAKE8 mypy-a pylint pycodestyle tox:tox testenv:a aliases isort",
}
# Path, before, after, and the sections that are told.
ALTERED: dict[str, tuple[str, str, str, tuple[str, ...]]] = {
    "nothing was there": ("package.json", "", '{"scripts": {"a": "b"}}', ("scripts",)),
    "nothing of it decides": ("package.json", "", '{"name": "a"}', ()),
    "it is gone": ("package.json", '{"jest": {"a": 1}}', "{}", ("jest",)),
    "no table where one is due": ("pyproject.toml", "", 'tool = "a"', ()),
    "it cannot be read": ("setup.cfg", "", "a = 1\n", ("it",)),
    "a section twice": ("setup.cfg", "", "[isort]\na = 1\n[isort]\nb = 1\n", ("isort",)),
    "a sign that other readers replace": ("setup.cfg", "", "[flake8]\na = %(x)s\n", ("flake8",)),
}


def test_every_file_that_decides_is_known() -> None:
    assert [path for path in WHOLE.split() if not ci_files.why_decisive(path)] == []
    assert [path for path in BY_LINES.split() if not ci_files.by_lines(path)] == []


def test_lines_about_tests_decide_and_dependencies_do_not() -> None:
    assert [line for line in ABOUT_TESTS.splitlines() if not ci_files.decides(line)] == []
    assert [line for line in DEPENDENCIES.splitlines() if ci_files.decides(line)] == []


def section(path: str, place: str) -> str:
    """Return a file with nothing but one section, written as its kind is."""
    if path.endswith(".json"):
        return json.dumps({place: {"a": "1"}})
    return f"[{place}]\na = 1\n"


@pytest.mark.parametrize("path", SECTIONS)
def test_every_section_that_decides_is_known(path: str) -> None:
    known = {place: (place.replace(".", " "),) for place in SECTIONS[path].split()}
    assert {place: ci_files.find_altered_sections(path, "", section(path, place)) for place in known} == known


@pytest.mark.parametrize("how", ALTERED)
def test_what_of_the_sections_differs_is_told(how: str) -> None:
    path, before, after, told = ALTERED[how]
    assert ci_files.find_altered_sections(path, before, after) == told


def test_of_many_sections_three_are_named() -> None:
    assert list(ci_files.sections_named(["tool a", "it", "b", "c"])) == ["`tool.a`", "the file", "`b`"]


def test_what_a_line_runs_is_found_wherever_it_stands() -> None:
    assert [line for line, path in RUN_BY.items() if not ci_files.is_named(path, [line])] == []
    assert [name for name in PROGRAMS.split() if not ci_files.is_named("a", [f"{name} ./a"])] == []


def test_what_a_line_does_not_run_is_not_named_by_it() -> None:
    assert [path for path in ("web/a", "b", "x") if ci_files.is_named(path, ["./a x", "grep x b"])] == []
