"""`python -m forge.portable`: the board of `cardinal try`, until Ctrl-C. Its folder is the argument."""

import argparse
import fcntl
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from forge.demo import launch
from forge.demo.people import StoryError, Team
from forge.git.repository import GitError
from forge.portable.branches import Branches
from forge.portable.door import ENTER, LoopbackAuth
from forge.portable.saved import SavedForge, StateError
from forge.portable.world import FIRST_CARD, Wanted, add_columns, build, write_policy
from forge.seed.world import World
from forge.stopping import stop_event, wait_for_stop
from forge.store import Store
from forge.web.server import Forge

KEPT = 20  # starts whose ports are known


@dataclass(slots=True)
class Addresses:
    """The ports of this start, `board` and `cardinal`, chosen from those of the starts before."""

    file: Path
    first: int  # the board's port at its first start; Cardinal's is the next
    last: tuple[str, str]  # the addresses that the board's state names
    board: int = 0
    cardinal: int = 0
    _before: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        known = json.loads(self.file.read_text()) if self.file.exists() else []
        last = [urlsplit(url).port for url in self.last]  # none at a first start
        self._before = [
            (int(board), int(cardinal)) for board, cardinal in (*known, last) if board and cardinal
        ]
        board, cardinal = self._before[-1] if self._before else (self.first, self.first and self.first + 1)
        self.board = _free(board)
        self.cardinal = _free(cardinal)

    def keep(self) -> None:
        """Write the ports down, once they are this board's."""
        kept = [pair for pair in self._before if pair != (self.board, self.cardinal)][1 - KEPT :]
        fresh = self.file.with_suffix(".new")
        fresh.write_text(json.dumps([*kept, (self.board, self.cardinal)]))
        fresh.replace(self.file)

    def former(self) -> dict[str, str]:
        """Return the ports that links may name, and those that they lead to now."""
        moved: dict[str, str] = {}
        for board, cardinal in self._before:
            moved |= {str(board): str(self.board), str(cardinal): str(self.cardinal)}
        return {port: now for port, now in moved.items() if port != now}


def _free(port: int) -> int:
    """Return that port if nobody listens there, else another."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return launch.free_port()
        return port or launch.free_port()


if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

GONE = "{0} was removed, so the board has ended. Finished work is in your branches cardinal/..."
FIRST_STEPS = f"""\
Drag the card {FIRST_CARD[0]!r} to In Progress, open it, and tick 'Approve this plan'. An agent starts.
Then drag it to Review, approve its pull request, and drag it to Done."""
ROOM_BYTES = 1 << 20  # with less, a ledger cannot be written
POLL_S = 1.0  # between two looks at the person's branches
# How Cardinal's settings begin by which models are paid; `cardinal try` takes them from the environment.
PAYMENT = (
    *("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"),
    *(
        f"CARDINAL_{name}"
        for name in (*launch.PROVIDERS, "SUBSCRIPTION", "ALLOW_SUBSCRIPTION", "VERTEX", "BEDROCK", "PRICES")
    ),
)


class TryError(Exception):
    """The board cannot be opened; the message says why, and what to do."""


class PortableForge(Forge):
    """A forge with a door."""

    auth: LoopbackAuth

    def answer(self, environ: "WSGIEnvironment", start: "StartResponse") -> Iterator[bytes]:
        """Answer one request, unless the door does."""
        refused = self.auth.answer(environ)
        if refused is None:
            yield from super().answer(environ, start)
            return
        status, headers, body = refused
        start(status, [*headers, ("Content-Length", str(len(body)))])
        yield body


def main() -> int:
    """Serve the board until Ctrl-C; return the exit status."""
    parser = argparse.ArgumentParser(prog="cardinal try", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--browser", action="store_true")
    parser.add_argument("--workspace", default="local")
    options = parser.parse_args()
    stopped, moved = stop_event(), threading.Event()
    try:
        with _alone(options.folder), _serving(options.folder, options.workspace, stopped, moved) as address:
            print("Ctrl-C stops it; `cardinal try` continues where it stopped.", flush=True)
            if options.browser:
                webbrowser.open(address(once=True))
            wait_for_stop(stopped)
    except (TryError, StoryError, GitError, OSError, json.JSONDecodeError) as error:
        if stopped.is_set():
            return 0  # Ctrl-C reaches Cardinal as well: what was about to begin has not failed
        because = _because(options.folder, error) if isinstance(error, StoryError) else str(error)
        step = ": make room there, then start it again" if _is_full(options.folder) else ""
        print(f"cardinal try: {because}{step}", file=sys.stderr)
        return 2
    if not is_there(options.folder):
        print(f"cardinal try: {GONE.format(options.folder)}", file=sys.stderr)
        return 2
    return 0


def _because(folder: Path, error: StoryError) -> str:
    last = (error.last.strip().splitlines() or ["nothing was said"])[-1]
    return f"Cardinal does not start ({last.removeprefix('Error: ')}); more is in {folder / 'cardinal.log'}"


def is_there(folder: Path) -> bool:
    """Tell whether the board's folder is still there: `git clean -x` removes it, too."""
    return (folder / "try.json").exists()


