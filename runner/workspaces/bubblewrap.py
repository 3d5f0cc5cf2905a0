"""The bubblewrap command line: a minimal view of the host for commands."""

import marshal
import os
import platform
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass
from functools import cache
from importlib.util import MAGIC_NUMBER
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from runner.agents.contract import Layout
from runner.errors import KilledError
from runner.exec.in_container.lock import MACHINES, pack_filter
from runner.exec.launch import die_with_parent
from runner.exec.processes import process_table

INSIDE = Layout(
    repo="/workspace/repo",
    home="/workspace/home",
    out="/workspace/out",
    python="/tools/python3",
    player="/player",
    skills="/workspace/skills",
)
MIRROR = "/mirror"
PATH = "/tools:/usr/local/bin:/usr/bin:/bin:/usr/local/go/bin"  # the last one: go.dev/doc/install
_SYSTEM = ("bin", "sbin", "lib", "lib64", "lib32", "libx32")
# Folders at the top that commands have instead of the host's: it has nothing to show below them.
OWN_FOLDERS = frozenset(("usr", "etc", "proc", "dev", "python", *_SYSTEM)).union(
    at.split("/")[1] for at in (*astuple(INSIDE), MIRROR) if at
)
PLAYER = Path(__file__).parents[1] / "agents" / "scripted"
_TMP_BYTES = 512 * 1024 * 1024
_SHM_BYTES = 64 * 1024 * 1024
_FILE_BYTES = 2 * 1024 * 1024 * 1024
_PROCESSES = 512
_END_S = 5.0
_TRY_S = 60  # a machine that is busy is no reason
# Enough to resolve names of users, find libraries and check certificates, and what Debian's runtimes do not
# start without; nothing that names the host. Maven's settings.xml and PHP's pools may hold passwords.
_ETC = (
    *("ssl", "alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types"),
    *("java-*-openjdk", "maven/m2.conf", "maven/logging", "perl", "php/*/cli", "php/*/mods-available"),
)
_IDENTITY = {"passwd": "agent:x:1000:1000:agent:/workspace/home:/bin/sh\n", "group": "agent:x:1000:\n"}


@dataclass(frozen=True, slots=True)
class Bind:
    """A folder or file of the host, mounted at `inside`."""

    outside: Path
    inside: str
    writable: bool = False


def sandbox_problem() -> str:
    """Return why bubblewrap does not work here, or nothing.

    That it works is remembered, by forks too. Raises KilledError when the trial was killed.
    """
    program = shutil.which("bwrap")
    if not program:
        return "bubblewrap (bwrap) is not installed"
    try:
        _try(program)
    except OSError as error:
        return str(error)
    return ""


@cache
def _try(bwrap: str) -> None:
    """Start bubblewrap. Raises OSError, so that a failure is tried again the next time, and KilledError."""
    if platform.machine() not in MACHINES:
        raise OSError(f"there is no filter of system calls for {platform.machine()}")
    seccomp = _open_content("seccomp", pack_filter(platform.machine()))
    command = (bwrap, *_shell()[1:], "--seccomp", str(seccomp), "--", "/bin/sh", "-c", "exit 0")
    try:
        tried = subprocess.run(
            die_with_parent(command, env={}, cwd=Path("/")),
            env={},
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TRY_S,
            pass_fds=(seccomp,),
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise OSError(f"bubblewrap does not work here: {error}") from error
    finally:
        os.close(seccomp)
    if tried.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL):
        raise KilledError("bubblewrap")
    if tried.returncode != 0:
        raise OSError(f"bubblewrap does not work here: {tried.stderr.decode(errors='replace').strip()[:300]}")


