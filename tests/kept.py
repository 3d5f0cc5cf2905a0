"""Worlds that are opened once in a run of the tests: every test goes on in a copy of its own.

A copy's forge has an address of its own, so that nothing of an earlier test can reach it. All instants in a
copy are of when it was kept, at most MAX_AGE_S ago: tests compare with the clock, not with what was there.
"""

import fcntl
import hashlib
import os
import pickle
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from forge.git.repository import clean_environment
from forge.seed import load
from forge.seed.world import World
from forge.store import Store
from forge.store.apps import Apps, new_key
from forge.web.server import Forge

MAX_AGE_S = 1200


@dataclass(slots=True)
class Kept:
    """What a forge knew at one moment, its prepared world, and the files beside it; `notes`: the maker's."""

    state: bytes
    folders: list[tuple[str, int]]  # with their modes; the outer ones first
    files: list[tuple[str, int, bytes]]
    notes: dict[str, Any] = field(default_factory=dict)
    _kept_at: float = field(default_factory=time.monotonic)

    @classmethod
    def of(cls, store: Store, world: World, root: Path) -> "Kept":
        """Keep a world and everything in `root`, where its repositories are in the folder `forge`."""
        with tempfile.TemporaryDirectory(prefix="cardinal-kept-") as folder:
            with store.lock:
                state = pickle.dumps((store, world), pickle.HIGHEST_PROTOCOL)
                shutil.copytree(root, folder, dirs_exist_ok=True)
            for repository in Path(folder).glob("forge/git/*/*.git"):  # a pack is copied faster
                args = ("-C", str(repository), "-c", "repack.writeBitmaps=false", "repack", "-adnq")
                subprocess.run(["git", *args], env=clean_environment(), check=True, timeout=60)
            kept = cls(state, [], [])
            for path in sorted(Path(folder).rglob("*")):
                name, mode = str(path.relative_to(folder)), path.stat().st_mode & 0o7777
                if path.is_dir():
                    kept.folders.append((name, mode))
                else:
                    kept.files.append((name, mode, path.read_bytes()))
        return kept

    @property
    def is_old(self) -> bool:
        return time.monotonic() - self._kept_at > MAX_AGE_S

    def copy(self, root: Path) -> tuple[Store, World]:
        """Return a copy of the store and its world, with all files in `root`."""
        for name, mode in self.folders:
            os.makedirs(f"{root}/{name}", mode, exist_ok=True)
        for name, mode, content in self.files:
            number = os.open(f"{root}/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
            with open(number, "wb", buffering=0) as file:
                file.write(content)
        store: Store
        world: World
        store, world = pickle.loads(self.state)
        store.root = root / "forge"
        return store, world


_kept: dict[str, Kept] = {}
_run = list[Path]()  # the folder of a run that has several processes


def share(folder: Path) -> None:
    """Let the processes of a run share in this folder what one of them keeps."""
    _run.append(folder)


def keep(name: str, make: Callable[[], Kept]) -> Kept:
    """Return what is kept under this name in this run; it is made anew once it is too old."""
    if name not in _kept or _kept[name].is_old:
        _kept[name] = _make_once(_run[0], name, make) if _run else make()
    return _kept[name]


def _make_once(folder: Path, name: str, make: Callable[[], Kept]) -> Kept:
    """Return what another process of the run has made and left here, or make it and leave it."""
    path = folder / f"kept-{hashlib.sha256(name.encode()).hexdigest()}"
    with path.open("a+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        if data := file.read():
            kept: Kept = pickle.loads(data)
            if not kept.is_old:
                return kept
        kept = make()
        file.truncate(0)
        file.write(pickle.dumps(kept, pickle.HIGHEST_PROTOCOL))
    return kept


def demo(root: Path, webhook: str = "") -> tuple[Forge, World]:
    """Return a forge in `root`, not yet started, with a copy of the demo's world."""
    store, world = keep(f"demo {webhook}", lambda: _demo(webhook)).copy(root)
    return Forge(store.root, store=store), world


def _demo(webhook: str) -> Kept:
    Apps.keys = chain((new_key(),), Apps.keys)  # its own: no App that a test registers later may have it
    with tempfile.TemporaryDirectory(prefix="cardinal-demo-") as folder:
        forge = Forge(Path(folder) / "forge")
        try:
            return Kept.of(forge.store, load(forge.store, "demo", webhook=webhook), Path(folder))
        finally:
            forge.stop()
