"""Containers as the tests of the images start them: by the engine's own client, locked in."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
AGENT = "cardinal/agent:latest"
# As the workspace backend locks it in, with a user that the image has never heard of.
LOCKED = (
    *("--rm", "--init", "--read-only", "--tmpfs", "/tmp", "--network", "none", "--user", "1234:1234"),
    *("--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--memory", "1g", "--pids-limit", "200"),
    *("--env", "HOME=/tmp/home"),
)


def docker(*words: str, limit_s: float = 60, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run one command of the engine's client."""
    return subprocess.run(
        ("docker", *words), input=given, capture_output=True, text=True, timeout=limit_s, check=False
    )


def need_image(name: str) -> None:
    """Skip, which fails in CI, where no engine has the image."""
    if not os.environ.get("DOCKER_HOST") or docker("image", "inspect", name).returncode:
        pytest.skip(f"needs an engine with {name}: run scripts/test containers")


def inside(*words: str, options: tuple[str, ...] = (), given: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command in a locked container of the agents' image."""
    return docker("run", "--interactive", *LOCKED, *options, AGENT, *words, given=given)
