"""The docker command, which attaches to containers: found once per process, without a person's settings."""

import os
import subprocess
from functools import lru_cache

from runner.errors import RunnerError, SpawnError
from runner.workspaces.docker.engine import Engine

_TRY_S = 10


def cli_environment() -> dict[str, str]:
    """Return what the docker command gets to know: no settings, contexts or credentials of a person."""
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent", "DOCKER_CONFIG": "/nonexistent"}


def working_cli(address: str) -> str:
    """Return the path of a docker command that can talk to this engine.

    Raises SpawnError when there is none.
    """
    return _working_cli(address, os.environ.get("PATH", os.defpath))


def problem_with(address: str) -> str:
    """Return why no container can be started there, as a person reads it; empty when one can."""
    if not address.startswith("unix://"):
        return (
            f"DOCKER_HOST is {address}, but containers must see Cardinal's own folders: point it to the"
            " socket (unix://…) of an engine on this machine"
        )
    try:
        Engine(address).ping()
        working_cli(address)
    except RunnerError as error:
        return str(error)
    return ""


@lru_cache(maxsize=8)
def _working_cli(address: str, path: str) -> str:
    # An error is not cached: the engine may be away only now.
    for folder in path.split(os.pathsep):
        command = os.path.join(folder or ".", "docker")
        # Not pathlib's: it raises for a folder that this user may not enter.
        if os.path.isfile(command) and os.access(command, os.X_OK) and _talks(command, address):
            return command
    raise SpawnError(
        f"no `docker` command on the PATH can talk to the engine at {address}: install Debian's docker.io or"
        " docker-cli"
    )


def _talks(command: str, address: str) -> bool:
    """Whether this client and the engine have a version of the protocol in common."""
    question = (command, "-H", address, "version", "--format", "{{.Server.Version}}")
    try:
        tried = subprocess.run(question, env=cli_environment(), capture_output=True, timeout=_TRY_S)
    except (OSError, subprocess.SubprocessError):
        return False
    return tried.returncode == 0
