"""The package manager that a project names sets it up; every line is a valid policy."""

import pytest

from rules.policy.model import parse_repository
from rules.policy.projects.files import is_manifest
from rules.policy.projects.installers import INSTALLERS
from rules.policy.projects.proposal import markers, propose

SCRIPTS = '"scripts": {"test": "vitest"}, "devDependencies": {"vitest": "1"}'
PACKAGE = f"{{{SCRIPTS}}}"
PYTEST = "[tool.pytest.ini_options]\n"
PROJECT = "[project]\nname = 'a'\n[project.optional-dependencies]\ntest = []\ndocs = []\n"
GROUPS = "[dependency-groups]\ndocs = ['x']\nqa = ['ruff>=1']\ndev = ['pytest', {include-group = 'qa'}]\n"
OPTIONAL = "[tool.poetry.group.test]\noptional = true\n[tool.poetry.group.docs]\noptional = true\n"
CRATE = "[package]\nname = 'a'\n[dependencies]\nb = '1'\n"
VENV = "python3 -m venv --system-site-packages ~/venv && ~/venv/bin/pip install -q"
FROZEN, BERRY = " install --frozen-lockfile", "yarn install --immutable"
BUNDLE = "bundle config set --global path ~/bundle && bundle install"


def named(manager: str) -> str:
    return f'{{"packageManager": "{manager}", {SCRIPTS}}}'


def engine(manager: str) -> str:
    return f'{{"devEngines": {{"packageManager": {{"name": "{manager}"}}}}, {SCRIPTS}}}'


@pytest.mark.parametrize(
    ("files", "setup", "full"),
    [
        ({"package.json": named("pnpm@9.0.0"), "pnpm-lock.yaml": ""}, f"pnpm{FROZEN}", "pnpm test"),
        ({"package.json": named("pnpm@9.0.0+sha512.a"), "bun.lock": ""}, "pnpm install", "pnpm test"),
        ({"package.json": PACKAGE, "pnpm-lock.yaml": ""}, f"pnpm{FROZEN}", "pnpm test"),
        ({"package.json": engine("pnpm")}, "pnpm install", "pnpm test"),
        ({"package.json": named("yarn@1.22.1"), "yarn.lock": ""}, f"yarn{FROZEN}", "yarn test"),
        ({"package.json": PACKAGE, "yarn.lock": ""}, f"yarn{FROZEN}", "yarn test"),
        ({"package.json": named("yarn@4.1.0+sha224.ab"), "yarn.lock": ""}, BERRY, "yarn test"),
        ({"package.json": PACKAGE, "yarn.lock": "", ".yarnrc.yml": ""}, BERRY, "yarn test"),
        ({"package.json": PACKAGE, "bun.lock": ""}, f"bun{FROZEN}", "bun run test"),
        ({"package.json": PACKAGE, "bun.lockb": ""}, f"bun{FROZEN}", "bun run test"),
        ({"package.json": f"\ufeff{named('bun@1.2')}"}, "bun install", "bun run test"),
        ({"package.json": PACKAGE, "npm-shrinkwrap.json": ""}, "npm ci", "npm test"),
        ({"package.json": named("npm@10.1.0"), "yarn.lock": ""}, "npm install", "npm test"),
        ({"package.json": f"\ufeff{PACKAGE}"}, "npm install", "npm test"),
        (
            {"pyproject.toml": f"{PROJECT}{GROUPS}{PYTEST}", "uv.lock": ""},
            "uv sync --locked --group dev --extra test",
            "uv run --no-sync python -m pytest -q",
        ),
        (
            {"pyproject.toml": f"{PYTEST}[tool.uv]\n[dependency-groups]\nunit = ['pytest']\n"},
            "uv sync --group unit",
            "uv run --no-sync python -m pytest -q",
        ),
        (
            {"pyproject.toml": f"{PYTEST}{OPTIONAL}", "poetry.lock": ""},
            "poetry install --with test",
            "poetry run python -m pytest -q",
        ),
        (
            {"pyproject.toml": f"{PYTEST}[tool.poetry.dependencies]\npython = '3'\n"},
            "poetry install",
            "poetry run python -m pytest -q",
        ),
        (
            {"pyproject.toml": f"{PROJECT}{PYTEST}[tool.uv]\n", "pdm.lock": ""},
            "pdm sync -G test",
            "pdm run python -m pytest -q",
        ),
        ({"Pipfile": "", "Pipfile.lock": "", "pytest.ini": ""}, "pipenv sync --dev",
         "pipenv run python -m pytest -q"),
        (
            {"pyproject.toml": f"{PYTEST}[dependency-groups]\ndev = ['pytest']\n'a b; c' = ['pytest']\n"},
            f"{VENV} 'pip>=25.1' && ~/venv/bin/pip install -q pytest --group dev",
            "~/venv/bin/python -m pytest -q",
        ),
        ({"go.mod": "", "go.sum": ""}, "go mod download", "go test ./..."),
        ({"go.mod": "", "go.sum": "", "vendor/modules.txt": ""}, "", "go test ./..."),
        ({"Cargo.toml": CRATE}, "cargo fetch", "cargo test"),
        ({"Cargo.toml": "[workspace]\n", "Cargo.lock": ""}, "cargo fetch --locked", "cargo test --workspace"),
        ({"Gemfile": 'gem "rspec"\n', ".rspec": ""}, BUNDLE, "bundle exec rspec"),
        ({"composer.json": '{"scripts": {"test": "x"}}'}, "composer install", "composer run-script test"),
        ({"pom.xml": "", "mvnw": ""}, "./mvnw -B -q dependency:go-offline", "./mvnw -B -q test"),
        ({"pom.xml": ""}, "mvn -B -q dependency:go-offline", "mvn -B -q test"),
        ({"build.gradle.kts": "", "gradlew": ""}, "./gradlew -q testClasses", "./gradlew test"),
        ({"settings.gradle": ""}, "gradle -q testClasses", "gradle test"),
        ({"mix.exs": ""}, "mix local.hex --force && mix local.rebar --force && mix deps.get", "mix test"),
        ({"Cargo.toml": CRATE, "Cargo.lock": "", "vendor/b/.cargo-checksum.json": ""}, "", "cargo test"),
        ({"Makefile.PL": "", "t/a.t": ""}, "", "prove -lr t"),
        ({"dist.ini": "", "lib/A.xs": "", "t/a/b.t": ""}, "", "prove -lr t"),
        ({"Makefile.PL": "", "A.xs": "", "t/a.t": ""}, "", "perl Makefile.PL && make test"),
        (
            {"cpanfile": "", "Build.PL": "", "t/a.t": ""},
            "cpanm -q -l ~/perl5 --installdeps .",
            "PERL5LIB=~/perl5/lib/perl5 prove -lr t",
        ),
        ({"deno.json": '{"imports": {"a": "jsr:a"}}', "lib/a_test.ts": ""}, "deno install", "deno test"),
    ],
)  # fmt: skip
def test_the_manager_that_the_project_names_sets_it_up(files: dict[str, str], setup: str, full: str) -> None:
    proposal = propose(files.keys(), {name: files[name] for name in markers(files)})
    assert (proposal.setup, proposal.full) == ((setup,) if setup else (), (full,))
    rules = parse_repository(proposal.text())
    assert rules.validation is not None
    assert (rules.setup, rules.validation.full) == (proposal.setup, proposal.full)


