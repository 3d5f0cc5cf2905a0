"""Services beside the commands of one place: a database, a queue. Each runs in a network of its own.

A relay of ours owns that network, which leads nowhere, and offers the service's ports as sockets in a folder.
Commands find them as addresses of their own: they reach these ports, and a service reaches nothing.
"""

import contextlib
import shutil
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from ledger.model.policy_settings import Resources
from runner.errors import RunnerError, ServiceError
from runner.run.run_spec import ServiceSpec
from runner.text.plain import one_line, redact
from runner.workspaces.bubblewrap import INSIDE, Bind
from runner.workspaces.docker.cell import Cell, lock_argv
from runner.workspaces.docker.engine import Engine, Image
from runner.workspaces.docker.errors import ContainerGoneError

_FOLDER = "/run/services"
_READY_S, _POLL_S = 120.0, 0.1
_RELAY = Resources(memory_mb=128, cpus=0.5, processes=300, disk_mb=64, open_files=1024)
_CPUS, _PROCESSES, _DISK_MB, _OPEN_FILES = 1.0, 256, 512, 4096
# Where images of PostgreSQL and MySQL keep a lock and a socket, without declaring a volume there.
_SCRATCH = ("/run", "/run/postgresql", "/run/mysqld")
_SAID_BYTES = 400


@dataclass(frozen=True, slots=True)
class _Started:
    """One service with its containers, the relay's last, and the sockets that it will have."""

    spec: ServiceSpec
    container_id: str
    relay_id: str
    sockets: tuple[Path, ...]


@dataclass(slots=True)
class ServiceContainers:
    """The services of one place. `folder` is the host's, for their sockets; `owner` is the user inside."""

    engine: Engine
    folder: Path
    owner: tuple[int, int]
    started: list[_Started] = field(default_factory=list)

    @property
    def bind(self) -> Bind:
        """What a command needs to see: the sockets, which it cannot replace."""
        return Bind(self.folder, _FOLDER)

    @property
    def hosts(self) -> dict[str, str]:
        """The names of the services, each with an address of its own, as two may have the same port."""
        return {it.spec.name: _address(number) for number, it in enumerate(self.started)}

    def begin(
        self,
        specs: tuple[ServiceSpec, ...],
        cell: Cell,
        image_of: Callable[[str], Image],
        beat: Callable[[], None],
    ) -> None:
        """Start the services, unless they all run, and wait until each one is ready.

        `cell` is an empty one of this place, for the relays. Raises ServiceError, or an error of the engine.
        """
        if self.started and all(map(self._runs, self.started)):
            return
        self.end()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(mode=0o755)
        shutil.chown(self.folder, *self.owner)
        try:
            for number, spec in enumerate(specs):
                self._start(spec, _address(number), cell, image_of(spec.image))
            for started in self.started:
                self._await(started, beat)
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        """Remove them, and what they stored."""
        ids = [each for it in self.started for each in (it.container_id, it.relay_id)]
        self.started.clear()
        for container_id in ids:
            with contextlib.suppress(RunnerError):  # an engine that is away keeps it for the sweep
                self.engine.remove(container_id)

    def _start(self, spec: ServiceSpec, address: str, cell: Cell, image: Image) -> None:
        ports = spec.ports or image.ports
        if not ports:
            raise ServiceError(spec.name, "its image names no port: name it under `ports`")
        offer = ("/bin/sh", f"{INSIDE.player}/offer.sh", _FOLDER, address, *map(str, ports))
        relay = replace(
            cell,
            name=f"{cell.name}-{spec.name}-relay",
            argv=lock_argv(*offer),
            folder="/",
            binds=(*cell.binds, Bind(self.folder, _FOLDER, writable=True)),
            resources=_RELAY,
        )
        relay_id = self._run(relay)
        sockets = tuple(self.folder / f"{address}_{port}.sock" for port in ports)
        service = replace(
            cell,
            name=f"{cell.name}-{spec.name}",
            image=image.image_id,
            argv=(),
            command=spec.command,
            env={"HOME": "/tmp", "TMPDIR": "/tmp", **dict(spec.environment)},  # noqa: S108 - its own
            folder="",
            binds=tuple(bind for bind in cell.binds if bind.inside.startswith("/etc/")),
            resources=Resources(
                memory_mb=spec.memory_mb,
                cpus=_CPUS,
                processes=_PROCESSES,
                disk_mb=_DISK_MB,
                open_files=_OPEN_FILES,
            ),
            volumes=tuple(dict.fromkeys((*_SCRATCH, *image.volumes, *spec.writable))),
            volume_mb=min(_DISK_MB, spec.memory_mb // 2),  # in memory, so it counts there
            network=f"container:{relay_id}",
            health=spec.health,
            logs=True,
        )
        try:
            container_id = self._run(service)
        except BaseException:
            with contextlib.suppress(RunnerError):
                self.engine.remove(relay_id)
            raise
        self.started.append(_Started(spec, container_id, relay_id, sockets))

    def _runs(self, started: _Started) -> bool:
        try:
            return all(self.engine.state(it).running for it in (started.container_id, started.relay_id))
        except ContainerGoneError:
            return False

    def _run(self, cell: Cell) -> str:
        container_id = self.engine.create(cell)
        try:
            self.engine.start(container_id)
        except BaseException:
            with contextlib.suppress(RunnerError):
                self.engine.remove(container_id)
            raise
        return container_id

    def _await(self, started: _Started, beat: Callable[[], None]) -> None:
        until = time.monotonic() + _READY_S
        while True:
            beat()
            state = self.engine.state(started.container_id)
            if not state.running:
                killed = f"used more than its {started.spec.memory_mb} MB of memory: raise `memory_mb`"
                how = killed if state.out_of_memory else f"ended with exit code {state.exit_code}"
                raise ServiceError(started.spec.name, f"it {state.error or how}{self._last_words(started)}")
            if all(map(_is_socket, started.sockets)) and state.health in ("", "healthy"):
                return
            if time.monotonic() > until:
                wants = "its `health` fails" if started.spec.health else "it does not listen on its ports"
                raise ServiceError(
                    started.spec.name, f"{wants} after {_READY_S:.0f} s{self._last_words(started)}"
                )
            time.sleep(_POLL_S)

    def _last_words(self, started: _Started) -> str:
        said = one_line(redact(self.engine.logs(started.container_id)[-_SAID_BYTES:]))
        return f". It said: {said}" if said else ""


def _address(number: int) -> str:
    return f"127.0.1.{number + 1}"


def _is_socket(path: Path) -> bool:
    try:
        return stat.S_ISSOCK(path.lstat().st_mode)
    except FileNotFoundError:
        return False
