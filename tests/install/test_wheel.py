"""The wheel is the same from every build, holds everything, and plays the demo without a checkout."""

import hashlib
import json
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from forge.demo.story import STEPS
from tests.house.source import PACKAGES
from tests.install.conftest import git, run

RECIPES = "bot/admin/images/recipes/"
HELP_OF_ALL = """
import click
from bot.cli import main
def walk(command, context):
    print(context.command_path, len(command.get_help(context)))
    for name in command.list_commands(context) if isinstance(command, click.Group) else ():
        inner = command.get_command(context, name)
        walk(inner, click.Context(inner, info_name=name, parent=context))
walk(main, click.Context(main, info_name="cardinal"))
"""


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_two_builds_of_a_commit_are_the_same_bytes(built: Path, commit: str, tmp_path: Path) -> None:
    run("scripts/build", commit, tmp_path)
    first, second = (
        {path.name: path.read_bytes() for path in folder.iterdir()} for folder in (built, tmp_path)
    )
    assert first == second
    lines = first.pop("SHA256SUMS").decode().splitlines()
    sums = {name: digest for digest, name in map(str.split, lines)}
    assert sums == {name: hashlib.sha256(data).hexdigest() for name, data in first.items()}


def test_the_wheel_holds_every_file_of_the_packages_and_every_recipe(wheel: Path, commit: str) -> None:
    tracked = set(git("ls-tree", "-r", "--name-only", commit).splitlines())
    ours = {name for name in contents(wheel) if ".dist-info/" not in name}
    recipes = {name for name in ours if name.startswith(RECIPES)}
    of_packages = {name for name in tracked if name.split("/")[0] in PACKAGES and RECIPES not in name}
    assert ours - recipes == of_packages
    recipes = {name.removeprefix(RECIPES) for name in recipes}
    assert recipes <= tracked
    needed = {"app.yml", "pyproject.toml", "README.md", ".dockerignore", "scripts/images"}
    assert recipes >= needed | {name for name in tracked if name.startswith("docker/")}
    assert "requirements/dev.txt" not in recipes


def test_the_source_makes_the_same_wheel(built: Path, wheel: Path, commit: str, tmp_path: Path) -> None:
    run("tar", "xf", next(built.glob("*.tar.gz")), cwd=tmp_path)
    (source,) = tmp_path.iterdir()
    code = "from setuptools import build_meta; build_meta.build_wheel('..')"
    run(sys.executable, "-P", "-c", code, cwd=source)
    assert contents(tmp_path / wheel.name) == contents(wheel)


def test_every_command_says_what_it_is_for_without_a_checkout(
    cardinal: Path, commit: str, tmp_path: Path
) -> None:
    version = metadata.version("cardinal-board")
    assert run(cardinal, "--version", cwd=tmp_path) == f"cardinal {version} {commit}\n"
    lines = run(cardinal.with_name("python"), "-P", "-c", HELP_OF_ALL, cwd=tmp_path).splitlines()
    paths = {line.rpartition(" ")[0] for line in lines}
    assert {
        f"cardinal {name}" for name in ("demo", "doctor", "images", "init", "up", "audit verify")
    } <= paths
    assert Path(run(cardinal, "images", "--compose-file", cwd=tmp_path).strip()).is_file()


@pytest.mark.timeout(480)
def test_the_demo_plays_the_whole_story_and_saw_every_step(cardinal: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    run(cardinal, "demo", "--auto", "--json", report, cwd=tmp_path, limit_s=260)
    steps = [observed["step"] for observed in json.loads(report.read_text())]
    assert steps[: len(STEPS)] == [step.name for step in STEPS]
    assert steps[-1] == "the hash chain is verified"
    assert list(tmp_path.iterdir()) == [report]
