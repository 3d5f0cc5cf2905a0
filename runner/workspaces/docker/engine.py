"""The Docker engine: docker-py with a timeout on every call, and readable errors."""

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache

import requests

import docker
from ledger.ids import RunId
from runner.workspaces.docker import errors
from runner.workspaces.docker.cell import Cell, container_config, lockdown

DEFAULT_ADDRESS = "unix:///var/run/docker.sock"
_CALL_S = 30
_COMMIT_S = 180
_TRY_S = 10
_NAMELESS = "<none>:<none>"
_TIMEOUTS = (TimeoutError, requests.exceptions.Timeout)


@dataclass(frozen=True, slots=True)
class State:
    """State of a container. `error` is why it did not start; `health` is empty where nobody asks for it."""

    running: bool
    started: bool
    exit_code: int
    out_of_memory: bool
    error: str
    health: str = ""


@dataclass(frozen=True, slots=True)
class LabelledContainer:
    """A container of ours, by its labels."""

    container_id: str
    name: str
    run_id: RunId
    generation: int


@dataclass(frozen=True, slots=True)
class Image:
    """An image on this machine. `created` sorts by age; it declares `volumes`, which are folders, and `ports`
    of TCP. `layers` are the digests of what it is made of, the lowest first.
    """

    image_id: str
    names: tuple[str, ...]
    created: float
    volumes: tuple[str, ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    ports: tuple[int, ...] = ()
    layers: tuple[str, ...] = ()


def engine_address() -> str:
    """Return the engine's address: DOCKER_HOST, or the default socket."""
    return os.environ.get("DOCKER_HOST") or DEFAULT_ADDRESS


class Engine:
    """One engine. Every method raises EngineAwayError, EngineSlowError or another error of ours."""

    def __init__(self, address: str, limit_s: int = _CALL_S) -> None:
        self.address, self._limit_s = address, limit_s

    def ping(self) -> None:
        with self._client_for("answer") as client:
            client.ping()

    def version(self) -> str:
        with self._client_for("say its version") as client:
            return str(client.version().get("Version", ""))

    def runtimes(self) -> tuple[str, ...]:
        """Return the names of the runtimes that its settings list."""
        with self._client_for("say its runtimes") as client:
            return tuple(sorted(client.info().get("Runtimes") or ()))

    def default_runtime(self) -> str:
        """Return the runtime of containers that name none, such as those of a build."""
        with self._client_for("say its runtimes") as client:
            return str(client.info().get("DefaultRuntime") or "")

    def create(self, cell: Cell) -> str:
        """Return the id of a new container that has not started. Raises ImageMissingError too."""
        with self._client_for("make a container") as client:
            cpus = _machine_cpus(os.getpid(), self.address)
            try:
                settings = client.create_host_config(**lockdown(cell, cpus))
                made = client.create_container(**container_config(cell), host_config=settings)
            except docker.errors.ImageNotFound as error:
                raise errors.ImageMissingError(cell.image) from error
            return str(made["Id"])

    def start(self, container_id: str) -> None:
        """Start it, with nobody at its input and output. Raises ContainerStartError."""
        with self._client_for("start a container") as client:
            try:
                client.start(container_id)
            except docker.errors.APIError as error:
                raise errors.ContainerStartError(str(error.explanation or error)) from error

    def logs(self, container_id: str) -> str:
        """Return the end of what it said, where that is kept."""
        with self._client_for("read what a container said") as client:
            said: bytes = client.logs(container_id, tail=20)
        return said.decode("utf-8", "replace")

    def kill(self, container_id: str, signal: str = "SIGKILL") -> None:
        """Send a signal to its init, whose death ends everything inside; a stopped container is ignored."""
        with self._client_for("kill a container") as client, _unless_gone():
            client.kill(container_id, signal)

    def remove(self, container_id: str) -> None:
        """Remove it with everything that runs in it, if it exists."""
        with self._client_for("remove a container") as client, _unless_gone():
            client.remove_container(container_id, force=True, v=True)

    def state(self, container_id: str) -> State:
        """Return the state of a container. Raises ContainerGoneError."""
        with self._client_for("look at a container") as client:
            try:
                state = client.inspect_container(container_id)["State"]
            except docker.errors.NotFound as error:
                raise errors.ContainerGoneError from error
        return State(
            running=bool(state.get("Running")),
            started=not str(state.get("StartedAt", "")).startswith("0001-"),
            exit_code=int(state.get("ExitCode", 0)),
            out_of_memory=bool(state.get("OOMKilled")),
            error=str(state.get("Error", "")),
            health=str((state.get("Health") or {}).get("Status", "")),
        )

    def find(self, labels: Mapping[str, str]) -> tuple[LabelledContainer, ...]:
        wanted = [f"{name}={text}" for name, text in labels.items()]
        with self._client_for("list containers") as client:
            listed = client.containers(all=True, filters={"label": wanted})
        return tuple(
            LabelledContainer(
                container["Id"],
                (container.get("Names") or [container["Id"][:12]])[0].lstrip("/"),
                RunId((container.get("Labels") or {}).get("cardinal.run", "")),
                _number((container.get("Labels") or {}).get("cardinal.generation", "")),
            )
            for container in listed
        )

    def image(self, name: str) -> Image:
        """Return the image of that very name: the engine alone would also take the beginning of an id.

        Raises ImageMissingError.
        """
        image, digests = self._inspect_image(name)
        tagged = "@" in name or ":" in name.rpartition("/")[2]
        if (name if tagged else f"{name}:latest") not in (*image.names, *digests):
            raise errors.ImageMissingError(name)
        return image

    def image_meant(self, name: str) -> Image:
        """Return the image that a build takes for that name: also by the beginning of its id, or another
        spelling. Raises ImageMissingError.
        """
        return self._inspect_image(name)[0]

    def _inspect_image(self, name: str) -> tuple[Image, tuple[str, ...]]:
        """Return the image with its digests. Raises ImageMissingError."""
        with self._client_for("look at an image") as client:
            try:
                details = client.inspect_image(name)
            except docker.errors.NotFound as error:
                raise errors.ImageMissingError(name) from error
        names, digests = (tuple(details.get(key) or ()) for key in ("RepoTags", "RepoDigests"))
        config = details.get("Config") or {}
        volumes = tuple(sorted(config.get("Volumes") or ()))
        exposed = (port.split("/") for port in config.get("ExposedPorts") or ())
        ports = tuple(sorted(int(number) for number, kind in exposed if kind == "tcp" and number.isdecimal()))
        layers = tuple((details.get("RootFS") or {}).get("Layers") or ())
        image = Image(details["Id"], names, 0.0, volumes, config.get("Labels") or {}, ports, layers)
        return image, digests

    def image_bytes(self, image_id: str) -> int:
        """Return the size of an image, with all that it shares; 0 where it is gone."""
        with self._client_for("look at an image") as client:
            try:
                return int(client.inspect_image(image_id)["Size"])
            except docker.errors.NotFound:
                return 0

    def images(self, labels: Mapping[str, str]) -> tuple[Image, ...]:
        """Return the images with these labels, the newest first; one whose name was reassigned has none."""
        wanted = [f"{name}={text}" for name, text in labels.items()]
        with self._client_for("list images") as client:
            listed = client.images(filters={"label": wanted})
        images = [
            Image(row["Id"], tuple(set(row.get("RepoTags") or ()) - {_NAMELESS}), row["Created"], ())
            for row in listed
        ]
        return tuple(sorted(images, key=lambda image: image.created, reverse=True))

    def remove_image(self, name: str) -> None:
        """Remove a name (or id) of an image; an image without names and containers goes."""
        with self._client_for("remove an image") as client, _unless_gone():
            client.remove_image(name)

    def unpack(self, container_id: str, archive: bytes) -> None:
        """Extract a tar archive, which must be our own, in a container's root."""
        with self._client_for("put files into a container") as client:
            client.put_archive(container_id, "/", archive)

    def commit(self, container_id: str, repository: str, tag: str) -> None:
        with self._client_for("keep an image", _COMMIT_S) as client:
            client.commit(container_id, repository=repository, tag=tag)

    @contextmanager
    def _client_for(self, what: str, limit_s: int = 0) -> Iterator[docker.APIClient]:
        """Give the client, and translate its errors."""
        limit_s = limit_s or self._limit_s
        try:
            _knock(self.address)
            yield _client(os.getpid(), self.address, limit_s)
        except docker.errors.APIError as error:  # first: it is a kind of requests' own errors
            raise errors.error_of(what, str(error.explanation or error)) from error
        except (OSError, docker.errors.DockerException) as error:
            if any(isinstance(cause, _TIMEOUTS) for cause in _causes(error)):
                raise errors.EngineSlowError(what, limit_s) from error
            raise errors.EngineAwayError(self.address, str(_causes(error)[-1])) from error


@contextmanager
def _unless_gone() -> Iterator[None]:
    """Ignore a missing object (404), and one in use, stopped or being removed (409)."""
    try:
        yield
    except docker.errors.APIError as error:
        if error.status_code not in {404, 409}:
            raise


# By process: RQ forks, and a connection must not cross a fork.
@lru_cache(maxsize=32)
def _client(_pid: int, address: str, limit_s: int) -> docker.APIClient:
    return docker.APIClient(base_url=address, timeout=limit_s)


@lru_cache(maxsize=32)
def _machine_cpus(pid: int, address: str) -> int:
    return int(_client(pid, address, _CALL_S).info().get("NCPU", 1))


def _knock(address: str) -> None:
    """Connect once: with an absent engine, docker-py would leave its socket to the garbage collector."""
    if address.startswith("unix://"):
        with socket.socket(socket.AF_UNIX) as door:
            door.settimeout(_TRY_S)
            door.connect(address.removeprefix("unix://"))


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else -1


def _causes(error: BaseException) -> tuple[BaseException, ...]:
    """Return the error with its causes; the last one names the socket."""
    cause = error.__cause__ or error.__context__
    return (error, *(_causes(cause) if cause else ()))
