"""A workspace in containers: a folder per card, and a hardened container per command."""

import contextlib
import hashlib
import os
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path

from ledger.ids import CardId, RunId
from ledger.lifecycle.in_place import put_in_place
from ledger.model.policy_settings import Resources
from runner.errors import RunnerError, SpawnError
from runner.exec.child import Child
from runner.exec.launch import die_with_parent
from runner.exec.proxy import CERTIFICATES, proxy_environment
from runner.run.run_spec import HostPaths, ImageRecipe, RecipeFiles, ServiceSpec, ToolServerSpec
from runner.workspaces.bubblewrap import INSIDE, MIRROR, PLAYER, Bind
from runner.workspaces.card_folder import Folder, cards_in, folder_name
from runner.workspaces.contract import DEFAULT_IMAGE, Leftover, Tenancy, ToolServerProcess
from runner.workspaces.docker import recipes, seeds
from runner.workspaces.docker.cell import Cell, lock_argv
from runner.workspaces.docker.container import (
    ATTACH,
    cli_environment,
    problem_with,
    start_container,
    working_cli,
)
from runner.workspaces.docker.engine import Engine, Image, engine_address
from runner.workspaces.docker.errors import ForeignSetUpError
from runner.workspaces.docker.seeds import HOME_LABEL, REPOSITORY_LABEL
from runner.workspaces.docker.services import ServiceContainers

RESOURCES = Resources(memory_mb=512, cpus=1.0, processes=128, disk_mb=64, open_files=1024)
_DETACH_S = 5.0


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
                die_with_parent(command, env=env, cwd=root, expendable=True),
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
        self._attached.wait(_DETACH_S)


CARD_LABEL = "cardinal.card"
RUN_LABEL = "cardinal.run"
GENERATION_LABEL = "cardinal.generation"


def home_of(workspaces: Path) -> str:
    """Return the stable id of a state folder, which tells our containers from those of another Cardinal.

    Its path is enough, since an engine mounts folders of one machine only.
    """
    return hashlib.sha256(str(workspaces.absolute()).encode()).hexdigest()[:16]


def labels_of(home: str, tenancy: Tenancy) -> dict[str, str]:
    return {
        HOME_LABEL: home,
        CARD_LABEL: tenancy.card_id,
        RUN_LABEL: tenancy.run_id,
        GENERATION_LABEL: str(tenancy.generation),
        REPOSITORY_LABEL: tenancy.repository_id,
    }


def remove_older(engine: Engine, home: str, tenancy: Tenancy) -> None:
    """Remove the containers of the same card from other runs and older claims of this one."""
    for container in engine.find({HOME_LABEL: home, CARD_LABEL: tenancy.card_id}):
        if container.run_id != tenancy.run_id or container.generation < tenancy.generation:
            engine.remove(container.container_id)


def remove_claim(engine: Engine, home: str, run_id: RunId, generation: int) -> None:
    """Remove the containers of that claim: one that is only about to start must not, either."""
    labels = {HOME_LABEL: home, RUN_LABEL: run_id, GENERATION_LABEL: str(generation)}
    for container in engine.find(labels):
        engine.remove(container.container_id)


def remove_all(engine: Engine, home: str, card_id: CardId) -> None:
    for container in engine.find({HOME_LABEL: home, CARD_LABEL: card_id}):
        engine.remove(container.container_id)


def dead_containers(engine: Engine, home: str, alive: Callable[[RunId, int], bool]) -> Iterator[Leftover]:
    for container in engine.find({HOME_LABEL: home}):
        if not alive(container.run_id, container.generation):
            whose = f"run {container.run_id}" if container.run_id else "no run"
            what = f"the container {container.name} of {whose}, claim {container.generation}, which ended"
            yield Leftover(what, partial(engine.remove, container.container_id))


_RUNNER = Path(__file__).parents[2]
_INSIDE = ("exec/in_container", "agents/*/in_container")  # every agent's own programs, too
_ENDINGS = (".py", ".sh")


def programs(state: Path, uid: int, gid: int) -> Path:
    """Return the folder with `player/`, `passwd`, `group`, `empty/` and `blank`, created when missing.

    It is below the state folder, which Cardinal and the engine see under the same path even where Cardinal
    itself lives in a container. Its name is the digest of its contents, so nobody changes it under a running
    command.
    """
    wanted = _content(uid, gid)
    digest = hashlib.sha256(repr(sorted(wanted.items())).encode()).hexdigest()[:16]
    folder = state / "inside" / digest
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=folder.parent, prefix="draft-"))
    for name, content in wanted.items():
        (draft / name).parent.mkdir(exist_ok=True)
        (draft / name).write_bytes(content)
    (draft / "empty").mkdir()
    (draft / "blank").touch()
    for path in (draft, *draft.rglob("*")):  # another user reads it, whatever the umask
        path.chmod(0o755 if path.is_dir() else 0o644)
    try:
        put_in_place(draft, folder)
    except OSError:  # another process was first
        shutil.rmtree(draft, ignore_errors=True)
    return folder


