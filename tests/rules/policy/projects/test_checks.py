"""Tests and quick checks come from a project's own files; what changes files is no check."""

import pytest

from rules.policy.model import parse_repository
from rules.policy.projects.proposal import markers, propose

DEV = '"devDependencies": {"eslint": "1", "prettier": "1", "typescript": "1", "@biomejs/biome": "1"}'
PRESETS = """{
  "configurePresets": [{"name": "base", "hidden": true}, {"name": "dev"}, {"name": "mac", "condition": 0}],
  "buildPresets": [{"name": "x; y", "configurePreset": "dev"}, {"name": "build", "configurePreset": "dev"}],
  "testPresets": [{"name": "m", "configurePreset": "mac"}, {"name": "all", "configurePreset": "dev"}]
}"""
CMAKE = "cmake -S . -B ~/build && cmake --build ~/build", "ctest --test-dir ~/build --output-on-failure"
PRESET = "cmake --preset dev && cmake --build --preset build", "ctest --preset all --output-on-failure"
JUST = "x := '1'\n\n@test *args: build\n    cargo test {{args}}\n\nlint mode='all':\n    clippy\n"
TASKS = "version: 3\nvars: {test: 1}\ntasks:\n  build:\n    vars:\n      check: 1\n  test:\n    cmds: [x]\n"
RAKE = "Rake::TestTask.new(:test)\n"


@pytest.mark.parametrize(
    ("files", "full"),
    [
        ({"GNUmakefile": "test: x\n\tx\n", "Makefile": "check:\n"}, ("make test",)),
        ({"GNUmakefile": "all:\n", "Makefile": "test:\n"}, ()),  # make reads the first alone
        ({"makefile": "lint test:: x\n\tx\n"}, ("make test",)),
        ({"Makefile": "check: all\n"}, ("make check",)),
        ({"Makefile": "test: X = 1\n"}, ()),
        ({"Makefile": "test ::= 1\ncheck ?= 1\n# test:\nall:\n\ttest: x\n"}, ()),
        ({"justfile": JUST}, ("just test",)),
        ({"Justfile": JUST}, ("just test",)),
        ({".justfile": JUST}, ("just test",)),
        ({"justfile": "test name:\n    x\n"}, ()),
        ({"justfile": "test +names:\n    x\n"}, ()),
        ({"justfile": "test := 'x'\n"}, ()),
        ({"Taskfile.yml": TASKS}, ("task test",)),
        ({"Taskfile.yml": "tasks:\n  build:\n    test: x\n"}, ()),
        ({"CMakeLists.txt": "project(a)\nenable_testing()\n"}, CMAKE),
        ({"CMakeLists.txt": "Include( CTest )\n"}, CMAKE),
        ({"CMakeLists.txt": "# enable_testing()\n"}, ()),
        ({"CMakeLists.txt": "enable_testing()\n", "CMakePresets.json": PRESETS}, PRESET),
        ({"CMakeLists.txt": "enable_testing()\n", "CMakePresets.json": '{"testPresets": 1}'}, CMAKE),
        ({"Gemfile": "", "spec/models/a_spec.rb": ""}, ("bundle exec rspec",)),
        ({"Gemfile": "", "Rakefile": RAKE, "test/a_test.rb": ""}, ("bundle exec rake test",)),
        ({"Gemfile": "", "Rakefile": "", "bin/rails": "", "test/models/a_test.rb": ""}, ("bin/rails test",)),
        ({"Gemfile": ""}, ()),
        ({"composer.json": "{}", "phpunit.xml.dist": ""}, ("vendor/bin/phpunit",)),
        ({"deno.jsonc": '{ // "a"\n "tasks": {"test": "x // y",}, /* b'}, ()),
        ({"deno.jsonc": '{ // "a"\n "tasks": {"test": "x // y",}, /* b */}'}, ("deno task test",)),
        ({"package.json": '{ // a\n"scripts": {"test": "x"}}'}, ()),  # npm refuses it as well
        ({"pyproject.toml": "[tool.hatch.envs.default.scripts]\ntest = 'pytest'\n"}, ("hatch run test",)),
        ({"tox.ini": "[testenv]\ncommands = x\n"}, ("~/venv/bin/tox run -e py --skip-pkg-install",)),
        ({"noxfile.py": "@nox.session\ndef tests(session):\n    x\n"}, ("~/venv/bin/nox -R -s tests",)),
        ({"pyproject.toml": "[tool.ruff]\n[tool.pytest]\n[[["}, ("~/venv/bin/python -m pytest -q",)),
    ],
)  # fmt: skip
def test_the_files_name_the_tests(files: dict[str, str], full: tuple[str, ...]) -> None:
    proposal = propose(files.keys(), {name: files[name] for name in markers(files)})
    assert proposal.full == full
    parse_repository(proposal.text())


