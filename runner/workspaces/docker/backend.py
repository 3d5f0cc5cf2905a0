"""A workspace in containers: a folder per card, and a hardened container per command."""

import os
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from ledger.ids import CardId, RunId
from runner.exec.child import Child
from runner.exec.proxy import CERTIFICATES, proxy_environment
from runner.run.run_spec import HostPaths, ToolServerSpec
from runner.workspaces.bubblewrap import INSIDE, MIRROR, Bind
from runner.workspaces.card_folder import Folder, cards_in, folder_name
from runner.workspaces.contract import Leftover, Tenancy, ToolServerProcess
from runner.workspaces.docker import seeds, sweeping
from runner.workspaces.docker.cell import Cell, locked
from runner.workspaces.docker.container import problem_with, start_container
from runner.workspaces.docker.engine import Engine, Image, engine_address
from runner.workspaces.docker.errors import ForeignSetUpError
from runner.workspaces.docker.programs import programs
from runner.workspaces.docker.tool_server import RESOURCES, ToolServerContainer

DEFAULT_IMAGE = "cardinal/agent:latest"
_SOCKETS = "/run/cardinal"
LAYOUT = replace(
    INSIDE,
    python="python3",
    gateway="http://127.0.0.1:4000",
    proxy="http://127.0.0.1:4001",
    certificates=f"{_SOCKETS}/{CERTIFICATES}",
)
AGENT_FILES = "/workspace/agent"
# A server's git works in the server's own checkout alone: the config of one that the agent made could run
# programs with the server's secrets. For git all folders are somebody else's then, but for the named one.
_READS = {
    "AGENT_FILES": AGENT_FILES,
    "GIT_TEST_ASSUME_DIFFERENT_OWNER": "1",
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": LAYOUT.repo,
    "GIT_CONFIG_KEY_1": "safe.bareRepository",
    "GIT_CONFIG_VALUE_1": "explicit",
}
_AGENT_ID = 1000
_PROBLEM_S = 5.0
_END_S = 2  # for one answer of the engine, while a lease runs out


class DockerWorkspace(Folder):
    """One card's folder, mounted into one container per command."""

    locked = ""  # a container locks in
    layout = LAYOUT
    networks = ("none", "list", "full")  # all of it goes through the gateway

    def __init__(self, engine: Engine, places: HostPaths, tenancy: Tenancy) -> None:
        self._engine, self._tenancy = engine, tenancy
        # Without root Cardinal cannot change a file's owner, so commands inside get its own id.
        self._uid, self._gid = (os.geteuid(), os.getegid()) if os.geteuid() else (_AGENT_ID, _AGENT_ID)
        self._name = folder_name(tenancy.card_id)
        super().__init__(places.workspaces / self._name, tenancy.card_id, self._uid, self._gid)
        self._programs = programs(places.workspaces.absolute().parent, self._uid, self._gid)
        self._home = sweeping.home_of(places.workspaces)
        sweeping.remove_older(engine, self._home, tenancy)

    @property
    def image(self) -> str:
        """The engine's id of the image, which is the digest of its description. Raises ImageMissingError."""
        return self._image.image_id

    def mirror_at(self, mirror: Path) -> str:  # noqa: ARG002 - the contract's
        """Return a neutral path."""
        return MIRROR

    def start(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        writable: bool,
        cap_bytes: int,
        mirror: Path | None = None,
        export: bool = False,
        commits: bool = True,
        gateway: Path | None = None,
        hides: Sequence[str] = (),
        side_channel: int | None = None,
        packages: bool = False,  # noqa: ARG002 - an image has its own
    ) -> Child:
        """Start `argv` in a new container; see the contract. Raises the errors of this folder too."""
        self.changes += writable
        root, binds = self.root, list(self._binds(writable))
        if writable and not commits:
            binds.append(Bind(self.plain_git(), f"{LAYOUT.repo}/.git"))
        if export:
            binds.append(Bind(root / "out", LAYOUT.out, writable=True))
        binds += (Bind(self._programs / cover, path) for cover, path in self.masked(tuple(hides)))
        given = dict(env)
        if mirror is not None:
            binds.append(Bind(mirror.absolute(), MIRROR))
            given["GIT_CONFIG_GLOBAL"] = f"{LAYOUT.player}/gitconfig"
        command = tuple(argv)
        if gateway is not None:  # a socket is connected to through a read-only folder, but not replaced
            binds.append(Bind(gateway.absolute(), _SOCKETS))
            command = ("/bin/sh", f"{LAYOUT.player}/enter.sh", *command)
        cell = self._cell(locked(*command), given, tuple(binds))
        return start_container(self._engine, cell, cap_bytes=cap_bytes, side_channel=side_channel)

    def restore_setup(self, key: str) -> bool:
        """Unpack the image of this key and base image; `.git` is untouched."""
        binds = (*self._binds(True), Bind(self.plain_git(), f"{LAYOUT.repo}/.git"))
        name = seeds.seed_name(self._home, self._image.image_id, key)
        return seeds.restore_seed(self._engine, self._cell((), {}, binds), name)

    def destroy(self) -> None:
        """Remove the containers, then the folder."""
        sweeping.remove_all(self._engine, self._home, self._tenancy.card_id)
        super().destroy()

    @cached_property
    def _image(self) -> Image:
        return self._opened(self._tenancy.image or DEFAULT_IMAGE)

    def _opened(self, name: str) -> Image:
        """Return the image of that name. Raises ImageMissingError, and ForeignSetUpError for the result of a
        set-up elsewhere, under any name.
        """
        image, own = self._engine.image(name), self._tenancy.repository_id
        if seeds.HOME_LABEL in image.labels and (not own or image.labels.get(seeds.REPOSITORY_LABEL) != own):
            raise ForeignSetUpError(name)
        return image

    def _binds(self, writable: bool) -> tuple[Bind, ...]:
        root, made = self.root, self._programs
        return (
            Bind(made / "passwd", "/etc/passwd"),
            Bind(made / "group", "/etc/group"),
            Bind(made / "player", LAYOUT.player),
            Bind(root / "repo", LAYOUT.repo, writable),
            Bind(root / "home", LAYOUT.home, writable=True),
            Bind(root / "skills", LAYOUT.skills),
        )

    def _cell(self, argv: tuple[str, ...], env: Mapping[str, str], binds: tuple[Bind, ...]) -> Cell:
        taken = {bind.inside for bind in binds}
        own = {
            "HOME": LAYOUT.home,
            "LANG": "C.UTF-8",
            "TMPDIR": "/tmp",  # noqa: S108 - the container's own
            "USER": "agent",
        }
        return Cell(
            name=f"cardinal-{self._name}-{secrets.token_hex(6)}",
            image=self._image.image_id,  # the very one that was looked at
            argv=argv,
            env=own | dict(env),
            user=f"{self._uid}:{self._gid}",
            folder=LAYOUT.repo,
            binds=binds,
            labels=sweeping.labels_of(self._home, self._tenancy),
            resources=self._tenancy.resources,
            volumes=tuple(volume for volume in self._image.volumes if volume not in taken),
        )


