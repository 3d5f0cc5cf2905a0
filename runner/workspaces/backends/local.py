"""A workspace on this machine: a folder per card; bubblewrap locks its commands in where it works.

Memory has no cap here: per-process limits (RLIMIT_AS, RLIMIT_DATA) break programs that reserve much and use
little, such as sanitizers and JavaScript engines. Instead, the kernel kills these commands first.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from ledger.ids import CardId, RunId
from runner.agents.contract import Layout
from runner.errors import ServiceError, SpawnError
from runner.exec.child import Child
from runner.run.run_spec import HostPaths, ImageRecipe, RecipeFiles, ServiceSpec, ToolServerSpec
from runner.workspaces import bubblewrap
from runner.workspaces.card_folder import Folder, cards_in, folder_name
from runner.workspaces.contract import Leftover, Tenancy, ToolServerProcess
from runner.workspaces.packages import Packages, binds_of, read_packages


class LocalWorkspace(Folder):
    """A card's folder; `identity/`, `player`, `empty` and `blank` in it belong to the host as well."""

    networks = ("none",)  # nothing here could tell one host from another
    image = "local"  # commands see this machine's own system, read-only

    def __init__(self, root: Path, card_id: CardId, problem: str, packages: Packages | None = None) -> None:
        self._problem, self._packages = problem, packages
        super().__init__(root, card_id, os.geteuid(), os.getegid())
        (root / "empty").mkdir(exist_ok=True)
        (root / "blank").touch()
        bubblewrap.write_identity(root / "identity")
        (root / "player").write_bytes(bubblewrap.compile_player())

    @property
    def locked(self) -> str:
        """Empty when bubblewrap works here; else why not."""
        return self._problem

    @property
    def layout(self) -> Layout:
        """Neutral paths inside the sandbox; without one the host's own."""
        if not self._problem:
            return bubblewrap.INSIDE
        places = {name: str(self.root / name) for name in ("repo", "home", "out", "skills")}
        return Layout(**places, python=sys.executable, player=str(bubblewrap.PLAYER))

    def mirror_at(self, mirror: Path) -> str:
        """Return a neutral path; without a sandbox the mirror's own."""
        return str(mirror) if self._problem else bubblewrap.MIRROR

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
        gateway: Path | None = None,  # noqa: ARG002 - there is none here
        hides: Sequence[str] = (),
        side_channel: int | None = None,
        packages: bool = False,
        services: bool = False,  # noqa: ARG002 - there are none here
    ) -> Child:
        """Start `argv` with no environment but `env`; see the contract. Without a sandbox all is seen."""
        self.changes += writable or bool(self._problem)
        layout = self.layout
        inside = {
            "HOME": layout.home,
            "PATH": bubblewrap.PATH,
            "LANG": "C.UTF-8",
            "TMPDIR": "/tmp",  # noqa: S108 - the sandbox's own
            "USER": "agent",
        } | dict(env)
        command, cwd, inherited = tuple(argv), self.root / "repo", tuple[int, ...]()
        if self._problem:
            inside["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), bubblewrap.PATH))
        else:
            binds = self._binds(writable=writable, commits=commits, export=export, mirror=mirror, hides=hides)
            links = {}
            if packages and self._packages is not None:
                binds += binds_of(self._packages, self.root, layout)
                links = {self._packages.clone: layout.repo}
            command, inherited = bubblewrap.lock_command(argv, binds, self.root / "identity", links)
            cwd = self.root
        try:  # bwrap is found on the PATH that it is given, and passes this environment on
            return Child(
                command,
                env=inside,
                cwd=cwd,
                cap_bytes=cap_bytes,
                inherits=inherited,
                expendable=True,
                side_channel=side_channel,
            )
        finally:
            for descriptor in inherited:
                os.close(descriptor)

    def _binds(
        self, *, writable: bool, commits: bool, export: bool, mirror: Path | None, hides: Sequence[str]
    ) -> list[bubblewrap.Bind]:
        layout = self.layout
        binds = [
            bubblewrap.Bind(self.root / "player", f"{layout.player}/player.py"),
            bubblewrap.Bind(self.root / "repo", layout.repo, writable),
            bubblewrap.Bind(self.root / "home", layout.home, writable=True),
            bubblewrap.Bind(self.root / "skills", layout.skills),
        ]
        if writable and not commits:
            binds.append(bubblewrap.Bind(self.plain_git(), f"{layout.repo}/.git"))
        if export:
            binds.append(bubblewrap.Bind(self.root / "out", layout.out, writable=True))
        if mirror is not None:
            binds.append(bubblewrap.Bind(mirror, bubblewrap.MIRROR))
        binds += (bubblewrap.Bind(self.root / cover, path) for cover, path in self.mask(tuple(hides)))
        return binds

    def begin_services(
        self,
        services: tuple[ServiceSpec, ...],
        beat: Callable[[], None],  # noqa: ARG002 - nothing is waited for
    ) -> None:
        """Raise ServiceError for any: nothing here could lock one in."""
        for service in services:
            raise ServiceError(service.name, "it needs containers: set CARDINAL_WORKSPACE=docker")

    def end_services(self) -> None:
        """Nothing to do: there are none."""

    def restore_setup(self, key: str) -> bool:  # noqa: ARG002 - the contract's
        """Nothing is kept: there is no image here to keep it in."""
        return False


class CleanLocalWorkspace(LocalWorkspace):
    """One where no agent ever was."""

    def serve(
        self,
        server: ToolServerSpec,
        wire: int,  # noqa: ARG002 - the contract's
        errors: int,  # noqa: ARG002 - the contract's
        *,
        network: Path | None,  # noqa: ARG002 - the contract's
        env: Mapping[str, str],  # noqa: ARG002 - the contract's
        data: Path,  # noqa: ARG002 - the contract's
    ) -> ToolServerProcess:
        """Raise SpawnError: nothing here could lock a server away from the agent."""
        raise SpawnError(f"the tool server {server.name} needs containers: set CARDINAL_WORKSPACE=docker")

    def keep_setup(self, key: str) -> None:
        """Nothing is kept."""


class Local:
    """Opens and lists the folders below `places.workspaces`; `problem` says why there is no sandbox."""

    rank = 9
    runs_images = False

    def __init__(self, problem: Callable[[], str] = bubblewrap.sandbox_problem) -> None:
        self._problem = problem

    def problem(self) -> str:
        """Nothing: without a sandbox it still runs trusted agents, and `locked` says so."""
        return ""

    def open(self, places: HostPaths, tenancy: Tenancy) -> LocalWorkspace:
        root = places.workspaces / folder_name(tenancy.card_id)
        return LocalWorkspace(root, tenancy.card_id, self._problem(), read_packages(places.packages))

    def open_clean(self, places: HostPaths, tenancy: Tenancy) -> CleanLocalWorkspace:
        self.open(places, tenancy).destroy()
        root = places.workspaces / folder_name(tenancy.card_id)
        return CleanLocalWorkspace(root, tenancy.card_id, self._problem(), read_packages(places.packages))

    def make_image(
        self,
        places: HostPaths,  # noqa: ARG002 - the contract's
        tenancy: Tenancy,
        recipe: ImageRecipe,  # noqa: ARG002 - the contract's
        files: RecipeFiles,  # noqa: ARG002 - the contract's
        *,
        beat: Callable[[], None],  # noqa: ARG002 - the contract's
        say: Callable[[str], None],  # noqa: ARG002 - the contract's
    ) -> str:
        """Return the image as it is: commands here see this machine's own system."""
        return tenancy.image

    def leftovers(
        self,
        places: HostPaths,  # noqa: ARG002
        alive: Callable[[RunId, int], bool],  # noqa: ARG002
    ) -> Iterable[Leftover]:
        """Nothing: commands here die with their worker."""
        return ()

    def end_claim(self, places: HostPaths, run_id: RunId, generation: int) -> None:  # noqa: ARG002
        """Kill sandboxes that a death left half made; all else dies with its worker."""
        for pid in bubblewrap.half_made(places.workspaces, reaper=os.getppid()):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def cards(self, places: HostPaths) -> tuple[CardId, ...]:
        return cards_in(places.workspaces)


BACKEND = Local()