@pytest.mark.parametrize(
    ("files", "fast"),
    [
        ({"package.json": '{"scripts": {"lint": "x", "typecheck": "y", "format:check": "z"}}'},
         ("npm run lint", "npm run typecheck", "npm run format:check")),
        ({"package.json": '{"scripts": {"lint": "eslint --fix ."}}'}, ()),
        ({"package.json": '{"scripts": {"lint": "prettier -w ."}}', "pnpm-lock.yaml": ""}, ()),
        ({"package.json": f"{{{DEV}}}", "eslint.config.mjs": "", ".prettierrc": "", "tsconfig.json": ""},
         ("npx eslint .", "npx prettier --check .", "npx tsc --noEmit")),
        ({"package.json": f"{{{DEV}}}", "biome.jsonc": "", "yarn.lock": ""},
         ("yarn run --silent biome check .",)),
        ({"package.json": f'{{"scripts": {{"fmt": "prettier --write src"}}, {DEV}}}', ".prettierrc": ""},
         ()),  # nobody checks the other files
        ({"package.json": f"{{{DEV}}}"}, ()),  # installed, and not set up
        ({"package.json": "{}", ".eslintrc.json": "", "tsconfig.json": ""}, ()),  # set up, and not installed
        ({"pyproject.toml": "[tool.ruff]\n"}, ("~/venv/bin/ruff check .",)),
        ({"pyproject.toml": "[tool.ruff.format]\n[tool.mypy]\nfiles = ['a']\n"},
         ("~/venv/bin/ruff check .", "~/venv/bin/ruff format --check .", "~/venv/bin/mypy")),
        ({"pyproject.toml": "[tool.mypy]\nstrict = true\n"}, ()),  # nothing says what it is to look at
        ({"pyproject.toml": "[tool.ruff]\n", "uv.lock": ""}, ()),  # `uv sync` does not install it
        ({"pyproject.toml": "[tool.ruff]\n[dependency-groups]\nqa = ['ruff==1']\n", "uv.lock": ""},
         ("uv run --no-sync ruff check .",)),
        ({"setup.cfg": "[flake8]\n"}, ("~/venv/bin/flake8",)),
        ({"go.mod": "", ".golangci.yaml": ""}, ("golangci-lint run",)),
        ({"Cargo.toml": "", "rustfmt.toml": ""}, ("cargo fmt --check",)),
        ({"Gemfile": "gem 'rubocop-rails'\n", "Gemfile.lock": "GEM\n    rubocop (1.0)\n", ".rubocop.yml": ""},
         ("bundle exec rubocop",)),
        ({"Gemfile": "# gem 'rubocop'\n", ".rubocop.yml": ""}, ()),
        ({"composer.json": '{"require-dev": {"phpstan/phpstan": "1"}}', "phpstan.neon": ""},
         ("vendor/bin/phpstan analyse",)),
        ({"mix.exs": "", ".formatter.exs": ""}, ("mix format --check-formatted",)),
        ({"deno.json": '{"fmt": {}, "lint": {}}'}, ("deno lint", "deno fmt --check")),
        ({"Makefile": "test:\n\tx\nlint:\n\truff check\nfmt-check:\n\truff format --fix\n"}, ("make lint",)),
        ({"Makefile": "test:\n\tx\n", "pyproject.toml": "[tool.ruff]\n"}, ("~/venv/bin/ruff check .",)),
        ({"justfile": JUST, "Cargo.toml": "", "rustfmt.toml": ""}, ("just lint",)),
    ],
)  # fmt: skip
def test_quick_checks_are_fast_where_the_project_names_them_and_installs_them(
    files: dict[str, str], fast: tuple[str, ...]
) -> None:
    proposal = propose(files.keys(), {name: files[name] for name in markers(files)})
    assert proposal.fast == fast
    rules = parse_repository(proposal.text())
    if fast:
        assert rules.validation is not None
        assert rules.validation.fast == fast


def test_quick_checks_of_the_root_stay_beside_the_paths_with_tests() -> None:
    files = {
        "package.json": '{"scripts": {"lint": "x"}}',
        "web/package.json": '{"scripts": {"test": "x", "lint": "y"}}',
    }
    proposal = propose(files.keys(), files)
    assert (proposal.fast, proposal.paths["web"].fast) == (("npm run lint",), ("npm run lint",))
    rules = parse_repository(proposal.text())
    assert rules.paths["web"].validation.full == ("npm test",)
    assert proposal.because == ("package.json", "web/package.json")


def test_a_target_brings_what_the_languages_install_in_their_place() -> None:
    files = {"Makefile": "test:\n\tx\n", "package.json": '{"dependencies": {"a": "1"}}', "bun.lock": ""}
    proposal = propose(files.keys(), files)
    assert (proposal.setup, proposal.full) == (("bun install --frozen-lockfile",), ("make test",))


def test_the_programs_that_no_line_names_are_known() -> None:
    files = {"pom.xml": "", "mvnw": ""}
    assert [*propose(files.keys(), files).commands()][-1] == "java"
