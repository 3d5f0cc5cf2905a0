"""The Docker engine: docker-py with a limit on every call and errors that a person understands."""

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

import requests

import docker
from ledger.ids import RunId
from runner.workspaces.docker.cell import Cell, description, lockdown
from runner.workspaces.docker.errors import (
    ContainerGoneError,
    EngineAwayError,
    EngineSlowError,
    ImageMissingError,
    named,
)

DEFAULT_ADDRESS = "unix:///var/run/docker.sock"
_CALL_S = 30
_COMMIT_S = 180
_TRY_S = 10
_NAMELESS = "<none>:<none>"
_TIMEOUTS = (TimeoutError, requests.exceptions.Timeout)


@dataclass(frozen=True, slots=True)
class State:
    """How a container is. `error` is why it could not be started."""

    running: bool
    started: bool
    exit_code: int
    out_of_memory: bool
    error: str


@dataclass(frozen=True, slots=True)
class LabelledContainer:
    """A container of ours, by its labels."""

    container_id: str
    name: str
    run_id: RunId
    generation: int


@dataclass(frozen=True, slots=True)
class Image:
    """An image on this machine. `created` sorts by age; `volumes` are the folders that it declares."""

    image_id: str
    names: tuple[str, ...]
    created: float
    volumes: tuple[str, ...]


def engine_address() -> str:
    """Return where the engine is: DOCKER_HOST, or the socket that it has by default."""
    return os.environ.get("DOCKER_HOST") or DEFAULT_ADDRESS


class Engine:
    """One engine. Every method raises EngineAwayError, EngineSlowError or another error of ours."""

    def __init__(self, address: str, limit_s: int = _CALL_S) -> None:
        self.address, self._limit_s = address, limit_s

    def ping(self) -> None:
        """Return when the engine answers."""
        with self._told("answer") as client:
            client.ping()

    def create(self, cell: Cell) -> str:
        """Return the id of a new container that has not started. Raises ImageMissingError too."""
        with self._told("make a container") as client:
            cpus = _machine_cpus(os.getpid(), self.address)
            try:
                settings = client.create_host_config(**lockdown(cell, cpus))
                made = client.create_container(**description(cell), host_config=settings)
            except docker.errors.ImageNotFound as error:
                raise ImageMissingError(cell.image) from error
            return str(made["Id"])

    def kill(self, container_id: str, signal: str = "SIGKILL") -> None:
        """Send a signal to its init, which takes all with it when it dies; nothing happens when nothing
        runs.
        """
        with self._told("kill a container") as client:
            try:
                client.kill(container_id, signal)
            except docker.errors.APIError as error:
                if error.status_code not in {404, 409}:
                    raise

    def remove(self, container_id: str) -> None:
        """Remove it with all that runs in it; nothing happens when it is gone."""
        with self._told("remove a container") as client:
            try:
                client.remove_container(container_id, force=True, v=True)
            except docker.errors.APIError as error:
                if error.status_code not in {404, 409}:  # 409: somebody else removes it now
                    raise

    def state(self, container_id: str) -> State:
        """Return how a container is. Raises ContainerGoneError."""
        with self._told("look at a container") as client:
            try:
                told = client.inspect_container(container_id)["State"]
            except docker.errors.NotFound as error:
                raise ContainerGoneError from error
        return State(
            running=bool(told.get("Running")),
            started=not str(told.get("StartedAt", "")).startswith("0001-"),
            exit_code=int(told.get("ExitCode", 0)),
            out_of_memory=bool(told.get("OOMKilled")),
            error=str(told.get("Error", "")),
        )

    def find(self, labels: Mapping[str, str]) -> tuple[LabelledContainer, ...]:
        """Return all containers, running or not, that have these labels."""
        wanted = [f"{name}={text}" for name, text in labels.items()]
        with self._told("list containers") as client:
            listed = client.containers(all=True, filters={"label": wanted})
        return tuple(
            LabelledContainer(
                one["Id"],
                (one.get("Names") or [one["Id"][:12]])[0].lstrip("/"),
                RunId((one.get("Labels") or {}).get("cardinal.run", "")),
                _number((one.get("Labels") or {}).get("cardinal.generation", "")),
            )
            for one in listed
        )

    def image(self, name: str) -> Image:
        """Return the image of that name. Raises ImageMissingError."""
        with self._told("look at an image") as client:
            try:
                told = client.inspect_image(name)  # type: ignore[no-untyped-call]
            except docker.errors.NotFound as error:
                raise ImageMissingError(name) from error
        volumes = tuple(sorted((told.get("Config") or {}).get("Volumes") or ()))
        return Image(told["Id"], tuple(told.get("RepoTags") or ()), 0.0, volumes)

    def images(self, labels: Mapping[str, str]) -> tuple[Image, ...]:
        """Return the images that have these labels, the newest first; one whose name went to another has
        none.
        """
        wanted = [f"{name}={text}" for name, text in labels.items()]
        with self._told("list images") as client:
            listed = client.images(filters={"label": wanted})
        found = [
            Image(one["Id"], tuple(set(one.get("RepoTags") or ()) - {_NAMELESS}), one["Created"], ())
            for one in listed
        ]
        return tuple(sorted(found, key=lambda image: image.created, reverse=True))

    def remove_image(self, name: str) -> None:
        """Take a name (or id) off its image; without a name and a container it goes."""
        with self._told("remove an image") as client:
            try:
                client.remove_image(name)
            except docker.errors.APIError as error:
                if error.status_code not in {404, 409}:  # 409: a container still uses it
                    raise

    def unpack(self, container_id: str, archive: bytes) -> None:
        """Put the files of a tar archive, which must be of our own making, into a container's root."""
        with self._told("put files into a container") as client:
            client.put_archive(container_id, "/", archive)

    def commit(self, container_id: str, repository: str, tag: str) -> None:
        """Make an image of a container that ended."""
        with self._told("keep an image", _COMMIT_S) as client:
            client.commit(container_id, repository=repository, tag=tag)

    @contextmanager
    def _told(self, what: str, limit_s: int = 0) -> Iterator[docker.APIClient]:
        """Give the client, and put what goes wrong with it into our own words."""
        limit_s = limit_s or self._limit_s
        try:
            _knock(self.address)
            yield _client(os.getpid(), self.address, limit_s)
        except docker.errors.APIError as error:  # first: it is a kind of requests' own errors
            raise named(what, str(error.explanation or error)) from error
        except (OSError, docker.errors.DockerException) as error:
            if any(isinstance(cause, _TIMEOUTS) for cause in _causes(error)):
                raise EngineSlowError(what, limit_s) from error
            raise EngineAwayError(self.address, str(_causes(error)[-1])) from error


# By process: RQ forks, and a connection must not cross a fork.
@lru_cache(maxsize=32)
def _client(_pid: int, address: str, limit_s: int) -> docker.APIClient:
    return docker.APIClient(base_url=address, timeout=limit_s)


@lru_cache(maxsize=32)
def _machine_cpus(pid: int, address: str) -> int:
    return int(_client(pid, address, _CALL_S).info().get("NCPU", 1))


def _knock(address: str) -> None:
    """Connect once. Where nobody answers, docker-py would leave its socket to the garbage collector."""
    if address.startswith("unix://"):
        with socket.socket(socket.AF_UNIX) as door:
            door.settimeout(_TRY_S)
            door.connect(address.removeprefix("unix://"))


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else -1


def _causes(error: BaseException) -> tuple[BaseException, ...]:
    """Return it with what caused it; the last names the socket, and not four layers of libraries."""
    cause = error.__cause__ or error.__context__
    return (error, *(_causes(cause) if cause else ()))