class CleanDockerWorkspace(DockerWorkspace):
    """One where no agent ever was."""

    def serve(
        self,
        server: ToolServerSpec,
        wire: int,
        errors: int,
        *,
        network: Path | None,
        env: Mapping[str, str],
        data: Path,
    ) -> ToolServerProcess:
        """Start a tool server; see the contract. Its own image needs nothing of ours without a network."""
        made, inside = self._programs, f"{LAYOUT.player}/enter.sh"
        binds = [Bind(made / "passwd", "/etc/passwd"), Bind(made / "group", "/etc/group")]
        command, given = server.command, {"HOME": "/tmp", "TMPDIR": "/tmp", **env}  # noqa: S108 - its own
        if not server.image:
            command = locked(*command)
        if network is not None:
            binds.append(Bind(network.absolute(), _SOCKETS))
            command = ("/bin/sh", inside, *command)
            given |= proxy_environment(LAYOUT.proxy)
        if network is not None or not server.image:
            binds.append(Bind(made / "player", LAYOUT.player))
        if server.reads:
            binds += (Bind(self.repo, LAYOUT.repo), Bind(data.absolute(), AGENT_FILES))
            given |= _READS
        image = self._opened(server.image) if server.image else self._image
        cell = replace(
            self._cell(command, {}, tuple(binds)),
            image=image.image_id,
            env=given,
            folder=LAYOUT.repo if server.reads else "/tmp",  # noqa: S108 - its own
            resources=RESOURCES,
            volumes=image.volumes,
        )
        return ToolServerContainer(self._engine, cell, wire, errors)

    def keep_setup(self, key: str) -> None:
        """Make an image of the home and of the untracked files here."""
        name = seeds.seed_name(self._home, self._image.image_id, key)
        cell = self._cell((), {}, self._binds(False))
        seeds.keep_seed(self._engine, cell, name, self._uid, self._gid)


class Docker:
    """Opens and lists the folders below `places.workspaces`; `address` returns the engine's address."""

    rank = 1
    runs_images = True

    def __init__(self, address: Callable[[], str] = engine_address) -> None:
        self._address = address
        self._seen = (-_PROBLEM_S, "", "")

    def problem(self) -> str:
        """Return why no container can be started; cached for some seconds."""
        now, address = time.monotonic(), self._address()
        at, about, text = self._seen
        if now - at >= _PROBLEM_S or about != address:
            text = problem_with(address)
            self._seen = (now, address, text)
        return text

    def open(self, places: HostPaths, tenancy: Tenancy) -> DockerWorkspace:
        """Return the card's place. Containers of older claims in it are removed."""
        return DockerWorkspace(Engine(self._address()), places, tenancy)

    def open_clean(self, places: HostPaths, tenancy: Tenancy) -> CleanDockerWorkspace:
        """Return the place, empty; containers that were in it are removed."""
        self.open(places, tenancy).destroy()
        return CleanDockerWorkspace(Engine(self._address()), places, tenancy)

    def leftovers(self, places: HostPaths, alive: Callable[[RunId, int], bool]) -> Iterable[Leftover]:
        """Yield containers without a claim and old images of set-ups; nothing while no engine answers."""
        if self.problem():
            return
        engine, home = Engine(self._address()), sweeping.home_of(places.workspaces)
        yield from sweeping.dead_containers(engine, home, alive)
        yield from seeds.old(engine, home)

    def end_claim(self, places: HostPaths, run_id: RunId, generation: int) -> None:
        """Remove the containers of this claim."""
        engine = Engine(self._address(), _END_S)
        sweeping.remove_claim(engine, sweeping.home_of(places.workspaces), run_id, generation)

    def cards(self, places: HostPaths) -> tuple[CardId, ...]:
        """Return the cards that have a folder here."""
        return cards_in(places.workspaces)


BACKEND = Docker()
