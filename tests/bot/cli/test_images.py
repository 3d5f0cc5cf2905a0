"""`cardinal images` builds from a copy of what the package carries, as scripts/images does in a checkout."""

import os
import subprocess
from pathlib import Path

import pytest

from bot.admin.images import context
from tests.house.source import ROOT
from tests.house.test_demo import DOCKER
from tests.runner.agents.test_program_file import OWN, write

CARDINAL = (ROOT / ".venv/bin/cardinal", "images")
NOTED = 'build*)\n    echo "$@" >>"$NOTES"; find . -name "*.py" | head -n 1 >>"$NOTES"'


@pytest.fixture
def stand_in(tmp_path: Path) -> dict[str, str]:
    """Return an environment with a Docker that notes what it is to build, and where."""
    program = tmp_path / "bin/docker"
    program.parent.mkdir()
    program.write_text(DOCKER.replace("build*)", NOTED))
    program.chmod(0o755)
    own = {
        "NOTES": str(tmp_path / "notes"),
        "TMPDIR": str(tmp_path),
        "PATH": f"{program.parent}:{os.environ['PATH']}",
    }
    return {name: text for name, text in os.environ.items() if not name.startswith("DOCKER_")} | own


def run(*command: str | Path, environment: dict[str, str], cwd: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def test_an_image_is_made_of_the_same_as_in_the_checkout_and_the_copy_is_removed(
    stand_in: dict[str, str], tmp_path: Path
) -> None:
    built = run(*CARDINAL, "agent", environment=stand_in, cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    assert built.stdout.startswith("cardinal images: building cardinal/agent:latest: ")
    assert "scripts/images" not in built.stdout
    assert run(ROOT / "scripts/images", "agent", environment=stand_in, cwd=tmp_path).returncode == 0
    packaged, _, checkout, _ = (tmp_path / "notes").read_text().splitlines()
    assert "cardinal.inputs=" in packaged
    assert packaged == checkout
    assert {path.name for path in tmp_path.iterdir()} == {"bin", "notes"}


def test_cardinals_own_image_gets_its_packages_and_neither_caches_nor_recipes(tmp_path: Path) -> None:
    context.copy_to(tmp_path / "context")
    names = {str(path.relative_to(tmp_path / "context")) for path in tmp_path.rglob("*") if path.is_file()}
    assert {"bot/cli/up.py", "bot/app.yml", "rules/decide.py", "docker/Dockerfile", "pyproject.toml"} <= names
    assert not [name for name in names if "__pycache__" in name or "images/recipes" in name]


def test_a_build_that_failed_fails_and_an_image_that_does_not_exist_is_refused(
    stand_in: dict[str, str], tmp_path: Path
) -> None:
    failed = run(*CARDINAL, "agent", environment=stand_in | {"BUILD_RESULT": "1"}, cwd=tmp_path)
    assert failed.returncode == 1
    assert "cardinal images: cardinal/agent:latest was not built" in failed.stderr
    assert run(*CARDINAL, "agnet", environment=stand_in, cwd=tmp_path).returncode == 2


def test_a_build_has_a_limit(stand_in: dict[str, str], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "hold")
    endless = stand_in | {"HOLD": str(tmp_path / "hold"), "IMAGES_LIMIT_S": "0.2"}
    assert run(*CARDINAL, "agent", environment=endless, cwd=tmp_path).returncode == 1


def test_a_cardinal_in_an_image_says_where_images_are_made() -> None:
    with pytest.raises(context.NoRecipesError, match="run this on its host"):
        context.script("absent")


def test_the_image_of_an_operators_agent_is_built_by_its_file(
    stand_in: dict[str, str], tmp_path: Path
) -> None:
    lines = OWN + "image: acme/mine:1\npackage: npm:mine-{arch}\ndebian: [libgomp1, git]\n"
    write(tmp_path / "agents", lines)
    environment = stand_in | {"CARDINAL_HOME": str(tmp_path)}
    built = run(CARDINAL[0], "agents", "--build", "mine", environment=environment, cwd=tmp_path)
    assert built.returncode == 0, built.stderr + built.stdout
    agents_image, _, own, _ = (tmp_path / "notes").read_text().splitlines()
    assert "-t cardinal/agent:latest " in agents_image
    for words in (
        "--build-arg PACKAGE=npm:mine-{arch} --build-arg VERSION=1.2.3 --build-arg PROGRAM=mine",
        "--build-arg DEBIAN=libgomp1 git",
        "--label cardinal.agent.mine=1.2.3",
        "-f docker/program/Dockerfile -t acme/mine:1",
    ):
        assert words in own