def _is_full(folder: Path) -> bool:
    return is_there(folder) and shutil.disk_usage(folder).free < ROOM_BYTES


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    with (folder / "try.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            step = f"use that one{_at(folder)}, or stop it"
            raise TryError(f"it runs already for this repository: {step}") from error
        yield


def _at(folder: Path) -> str:
    """Return the address of the board that runs there; empty while it starts for the first time."""
    ports, key = folder / "forge" / "ports", folder / "forge" / "key"
    if not (ports.exists() and key.exists()):
        return ""
    board, _ = json.loads(ports.read_text())[-1]
    return f" at http://127.0.0.1:{board}{ENTER}?key={key.read_text()}"


@contextmanager
def _serving(
    folder: Path, workspace: str, stopped: threading.Event, moved: threading.Event
) -> Iterator[Callable[..., str]]:
    """Serve the board, keep the branches together, and run Cardinal beside it."""
    print("The board starts.", flush=True)
    wanted = Wanted.of((folder / "try.json").read_text())
    root = folder / "forge"
    root.mkdir(mode=0o700, exist_ok=True)
    is_new, saved = not (root / "state").exists(), SavedForge(root)
    store, world, shared = _open_store(saved, wanted)
    addresses = Addresses(root / "ports", wanted.port, (store.base_url, world.app.webhook_url))
    forge = PortableForge(root, addresses.board, store=store)
    forge.former = addresses.former()
    board = f"/orgs/{world.project.owner.login}/projects/{world.project.number}"
    forge.auth = LoopbackAuth(_key(root), wanted.login, board, store)

    def keep() -> None:
        with store.lock:
            saved.write(store, world, branches.last)
        moved.set()

    branches = Branches(store, wanted, keep, lambda text: print(text, flush=True), shared)
    addresses.keep()
    cardinal_url = f"http://127.0.0.1:{addresses.cardinal}"
    world.app.webhook_url = f"{cardinal_url}/webhooks/github"
    world.app.callback_urls = (f"{cardinal_url}/sign-in/back",)
    add_columns(store, world, wanted.columns)
    write_policy(store, world, (folder / "policy.yml").read_text())
    forge.keep = keep
    keep()
    forge.sender.resume()
    settings = {"CARDINAL_WORKSPACE": workspace, "CARDINAL_SCENARIOS": str(folder / "scenarios")}
    settings["CARDINAL_PACKAGES"] = str(folder / "packages.json")
    launch.write_settings(folder, forge.url, addresses.cardinal, world.registration(), settings)
    over = threading.Event()  # not `stopped`: a board that ends for want of Cardinal was not stopped
    following = threading.Thread(
        target=_follow, args=(branches, folder, stopped, over, moved), name="branches"
    )
    forge.start()
    try:
        following.start()
        with _cardinal(folder, workspace, forge.url, cardinal_url):
            lines = f"the board: {forge.auth.address(forge.url)}", f"the inbox: {cardinal_url}/"
            print(*lines, *([FIRST_STEPS] if is_new else []), sep="\n", flush=True)
            yield partial(forge.auth.address, forge.url)
    finally:
        over.set()
        moved.set()
        if following.ident is not None:
            following.join()
        forge.stop()


@contextmanager
def _cardinal(folder: Path, workspace: str, forge_url: str, url: str) -> Iterator[None]:
    """Run Cardinal for the board; say what its sandbox lacks."""
    environment = environment_of(os.environ)
    with launch.up(folder.parent, environment, folder / "cardinal.log", url) as group:
        scene = launch.Scene(Team(forge_url), url, folder.parent, environment, group)
        if workspace == "local" and (warning := launch.sandbox_warning(scene.checkup())):
            print(warning, flush=True)
        yield


def _open_store(saved: SavedForge, wanted: Wanted) -> tuple[Store, World, dict[str, str]]:
    try:
        known = saved.read()
    except StateError as error:
        because = f"{saved.root}/state cannot be read ({error}): start the Cardinal that wrote it"
        raise TryError(f"{because}, or remove {saved.root.parent} to begin anew") from error
    if known is not None:
        return known
    shutil.rmtree(saved.root / "git", ignore_errors=True)  # of a first start that was killed
    store = Store(saved.root)
    return store, build(store, wanted), {}


def _follow(
    branches: Branches, folder: Path, stopped: threading.Event, over: threading.Event, moved: threading.Event
) -> None:
    """Bring the branches together after each change of the forge, and look for the person's own.

    The board ends with its folder.
    """
    said = ""
    while not over.is_set():
        moved.wait(POLL_S)
        moved.clear()
        if not is_there(folder):
            stopped.set()
            return
        try:
            branches.bring_together()
            said = ""
        except (GitError, OSError, subprocess.TimeoutExpired) as error:
            if str(error) != said:
                print(f"the branches cannot be brought together: {error}", file=sys.stderr, flush=True)
            said = str(error)


def _key(root: Path) -> str:
    """Return the person's key; it is made once."""
    file = root / "key"
    if not file.exists():
        fresh = file.with_suffix(".new")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as written:
            written.write(secrets.token_urlsafe(24))
        fresh.replace(file)
    return file.read_text()


def environment_of(environ: Mapping[str, str]) -> dict[str, str]:
    """Return Cardinal's environment: with the person's own keys of providers, which are written nowhere."""
    given = {name: text for name, text in environ.items() if text and name.startswith(PAYMENT)}
    return {**launch.own_environment(), **given}


if __name__ == "__main__":
    sys.exit(main())
