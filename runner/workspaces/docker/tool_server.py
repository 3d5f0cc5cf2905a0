"""A tool server in a container of its own: its output goes to the gateway, and the host reads none of it."""

import contextlib
import subprocess
from pathlib import Path

from runner.errors import RunnerError, SpawnError
from runner.exec.launch import launched
from runner.run.run_spec import ResourceSpec
from runner.workspaces.docker.cell import Cell
from runner.workspaces.docker.container import ATTACH, cli_environment, working_cli
from runner.workspaces.docker.engine import Engine

RESOURCES = ResourceSpec(memory_mb=512, cpus=1.0, processes=128, disk_mb=64, open_files=1024)
_END_S = 5.0


class ToolServerContainer:
    """One started container; `close` removes it in every case, and the sweep after a crash."""

    def __init__(self, engine: Engine, cell: Cell, wire: int, errors: int) -> None:
        """Create and start it. Raises SpawnError or an error of the engine; nothing is left then."""
        self._engine = engine
        self._id = engine.create(cell)
        env, root = cli_environment(), Path("/")
        try:
            command = (working_cli(engine.address), "-H", engine.address, *ATTACH, self._id)
            self._attached = subprocess.Popen(
                launched(command, env=env, cwd=root, expendable=True),
                env=env,
                cwd=root,
                stdin=wire,
                stdout=wire,
                stderr=errors,
                start_new_session=True,
            )
        except (OSError, ValueError, subprocess.SubprocessError, RunnerError) as error:
            with contextlib.suppress(RunnerError):
                engine.remove(self._id)
            raise SpawnError(f"the container of a tool server did not start: {error}") from error

    def close(self) -> None:
        """Remove the container, and end its attached process."""
        with contextlib.suppress(RunnerError):  # an engine that is away keeps it for the sweep
            self._engine.remove(self._id)
        self._attached.kill()
        self._attached.wait(_END_S)
