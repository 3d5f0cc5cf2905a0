"""A command in a container: the docker command is its child on the host, the engine knows its end."""

import contextlib
import os
import subprocess
from functools import lru_cache
from pathlib import Path

from runner.errors import RunnerError, SpawnError
from runner.exec.child import Child
from runner.workspaces.docker import errors
from runner.workspaces.docker.cell import Cell
from runner.workspaces.docker.engine import Engine, State

_TRY_S = 10
_EXIT_S = 5.0
_KILLED = 137
ATTACH = ("start", "--attach", "--interactive")
_TEXT = "start the container"


def cli_environment() -> dict[str, str]:
    """Return the environment of the docker command: no settings, contexts or credentials of a person."""
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent", "DOCKER_CONFIG": "/nonexistent"}


def working_cli(address: str) -> str:
    """Return the path of a docker command that can talk to this engine. Raises SpawnError."""
    return _working_cli(address, os.environ.get("PATH", os.defpath))


def problem_with(address: str) -> str:
    """Return why no container can be started there, for people; empty when it works."""
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
    """Whether this client and the engine share a protocol version."""
    question = (command, "-H", address, "version", "--format", "{{.Server.Version}}")
    try:
        tried = subprocess.run(question, env=cli_environment(), capture_output=True, timeout=_TRY_S)
    except (OSError, subprocess.SubprocessError):
        return False
    return tried.returncode == 0


class Container(Child):
    """One container, started and attached to. `close` removes it in every case.

    The pipes are those of `docker start --attach`, which passes bytes, the end of input and the exit code on.
    """

    def __init__(
        self,
        engine: Engine,
        container_id: str,
        cell: Cell,
        *,
        cap_bytes: int,
        side_channel: int | None = None,
        keeps: bool = False,
    ) -> None:
        """Start it. Raises SpawnError; the caller then removes it. `keeps`: the caller always does."""
        self._engine, self._id, self._cell = engine, container_id, cell
        self._killed, self._removed = False, keeps
        self._known_code: int | None = None
        self._fate = ""
        super().__init__(
            (working_cli(engine.address), "-H", engine.address, *ATTACH, container_id),
            env=cli_environment(),
            cwd=Path("/"),
            cap_bytes=cap_bytes,
            side_channel=side_channel,
        )

    @property
    def fate(self) -> str:
        """Why the kernel or somebody outside ended it, once `exit_code` was asked; else empty."""
        return self._fate

    def exit_code(self, wait_s: float = _EXIT_S) -> int:
        """Return the exit code of the command inside.

        Raises ContainerStartError or DiskFullError when it never ran, EngineAwayError when the engine went
        away meanwhile.
        """
        if self._known_code is None:
            code = super().exit_code(wait_s)
            self._known_code = code if code < 0 or self._killed else self._examine(code)
        return self._known_code

    def _examine(self, code: int) -> int:
        try:
            state = self._engine.state(self._id)
        except errors.ContainerGoneError as error:
            self._fate = str(error)
            return code
        if state.running:
            raise errors.EngineAwayError(self._engine.address, "the connection to a running container broke")
        if not state.started:
            raise _start_error(state)
        if state.out_of_memory and state.exit_code == _KILLED:
            most_mb = self._cell.resources.memory_mb
            self._fate = (
                f"the kernel stopped it, for it used more than its {most_mb} MB of memory: raise"
                " `resources: {memory_mb: …}` of the column, or let it do less at once"
            )
        return state.exit_code

    def close(self) -> None:
        """Kill it if it still runs, close the pipes, and remove the container.

        An absent engine keeps it; the sweep finds it by its labels.
        """
        try:
            super().close()
        finally:
            if not self._removed:
                with contextlib.suppress(RunnerError):
                    self._engine.remove(self._id)
                    self._removed = True

    def _term(self) -> None:
        # Not by way of the docker command: it passes the signal on, and newer ones then leave at once.
        with contextlib.suppress(RunnerError):
            self._engine.kill(self._id, "SIGTERM")

    def _kill(self) -> None:
        if self._popen.poll() is None:
            self._killed = True
            with contextlib.suppress(RunnerError):  # then the docker command goes, and the sweep has the rest
                self._engine.kill(self._id)
        super()._kill()


def start_container(
    engine: Engine, cell: Cell, *, cap_bytes: int, side_channel: int | None = None
) -> Container:
    """Create and start a container. Raises SpawnError or an error of the engine; nothing is left then."""
    container_id = engine.create(cell)
    try:
        return Container(engine, container_id, cell, cap_bytes=cap_bytes, side_channel=side_channel)
    except BaseException:
        with contextlib.suppress(RunnerError):
            engine.remove(container_id)
        raise


def _start_error(state: State) -> RunnerError:
    runner_error = errors.error_of(_TEXT, state.error)
    return (
        runner_error
        if isinstance(runner_error, errors.DiskFullError)
        else errors.ContainerStartError(state.error)
    )
