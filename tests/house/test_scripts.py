"""The scripts do what their first lines say, wherever the repository lies and whoever calls them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.house.source import ROOT, tracked

SCRIPTS = [path for path in tracked() if path.startswith(("scripts/", ".ci/"))]


def run(*command: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("path", SCRIPTS)
def test_a_script_can_be_executed_and_says_what_it_is_for(path: str) -> None:
    first, second = (ROOT / path).read_text(encoding="utf-8").splitlines()[:2]
    assert os.access(ROOT / path, os.X_OK)
    assert first.startswith("#!/usr/bin/env ")
    assert second.startswith(("# ", '"""'))


def test_setup_that_was_done_is_not_done_again(tmp_path: Path) -> None:
    for name in ("scripts/setup", "requirements/dev.txt", "pyproject.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    python = tmp_path / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    python.chmod(0o755)
    first, second = (run("bash", "scripts/setup", cwd=tmp_path) for _ in range(2))
    assert "done in" in first.stdout
    assert (second.returncode, second.stdout) == (0, "")
    (tmp_path / "requirements/dev.txt").write_text("changed==1\n", encoding="utf-8")
    assert "done in" in run("bash", "scripts/setup", cwd=tmp_path).stdout


@pytest.mark.parametrize(
    ("option", "lists"), [((), ("build", "app", "extras", "dev")), (("--demo",), ("build", "app"))]
)
def test_setup_installs_each_package_once_by_its_hashes_and_fails_where_one_of_them_does(
    tmp_path: Path, option: tuple[str, ...], lists: tuple[str, ...]
) -> None:
    for name in ("scripts/setup", "pyproject.toml", *(f"requirements/{name}.txt" for name in lists)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    python = tmp_path / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    lines = (
        "#!/bin/sh",
        "for word in $*; do case $word in --requirement=*)",
        f"  asked=$(mktemp {tmp_path}/asked-XXXXXX); cat ${{word#--requirement=}} >$asked",
        "  ! grep ^no-such $asked",
        "esac; done",
    )
    python.write_text("\n".join(lines), encoding="utf-8")
    python.chmod(0o755)
    assert run("bash", "scripts/setup", *option, cwd=tmp_path).returncode == 0
    asked = "".join(path.read_text(encoding="utf-8") for path in tmp_path.glob("asked-*"))
    wanted = "".join((tmp_path / f"requirements/{name}.txt").read_text(encoding="utf-8") for name in lists)
    assert sorted(asked.splitlines()) == sorted(wanted.splitlines())
    with (tmp_path / f"requirements/{lists[-1]}.txt").open("a", encoding="utf-8") as last:
        last.write("no-such==1\n")
    assert run("bash", "scripts/setup", *option, cwd=tmp_path).returncode != 0


@pytest.mark.parametrize("files", [(), ("rules/a.py", "bot/b.py")])
def test_a_commit_checks_its_own_files_and_a_push_the_whole_tree(
    tmp_path: Path, files: tuple[str, ...]
) -> None:
    for name in ("scripts/check", "scripts/fix"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    tools = [
        tmp_path / "scripts/setup",
        *(tmp_path / ".venv/bin" / it for it in ("ruff", "mypy", "lint-imports", "vulture")),
    ]
    for tool in tools:
        tool.parent.mkdir(parents=True, exist_ok=True)
        tool.write_text('#!/bin/sh\necho "ran ${0##*/} $*"\n', encoding="utf-8")
        tool.chmod(0o755)
    said = "".join(run("bash", f"scripts/{name}", *files, cwd=tmp_path).stdout for name in ("fix", "check"))
    ran = [line.removeprefix("ran ").rstrip() for line in said.splitlines() if line.startswith("ran ")]
    which = " ".join(files)
    found = [
        f"ruff check --fix {which or '.'}",
        f"ruff format {which or '.'}",
        "setup",
        f"ruff check {which or '.'}",
    ]
    types = [f"ruff format --check {which or '.'}", f"mypy {which}".rstrip(), "lint-imports"]
    assert ran == ["setup", *found, *types, *(() if files else ("vulture",))]


def test_setup_refuses_an_option_that_it_does_not_know() -> None:
    assert run("scripts/setup", "--dem").returncode == 2


def test_a_suite_that_does_not_exist_is_an_error() -> None:
    result = run("scripts/test", "no-such-suite")
    assert result.returncode == 2
    assert "no-such-suite" in result.stderr


def test_a_database_lives_as_long_as_the_command_that_needs_it_and_the_exit_code_is_the_commands() -> None:
    if not list(Path("/usr/lib/postgresql").glob("*/bin/postgres")):
        pytest.skip("needs PostgreSQL's programs: scripts/services says how to install them")
    ask = (
        "import os, sqlalchemy; engine = sqlalchemy.create_engine(os.environ['CARDINAL_TEST_POSTGRESQL']);"
        "engine.connect(); print(engine.url); raise SystemExit(7)"
    )
    result = run("scripts/services", ".venv/bin/python", "-W", "ignore", "-c", ask)
    assert result.returncode == 7, result.stderr
    folder = Path(result.stdout.strip().rsplit("host=", 1)[1].replace("%2F", "/"))
    assert folder.name.startswith("cardinal-pg.")
    assert not folder.exists()


def bare_machine(folder: Path, *, user_id: int) -> str:
    """Return a PATH without git, bubblewrap and browser, on which apt-get only notes what it is asked."""
    for name in ("bash", "env", "dirname", "ls", "sort", "tail"):
        (folder / name).symlink_to(shutil.which(name) or name)
    stubs = {"id": f"echo {user_id}", "apt-get": f'echo "$@" >>{folder}/asked', "python3": "exit 0"}
    for name, line in stubs.items():
        (folder / name).write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
        (folder / name).chmod(0o755)
    return str(folder)


def test_root_on_debian_gets_what_is_missing_installed(tmp_path: Path) -> None:
    result = run("scripts/services", PATH=bare_machine(tmp_path, user_id=0), CI="true")
    assert result.returncode == 0, result.stderr
    update, install = (tmp_path / "asked").read_text(encoding="utf-8").splitlines()
    assert update.startswith("update")
    assert {"git", "bubblewrap", "chromium-headless-shell"} <= set(install.split())


@pytest.mark.parametrize("known", [True, False], ids=["Debian", "Ubuntu"])
def test_the_chromium_that_is_there_does_where_there_is_no_smaller_one(tmp_path: Path, known: bool) -> None:
    path = bare_machine(tmp_path, user_id=0)
    for name, code in (("chromium", 0), ("apt-cache", 0 if known else 100)):
        (tmp_path / name).write_text(f"#!/bin/sh\nexit {code}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    assert run("scripts/services", PATH=path, CI="true").returncode == 0
    assert ("chromium-headless-shell" in (tmp_path / "asked").read_text(encoding="utf-8")) == known


def test_a_suite_begins_with_what_the_machine_lacks_where_there_is_no_python_yet(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "tests/install").mkdir(parents=True)
    for name in ("test", "services"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts")
    setup = tmp_path / "scripts/setup"
    setup.write_text(f"#!/bin/sh\necho set-up >>{tmp_path}/asked\nexit 7\n", encoding="utf-8")
    setup.chmod(0o755)
    result = run(str(tmp_path / "scripts/test"), "install", PATH=bare_machine(tmp_path, user_id=0), CI="true")
    assert result.returncode == 7, result.stderr
    asked = (tmp_path / "asked").read_text(encoding="utf-8").splitlines()
    assert [line.split()[0] for line in asked] == ["update", "install", "set-up"]


def test_others_are_told_what_to_install_and_in_ci_that_is_the_end(tmp_path: Path) -> None:
    path = bare_machine(tmp_path, user_id=1000)
    told = run("scripts/services", PATH=path, CI="")
    assert told.returncode == 0
    assert "apt-get install git bubblewrap chromium-headless-shell" in told.stderr
    assert run("scripts/services", PATH=path, CI="true").returncode == 1
    assert not (tmp_path / "asked").exists()