def _content(uid: int, gid: int) -> Mapping[str, bytes]:
    inside = (path for folder in _INSIDE for path in _RUNNER.glob(f"{folder}/*") if path.suffix in _ENDINGS)
    sources = [PLAYER / "player.py", *inside]
    return {
        "passwd": f"agent:x:{uid}:{gid}:agent:/workspace/home:/bin/sh\n".encode(),
        "group": f"agent:x:{gid}:\n".encode(),
        # The mirror belongs to the host's user; git reads it only when a file of settings says so.
        "player/gitconfig": f"[safe]\n\tdirectory = {MIRROR}\n".encode(),
    } | {f"player/{path.name}": path.read_bytes() for path in sources if path.name != "__init__.py"}


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
        self._home, self._runtime = home_of(places.workspaces), places.runtime
        self._services = ServiceContainers(engine, self.root / "services", (self._uid, self._gid))
        remove_older(engine, self._home, tenancy)

    @property
    def image(self) -> str:
        """The engine's id of the image, which is the digest of its description. Raises ImageMissingError."""
        return self._image.image_id

    def mirror_at(self, mirror: Path) -> str:  # noqa: ARG002 - the contract's
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
        services: bool = False,
    ) -> Child:
        """Start `argv` in a new container; see the contract. Raises the errors of this folder too."""
        self.changes += writable
        root, binds = self.root, list(self._binds(writable))
        if writable and not commits:
            binds.append(Bind(self.plain_git(), f"{LAYOUT.repo}/.git"))
        if export:
            binds.append(Bind(root / "out", LAYOUT.out, writable=True))
        binds += (Bind(self._programs / cover, path) for cover, path in self.mask(tuple(hides)))
        given = dict(env)
        if mirror is not None:
            binds.append(Bind(mirror.absolute(), MIRROR))
            given["GIT_CONFIG_GLOBAL"] = f"{LAYOUT.player}/gitconfig"
        command = tuple(argv)
        if gateway is not None:  # a socket is connected to through a read-only folder, but not replaced
            binds.append(Bind(gateway.absolute(), _SOCKETS))
        hosts = self._services.hosts if services else {}
        if hosts:
            binds.append(self._services.bind)
        if hosts or gateway is not None:
            command = ("/bin/sh", f"{LAYOUT.player}/enter.sh", *command)
        cell = replace(self._cell(lock_argv(*command), given, tuple(binds)), hosts=hosts)
        return start_container(self._engine, cell, cap_bytes=cap_bytes, side_channel=side_channel)

    def begin_services(self, services: tuple[ServiceSpec, ...], beat: Callable[[], None]) -> None:
        """Start them, each beside a relay in this place's own image; see the contract."""
        if services:
            made = self._programs
            own = (Bind(made / name, f"/etc/{name}") for name in ("passwd", "group"))
            cell = self._cell((), {}, (*own, Bind(made / "player", LAYOUT.player)))
            self._services.begin(services, cell, self._open_image, beat)

    def end_services(self) -> None:
        self._services.end()

    def restore_setup(self, key: str) -> bool:
        """Unpack the image of this key and base image; `.git` is untouched."""
        binds = (*self._binds(True), Bind(self.plain_git(), f"{LAYOUT.repo}/.git"))
        name = seeds.seed_name(self._home, self._image.image_id, key)
        return seeds.restore_seed(self._engine, self._cell((), {}, binds), name)

    def destroy(self) -> None:
        """Remove the containers, then the folder."""
        remove_all(self._engine, self._home, self._tenancy.card_id)
        super().destroy()

    @cached_property
    def _image(self) -> Image:
        return self._open_image(self._tenancy.image or DEFAULT_IMAGE)

    def _open_image(self, name: str) -> Image:
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
            labels=labels_of(self._home, self._tenancy),
            resources=self._tenancy.resources,
            volumes=tuple(volume for volume in self._image.volumes if volume not in taken),
            runtime=self._runtime,
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
            command = lock_argv(*command)
        if network is not None:
            binds.append(Bind(network.absolute(), _SOCKETS))
            command = ("/bin/sh", inside, *command)
            given |= proxy_environment(LAYOUT.proxy)
        if network is not None or not server.image:
            binds.append(Bind(made / "player", LAYOUT.player))
        if server.reads:
            binds += (Bind(self.repo, LAYOUT.repo), Bind(data.absolute(), AGENT_FILES))
            given |= _READS
        image = self._open_image(server.image) if server.image else self._image
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

    def make_image(
        self,
        places: HostPaths,
        tenancy: Tenancy,
        recipe: ImageRecipe,
        files: RecipeFiles,
        *,
        beat: Callable[[], None],
        say: Callable[[str], None],
    ) -> str:
        """Return the name of the recipe's image, with the agents' programs on top; see the contract."""
        engine, home = Engine(self._address()), home_of(places.workspaces)
        agents = engine.image(DEFAULT_IMAGE)
        made = recipes.Recipes(engine, home, tenancy, agents=agents, runtime=places.runtime)
        return made.make(recipe, files, beat, say)

    def leftovers(self, places: HostPaths, alive: Callable[[RunId, int], bool]) -> Iterable[Leftover]:
        """Yield containers without a claim and old images of set-ups; nothing while no engine answers."""
        if self.problem():
            return
        engine, home = Engine(self._address()), home_of(places.workspaces)
        yield from dead_containers(engine, home, alive)
        yield from seeds.old(engine, home)
        yield from recipes.old_images(engine, home)

    def end_claim(self, places: HostPaths, run_id: RunId, generation: int) -> None:
        engine = Engine(self._address(), _END_S)
        remove_claim(engine, home_of(places.workspaces), run_id, generation)

    def cards(self, places: HostPaths) -> tuple[CardId, ...]:
        return cards_in(places.workspaces)


BACKEND = Docker()
