"""Packages of a clone are not used where checks would test them in place of the agent's files."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from bot.admin.trial.installed import InstalledPackages, find_installed
from rules.policy.projects.proposal import propose
from runner.agents.contract import Layout
from runner.errors import WorkspaceError
from runner.workspaces.packages import binds_of

SITE = "lib/python3.12/site-packages"
LAYOUT = Layout(repo="/repo", home="/home", out="/out", python="python", player="/player", skills="/skills")
PYTHON = {"setup.py": "", "src/shop/__init__.py": "", "src/shop/cart.py": "", "src/till.py": ""}
NODE = {"package.json": '{"name": "shop"}', "packages/cart/package.json": '{"name": "@acme/cart"}'}


@pytest.fixture
def tmp_path(on_disk: Path) -> Path:
    return on_disk


def environment(top: Path, *names: str) -> None:
    """Make an environment with these files in it."""
    at = top / ".venv"
    for name in ("pyvenv.cfg", f"{SITE}/six.py", *names):
        (at / name).parent.mkdir(parents=True, exist_ok=True)
        (at / name).touch()
    (at / "bin").mkdir(exist_ok=True)
    (at / "bin" / "python").symlink_to(os.path.realpath(sys.executable))


def found(top: Path, files: Mapping[str, str]) -> InstalledPackages:
    """Return what is found in the clone whose commit has these files."""
    for name, text in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    manifests = {name: text for name, text in files.items() if name.endswith((".json", ".toml"))}
    return find_installed(top, files, manifests, propose(files, manifests))


@pytest.mark.parametrize(
    "copy",
    [
        f"{SITE}/shop/__init__.py",
        f"{SITE}/shop/__init__.cpython-312-x86_64-linux-gnu.so",
        f"{SITE}/till.py",
        f"{SITE}/Shop-1.0-py3.12.egg/shop/__init__.py",
        "src/shop/src/shop/__init__.py",
        "src/shop/shop/__init__.py",
    ],
)
def test_a_copy_of_the_repositorys_own_module_is_a_problem_under_any_name(tmp_path: Path, copy: str) -> None:
    environment(tmp_path, copy)
    installed = found(tmp_path, PYTHON)
    assert (installed.binds, len(installed.problems)) == ({}, 1)
    assert (
        "would be tested in place of the agent's files: `.venv/bin/pip install -e .`" in installed.problems[0]
    )


def test_modules_of_other_packages_are_none_of_the_repositorys(tmp_path: Path) -> None:
    own = {**PYTHON, "src/acme/till/__init__.py": "", "tests/__init__.py": "", "setup.py": ""}
    environment(tmp_path, f"{SITE}/acme/cart/__init__.py", f"{SITE}/tests/__init__.py", f"{SITE}/cart.py")
    (tmp_path / ".venv" / SITE / "shop").symlink_to(tmp_path / "src" / "shop")
    installed = found(tmp_path, own)
    assert (installed.problems, set(installed.binds.values())) == ((), {".venv"})


def test_what_an_editable_package_compiled_here_is_a_problem(tmp_path: Path) -> None:
    record = f"{SITE}/fast-1.0.dist-info"
    environment(tmp_path, f"{record}/RECORD")
    (tmp_path / ".venv" / record / "RECORD").write_text("fast/fast.abi3.so,,\n")
    url = {"url": tmp_path.as_uri(), "dir_info": {"editable": True}}
    (tmp_path / ".venv" / record / "direct_url.json").write_text(json.dumps(url))
    installed = found(tmp_path, {"Cargo.toml": "", "setup.py": ""})
    assert (installed.binds, len(installed.problems)) == ({}, 1)
    assert "fast as it was compiled here" in installed.problems[0]


def test_a_python_in_the_clone_or_around_it_is_not_shown(tmp_path: Path) -> None:
    for base in (tmp_path / "python", tmp_path / "clone" / "python"):
        (base / "lib" / "python3.12").mkdir(parents=True)
        (base / "lib" / "python3.12" / "os.py").touch()
        (base / "bin").mkdir()
        (base / "bin" / "python3").touch()
    inside, around = tmp_path / "clone", tmp_path / "python" / "clone"
    for top, base in ((inside, inside / "python"), (around, tmp_path / "python")):
        environment(top)
        (top / ".venv" / "bin" / "python").unlink()
        (top / ".venv" / "bin" / "python").symlink_to(base / "bin" / "python3")
        assert "make .venv with another Python" in found(top, PYTHON).problems[0]


@pytest.mark.parametrize(
    ("real", "link"),
    [
        ("node_modules/@acme/cart", ""),
        ("node_modules/.pnpm/cart@file+packages+cart/node_modules/@acme/cart", "node_modules/@acme/cart"),
        ("node_modules/.pnpm/shop@file+/node_modules/shop", "packages/cart/node_modules/shop"),
    ],
)
def test_a_copy_of_a_package_of_the_workspace_is_a_problem_behind_links(
    tmp_path: Path, real: str, link: str
) -> None:
    (tmp_path / real).mkdir(parents=True)
    (tmp_path / real / "package.json").touch()
    (tmp_path / "packages" / "cart" / "node_modules").mkdir(parents=True, exist_ok=True)
    if link:
        (tmp_path / link).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / link).symlink_to(tmp_path / real)
    installed = found(tmp_path, NODE)
    assert (installed.binds, len(installed.problems)) == ({}, 1)
    assert "would be tested in place of the agent's files" in installed.problems[0]


def test_a_link_to_a_package_of_the_workspace_is_none(tmp_path: Path) -> None:
    (tmp_path / "node_modules" / "@acme").mkdir(parents=True)
    (tmp_path / "node_modules" / "@acme" / "cart").symlink_to("../../packages/cart")
    assert found(tmp_path, NODE).binds == {"repo/node_modules": "node_modules"}


@pytest.mark.parametrize(
    ("copy", "python"), [(f".venv/{SITE}/shop/__init__.py", True), ("node_modules/shop/package.json", False)]
)
def test_a_copy_that_came_after_the_start_stops_the_checks(tmp_path: Path, copy: str, python: bool) -> None:
    (tmp_path / "room" / "repo").mkdir(parents=True)
    (tmp_path / "room" / "home").mkdir()
    top = tmp_path / "clone"
    environment(top) if python else (top / "node_modules").mkdir(parents=True)
    packages = found(top, PYTHON if python else NODE).packages(top, None)
    assert [*binds_of(packages, tmp_path / "room", LAYOUT)]
    (top / copy).parent.mkdir(parents=True)
    (top / copy).touch()
    with pytest.raises(WorkspaceError, match=f"{copy} would be tested in place of the agent's files"):
        [*binds_of(packages, tmp_path / "room", LAYOUT)]


def test_a_folder_that_became_reachable_by_a_link_is_not_shown(tmp_path: Path) -> None:
    top, own = tmp_path / "clone", {"packages/cart/package.json": '{"name": "cart"}'}
    (top / "packages" / "cart" / "node_modules").mkdir(parents=True)
    (tmp_path / "room" / "repo" / "packages" / "cart").mkdir(parents=True)
    packages = found(top, own).packages(top, None)
    assert len([*binds_of(packages, tmp_path / "room", LAYOUT)]) == 1
    (top / "packages").rename(tmp_path / "elsewhere")
    (top / "packages").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WorkspaceError, match="start the board again"):
        [*binds_of(packages, tmp_path / "room", LAYOUT)]


def test_what_a_commit_has_in_such_a_folder_is_checked_and_not_covered(tmp_path: Path) -> None:
    top, own = tmp_path / "clone", tmp_path / "room" / "repo" / "node_modules" / "left"
    (top / "node_modules").mkdir(parents=True)
    packages = found(top, NODE).packages(top, None)
    own.mkdir(parents=True)
    assert [*binds_of(packages, tmp_path / "room", LAYOUT)] == []
    own.rmdir()
    assert len([*binds_of(packages, tmp_path / "room", LAYOUT)]) == 1


@pytest.mark.parametrize(
    "first", ["#!{}/bin/python3\n", '#!/bin/sh\n\'\'\'exec\' "{}/bin/python" "$0" "$@"\n']
)
def test_an_environment_that_was_moved_or_copied_is_to_be_made_again(tmp_path: Path, first: str) -> None:
    environment(tmp_path)
    program = tmp_path / ".venv" / "bin" / "mypy"
    program.write_text(first.format(tmp_path / ".venv"))
    assert found(tmp_path, PYTHON).problems == ()
    program.write_text(first.format("/old clone/.venv"))
    said = ".venv was made as /old clone/.venv, so its programs do not start here: make .venv again"
    assert found(tmp_path, PYTHON).problems == (said,)
