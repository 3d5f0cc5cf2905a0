"""Packages that a person has put into a folder of the clone: checks use them there, and offers are true."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.admin.trial import trial
from bot.admin.trial.checks import look_at_checks, store_packages
from bot.admin.trial.in_folder import IN_FOLDER
from bot.cli import main
from tests.bot.admin.clone.conftest import commit
from tests.runner.world import git

PROJECTS = {
    "go": ({"go.mod": "module a\n", "go.sum": "a v1.0.0\n"}, "go mod download"),
    "rust": ({"Cargo.toml": '[package]\nname = "a"\n[dependencies]\nb = "1"\n'}, "cargo fetch"),
    "ruby": (
        {"Gemfile": 'gem "rspec"\n', ".rspec": ""},
        "bundle config set --global path ~/bundle && bundle install",
    ),
    "php": ({"composer.json": "{}", "phpunit.xml": ""}, "composer install"),
}
NODE = {"package.json": '{"scripts": {"test": "jest"}, "devDependencies": {"jest": "1"}}'}
ROWS = {row.language: row for row in IN_FOLDER}
CANNOT = "The scripted agent skips them for now: it cannot fetch packages. A real agent's container can."


@pytest.fixture
def tmp_path(on_disk: Path) -> Path:
    return on_disk


def without_policy(clone: Path, **files: str) -> trial.Trial:
    git(clone, "rm", "--quiet", ".github/cardinal.yml")
    commit(clone, **files)
    git(clone, "branch", "--force", "main", "work")
    git(clone, "switch", "--quiet", "main")
    return trial.find(clone, "main")


@pytest.mark.parametrize("language", PROJECTS)
@pytest.mark.parametrize("below", ["", "part/"])
def test_the_offered_line_makes_the_folder_that_checks_use(clone: Path, language: str, below: str) -> None:
    files, set_up = PROJECTS[language]
    row = ROWS[language]
    place = without_policy(clone, **{f"{below}{name}": text for name, text in files.items()})
    checks = look_at_checks(place, "scripted")
    assert checks.offline
    line = f"(cd part && {row.line})" if below else row.line
    assert f"Install them in this clone with `{line}`, and start it again" in checks.notes[0]
    folder = f"{below}{row.folder}"
    (clone / folder / row.made).mkdir(parents=True)
    checks = look_at_checks(place, "scripted")
    assert not checks.offline
    assert checks.packages is not None
    assert (checks.packages.binds, checks.packages.setup[0]) == ({f"repo/{folder}": folder}, set_up)
    assert checks.notes[0] == f"The set-up is skipped: checks use {folder} of this clone, read-only."


@pytest.mark.parametrize(
    "files",
    [
        {"mix.exs": ""},  # nothing of Elixir is known that would do without its home
        {"mix.exs": "", **PROJECTS["go"][0]},
        {**PROJECTS["rust"][0], ".cargo/config.toml": ""},  # the line would write over it
        {
            "pyproject.toml": "[tool.hatch.envs.default.scripts]\ntest = 'pytest'\n"
        },  # it has a folder of its own
        {
            "a/uv.lock": "",
            "a/pyproject.toml": "[tool.pytest.ini_options]\n",
        },  # so has each part of a monorepo
        {**NODE, "node_modules/a/package.json": ""},  # checks use what the commit has
    ],
)
def test_where_no_line_would_help_none_is_offered(clone: Path, files: dict[str, str]) -> None:
    assert look_at_checks(without_policy(clone, **files), "scripted").notes[0] == CANNOT


@pytest.mark.parametrize(
    ("lock", "line"),
    [
        ("poetry.lock", "POETRY_VIRTUALENVS_IN_PROJECT=1 poetry install"),
        ("pdm.lock", "pdm sync"),
        ("uv.lock", "uv sync --locked"),
    ],
)
def test_the_offered_line_makes_an_environment_in_the_clone(clone: Path, lock: str, line: str) -> None:
    files = {lock: "", "pyproject.toml": "[tool.pytest.ini_options]\n"}
    said = look_at_checks(without_policy(clone, **files), "scripted").notes[0]
    assert f"Install them in this clone with `{line}`, and start it again" in said


@pytest.mark.parametrize(
    ("language", "file", "text"),
    [
        ("rust", "config.toml", '[registries.mine]\ntoken = "secret"\n'),
        ("ruby", "config", '---\nBUNDLE_GEMS__EXAMPLE__COM: "me:secret"\n'),
    ],
)
def test_settings_that_may_hold_a_password_are_not_shown(
    clone: Path, language: str, file: str, text: str
) -> None:
    row = ROWS[language]
    place = without_policy(clone, **PROJECTS[language][0])
    (clone / row.folder / row.made).mkdir(parents=True)
    (clone / row.folder / file).write_text(text)
    checks = look_at_checks(place, "scripted")
    assert (checks.offline, checks.packages) == (True, None)
    said = f"{row.folder}/{file} may hold a password, so checks do not see {row.folder}"
    assert checks.notes[0].startswith(said)
    assert checks.notes[1].endswith("the scripted agent skips them: it cannot fetch packages.")


@pytest.mark.parametrize("below", ["", "part/"])
def test_check_sees_what_the_boards_checks_see(clone: Path, below: str) -> None:
    files = {**PROJECTS["php"][0], "answer": "new"}
    place = without_policy(clone, **{f"{below}{name}": text for name, text in files.items()})
    vendor = clone / f"{below}vendor"
    (vendor / "bin").mkdir(parents=True)
    (vendor / "autoload.php").touch()
    (vendor / "bin/phpunit").write_text("#!/bin/sh\ngrep right answer\n")
    (vendor / "bin/phpunit").chmod(0o755)
    checks = look_at_checks(place, "scripted")
    trial.write(place, "scripted", checks.proposal, {}, offline=checks.offline)
    store_packages(place, checks)

    for answer, code, said in (("right", 0, "passed in"), ("wrong", 1, "failed, exit code 1")):
        commit(clone, **{f"{below}answer": answer, ".gitignore": "vendor\n"})
        done = CliRunner().invoke(main, ("check", "-C", str(clone), "--base", "HEAD~1"))
        assert (done.exit_code, "composer install" in done.output) == (code, False), done.output
        assert f"vendor/bin/phpunit: {said}" in done.output