@pytest.mark.parametrize(
    ("root", "setup", "test"),
    [
        ({"package.json": "{}", "pnpm-workspace.yaml": "", "pnpm-lock.yaml": ""},
         f"pnpm{FROZEN}", "pnpm test"),
        ({"package.json": '{"workspaces": ["packages/*"]}', "yarn.lock": ""},
         f"yarn{FROZEN}", "yarn test"),
        ({"package.json": '{"workspaces": ["packages/*"]}', "package-lock.json": ""}, "npm ci", "npm test"),
    ],
)  # fmt: skip
def test_the_root_sets_up_the_packages_of_its_workspace_once(
    root: dict[str, str], setup: str, test: str
) -> None:
    files = root | {"packages/a/package.json": PACKAGE, "packages/b/package.json": PACKAGE}
    proposal = propose(files.keys(), files)
    assert (proposal.setup, proposal.full) == ((setup,), ())
    assert {name: (part.setup, part.full) for name, part in proposal.paths.items()} == {
        "packages/a": ((), (test,)),
        "packages/b": ((), (test,)),
    }
    assert parse_repository(proposal.text()).setup == (setup,)


def test_packages_that_belong_to_no_workspace_set_themselves_up() -> None:
    files = {"pnpm-lock.yaml": "", "package.json": "{}", "web/package.json": PACKAGE, "web/yarn.lock": ""}
    proposal = propose(files.keys(), files)
    assert proposal.setup == ()
    assert proposal.paths["web"].setup == (f"yarn{FROZEN}",)


def test_a_folder_with_the_file_of_any_manager_is_looked_into() -> None:
    files = {fact for row in INSTALLERS for fact in row.here if not fact.startswith(".") and "*" not in fact}
    assert [name for name in files if not is_manifest(name)] == []
