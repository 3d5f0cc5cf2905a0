"""A workspace on this machine: a folder per card, its commands locked in by bubblewrap where that works.

Memory has no cap here: per-process limits (RLIMIT_AS, RLIMIT_DATA) break what reserves much and uses little,
such as sanitizers and JavaScript engines. What runs here is the first that the kernel kills instead.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ledger.ids import CardId, RunId
from runner.agents.contract import Layout
from runner.exec.child import Child
from runner.run.run_spec import HostPaths
from runner.workspaces.bubblewrap import (
    INSIDE,
    MIRROR,
    PATH,
    PLAYER,
    Bind,
    locked_in,
    sandbox_problem,
    write_identity,
)
from runner.workspaces.card_folder import Folder, FolderWorkspace, cards_in, folder_name
from runner.workspaces.contract import Tenancy


class LocalWorkspace(FolderWorkspace):
    """`repo/`, `home/` and `out/` of one card; `ready`, `skills/`, `identity/` and `empty/` beside them are
    the host's own.
    """

    def __init__(self, root: Path, card_id: CardId, problem: str) -> None:
        self._root, self._problem = root, problem
        super().__init__(Folder(root, card_id, os.geteuid(), os.getegid()))
        (root / "empty").mkdir(exist_ok=True)
        (root / "blank").touch()
        write_identity(root / "identity")

    @property
    def locked(self) -> str:
        """Empty when bubblewrap works here; else why not."""
        return self._problem

    @property
    def layout(self) -> Layout:
        """Neutral paths inside the sandbox; without one the host's own."""
        if not self._problem:
            return INSIDE
        places = {name: str(self._root / name) for name in ("repo", "home", "out", "skills")}
        return Layout(**places, python=sys.executable, player=str(PLAYER))

    @property
    def networks(self) -> tuple[str, ...]:
        """Only none: nothing here could tell one host from another."""
        return ("none",)

    @property
    def image(self) -> str:
        """`local`: there is no image, its commands see this machine's system, read-only."""
        return "local"

    def mirror_at(self, mirror: Path) -> str:
        """Return a neutral path; without a sandbox the mirror's own."""
        return str(mirror) if self._problem else MIRROR

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
        beside: int | None = None,
    ) -> Child:
        """Start `argv` with no environment but `env`; see the contract. Without a sandbox all is seen."""
        layout = self.layout
        inside = {
            "HOME": layout.home,
            "PATH": PATH,
            "LANG": "C.UTF-8",
            "TMPDIR": "/tmp",  # noqa: S108 - the sandbox's own
            "USER": "agent",
        } | dict(env)
        if self._problem:
            path = os.pathsep.join((str(Path(sys.executable).parent), PATH))
            return Child(
                argv,
                env=inside | {"PATH": path},
                cwd=self._root / "repo",
                cap_bytes=cap_bytes,
                expendable=True,
                beside=beside,
            )
        binds = self._binds(writable=writable, commits=commits, export=export, mirror=mirror, hides=hides)
        command, told = locked_in(argv, binds, self._root / "identity")
        try:  # bwrap is found on the PATH that it is given, and passes this environment on
            return Child(
                command,
                env=inside,
                cwd=self._root,
                cap_bytes=cap_bytes,
                inherits=told,
                expendable=True,
                beside=beside,
            )
        finally:
            for descriptor in told:
                os.close(descriptor)

    def _binds(
        self, *, writable: bool, commits: bool, export: bool, mirror: Path | None, hides: Sequence[str]
    ) -> list[Bind]:
        layout = self.layout
        binds = [
            Bind(PLAYER / "player.py", f"{layout.player}/player.py"),
            Bind(self._root / "repo", layout.repo, writable),
            Bind(self._root / "home", layout.home, writable=True),
            Bind(self._root / "skills", layout.skills),
        ]
        if writable and not commits:
            binds.append(Bind(self._folder.plain_git(), f"{layout.repo}/.git"))
        if export:
            binds.append(Bind(self._root / "out", layout.out, writable=True))
        if mirror is not None:
            binds.append(Bind(mirror, MIRROR))
        binds += (Bind(self._root / cover, path) for cover, path in self._folder.masked(tuple(hides)))
        return binds

    def restore_setup(self, key: str) -> bool:  # noqa: ARG002 - the contract's
        """Nothing is kept: there is no image here to keep it in."""
        return False

    def keep_setup(self, key: str) -> None:
        """Nothing is kept."""

    def destroy(self) -> None:
        """Remove the folder; see the contract."""
        self._folder.destroy()


class Local:
    """Opens and lists the folders below `places.workspaces`; `problem` tells why there is no sandbox."""

    def __init__(self, problem: Callable[[], str] = sandbox_problem) -> None:
        self._problem = problem

    def problem(self) -> str:
        """Nothing: without a sandbox it still runs what is trusted, and `locked` says so."""
        return ""

    def open(self, places: HostPaths, tenancy: Tenancy) -> LocalWorkspace:
        """Return the card's folder as a workspace."""
        root = places.workspaces / folder_name(tenancy.card_id)
        return LocalWorkspace(root, tenancy.card_id, self._problem())

    def sweep(self, places: HostPaths, alive: Callable[[RunId, int], bool]) -> tuple[str, ...]:  # noqa: ARG002
        """Nothing: what runs here dies with its worker."""
        return ()

    def cards(self, places: HostPaths) -> tuple[CardId, ...]:
        """Return the cards that have a folder here."""
        return cards_in(places.workspaces)


BACKEND = Local()