def write_identity(folder: Path) -> None:
    """Write the files that name the user inside; the agent cannot write there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in _IDENTITY.items():
        (folder / name).write_text(text, encoding="utf-8")


@cache
def compile_player() -> bytes:
    """Return the player for the Python that is mounted: it starts for every turn, which compiles it anew."""
    code = compile((PLAYER / "player.py").read_bytes(), "player.py", "exec", dont_inherit=True)
    return MAGIC_NUMBER + bytes(12) + marshal.dumps(code)  # source: importlib, _code_to_timestamp_pyc


def lock_command(
    argv: Sequence[str],
    binds: Sequence[Bind],
    identity: Path,
    links: Mapping[str, str] = MappingProxyType({}),
) -> tuple[tuple[str, ...], tuple[int, int]]:
    """Return the command that locks `argv` in, and the descriptors that it must inherit.

    `links` are paths inside, each with where it leads.
    Mounts go through a descriptor: as arguments the host's paths would be readable in /proc inside. The
    caller closes the descriptors.
    """
    shown: list[str] = []
    for name in _IDENTITY:
        shown += ["--ro-bind", str(identity / name), f"/etc/{name}"]
    for bind in binds:
        shown += ["--bind" if bind.writable else "--ro-bind", str(bind.outside), bind.inside]
    for path, target in links.items():
        shown += ["--symlink", target, path]
    limits = ("prlimit", f"--fsize={_FILE_BYTES}", f"--nproc={_PROCESSES}", "--core=0", "--")
    arguments = "\0".join(
        (*_shell()[1:], *_interpreter(), *shown, "--remount-ro", "/", "--chdir", INSIDE.repo)
    ).encode()
    descriptors = (
        _open_content("sandbox", arguments),
        _open_content("seccomp", pack_filter(platform.machine())),
    )
    shell = ("bwrap", "--args", str(descriptors[0]), "--seccomp", str(descriptors[1]))
    return (*shell, "--", *limits, *argv), descriptors


def _open_content(name: str, content: bytes) -> int:
    descriptor = os.memfd_create(name)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _shell() -> tuple[str, ...]:
    system: list[str] = []
    for top in _SYSTEM:
        path = Path("/") / top
        if path.is_symlink():
            system += ["--symlink", str(path.readlink()), f"/{top}"]
        elif path.is_dir():
            system += ["--ro-bind", f"/{top}", f"/{top}"]
    for each in chain.from_iterable(Path("/etc").glob(name) for name in _ETC):
        system += ["--ro-bind-try", str(each), str(each)]
    return (
        *[
            "bwrap",
            "--unshare-all",
            "--unshare-user",
            "--disable-userns",
            "--uid",
            "1000",
            "--gid",
            "1000",
            "--cap-drop",
            "ALL",
        ],
        *("--hostname", "cardinal", "--die-with-parent", "--new-session", "--ro-bind", "/usr", "/usr"),
        *system,
        *("--proc", "/proc", "--dev", "/dev", "--size", str(_SHM_BYTES), "--tmpfs", "/dev/shm"),  # noqa: S108 - its own
        *("--remount-ro", "/dev", "--size", str(_TMP_BYTES), "--tmpfs", "/tmp"),  # noqa: S108 - its own
    )


def half_made(workspaces: Path, *, reaper: int) -> Iterator[int]:
    """Yield the pids of sandboxes that never began: their first process died before it had let go the second.

    That one waits for ever, still in the folder below `workspaces` where it was started, and in the session
    of the first. `reaper` is the parent of whoever has lost theirs. Source: bubblewrap's child_wait_fd.
    """
    table = process_table()
    for pid, (_, session) in table.items():
        with suppress(OSError):
            is_second = pid != session and Path(f"/proc/{pid}/comm").read_text() == "bwrap\n"
            here = is_second and Path(f"/proc/{pid}/cwd").readlink().is_relative_to(workspaces)
            if here and (session not in table or (table[session][0] == reaper and _has_ended(session))):
                yield pid


def _has_ended(pid: int) -> bool:
    """Wait for the end of a process that dies with its parent, which is dead; return whether it came."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], _END_S)[0])
    finally:
        os.close(descriptor)


def _interpreter() -> tuple[str, ...]:
    """Mount the Python that runs Cardinal, without its packages, under a neutral name."""
    base, executable = Path(sys.base_prefix).resolve(), Path(sys.executable).resolve()
    shown: tuple[str, ...] = ("--dir", "/tools")
    inside = str(executable)
    if not base.is_relative_to("/usr"):
        inside = f"/python/{executable.relative_to(base)}"
        shown += ("--ro-bind", str(base), "/python", "--setenv", "LD_LIBRARY_PATH", "/python/lib")
    return (*shown, "--symlink", inside, "/tools/python3", "--symlink", inside, "/tools/python")
