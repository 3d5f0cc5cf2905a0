"""`cardinal check` where the gate runs: in a container of the policy's image."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bot.cli import main
from runner.workspaces.docker.backend import DEFAULT_IMAGE
from runner.workspaces.docker.sweeping import RUN_LABEL
from tests.bot.admin.clone.conftest import POLICY, commit
from tests.containers.engine import Bench
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
    left = api.containers(all=True, filters={"label": RUN_LABEL})
    assert not [each for each in left if each["Labels"][RUN_LABEL].startswith("local-")]
