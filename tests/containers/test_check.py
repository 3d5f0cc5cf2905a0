"""`cardinal check` where the gate runs: in a container of the policy's image."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bot.cli import main
from forge.demo.people import wait_for
from runner.workspaces.backends.docker import RUN_LABEL
from runner.workspaces.contract import DEFAULT_IMAGE
from tests.bot.admin.clone.conftest import POLICY, commit
from tests.containers.engine import Bench
from tests.house.source import ROOT
from tests.runner.world import git


def test_a_clone_is_checked_in_the_image_of_the_gate_and_no_container_is_left(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch=main", "shop")
    commit(tmp_path / "shop", policy=POLICY.replace("grep -q right answer", "test -e /.dockerenv"), answer="")
    monkeypatch.setenv("CARDINAL_WORKSPACE", "docker")
    done = CliRunner().invoke(main, ("check", "-C", str(tmp_path / "shop")))
    assert done.exit_code == 0, done.output
    api: Any = bench.api  # untyped
    assert f"image {api.inspect_image(DEFAULT_IMAGE)['Id']}" in done.output
    assert not containers(api)


def containers(api: Any) -> list[Any]:
    """Return the containers of checks, running or not."""
    left = api.containers(all=True, filters={"label": RUN_LABEL})
    return [each for each in left if each["Labels"][RUN_LABEL].startswith("local-")]


def test_the_container_of_a_killed_check_is_removed_by_the_next(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch=main", "shop")
    waiting = POLICY.replace("grep -q right answer", "sleep 300")
    commit(tmp_path / "shop", policy=waiting, answer="")
    monkeypatch.setenv("CARDINAL_WORKSPACE", "docker")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    args = (sys.executable, "-P", "-m", "bot.cli", "check")
    with subprocess.Popen(args, cwd=tmp_path / "shop", stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "test -f made: passed" in line:
                break
        wait_for("its container", lambda: "there" if containers(bench.api) else None, limit_s=60)
        process.kill()
    assert containers(bench.api)
    done = CliRunner().invoke(main, ("check", "--fast", "-C", str(tmp_path / "shop")))
    assert done.exit_code == 0, done.output
    assert not containers(bench.api)
