"""Starts of programs and forks that the kernel kills when their parent dies.

A fork of a large process copies its page tables and closes its ledgers first. `subprocess` avoids it (with
vfork) as long as no Python code runs between fork and exec, so a small shell prepares the program.
"""

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_PR_SET_PDEATHSIG = 1  # source: linux/prctl.h
_EXPENDABLE = 800
_TRY_S = 60
_FILE_UNIT_BYTES, _MEMORY_UNIT_BYTES = 512, 1024  # source: POSIX and dash(1), ulimit
_LAST_S = 5  # between SIGXCPU and SIGKILL
# The parent may have died before setpriv asked for the signal. What a shell adds to the environment goes.
_CHECK = '[ "$PPID" = "$1" ] || exit 125; shift; unset PWD OLDPWD SHLVL _'


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """Limits of a program and of each program that it starts; None is no limit.

    `file_bytes` limits each file that it writes, `memory_bytes` its address space, `cpu_s` its processor
    time. Source: setrlimit(2).
    """

    file_bytes: int | None = None
    memory_bytes: int | None = None
    cpu_s: int | None = None

    def steps(self) -> Iterator[str]:
        if self.file_bytes is not None:
            yield f"ulimit -f {self.file_bytes // _FILE_UNIT_BYTES}"
        if self.memory_bytes is not None:
            yield f"ulimit -v {self.memory_bytes // _MEMORY_UNIT_BYTES}"
        if self.cpu_s is not None:
            yield f"ulimit -St {self.cpu_s} && ulimit -Ht {self.cpu_s + _LAST_S}"


UNBOUNDED = ProcessLimits()


def launch_problem() -> str:
    """Return why no program can be started here, or nothing."""
    return setpriv_problem(_setpriv())


def setpriv_problem(setpriv: str) -> str:
    """Return why this `setpriv` cannot start programs, or nothing, which is remembered by forks too."""
    if not setpriv:
        return "setpriv is not installed: install util-linux 2.33 or newer"
    try:
        _try(setpriv)
    except OSError as error:
        return str(error)
    return ""


@cache
def _try(setpriv: str) -> None:
    """Start a program with it. Raises OSError, so that a failure is tried again the next time."""
    command = (*_follow(setpriv), "/bin/sh", "-c", ":")
    try:
        tried = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TRY_S)
    except (OSError, subprocess.SubprocessError) as error:
        raise OSError(f"setpriv does not work here: {error}") from error
    if tried.returncode != 0:
        reason = " ".join(tried.stderr.decode(errors="replace").split())[:200]
        raise OSError(f"{setpriv} has no --pdeathsig ({reason}): install util-linux 2.33 or newer")


def die_with_parent(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    bounds: ProcessLimits = UNBOUNDED,
    expendable: bool = False,
) -> tuple[str, ...]:
    """Return the command that becomes `argv` and gets SIGKILL when the thread that started it dies.

    Start it with the same `env` and `cwd`; the shell's own variables (IFS, OPTIND, PWD …) do not reach
    `argv`. The kernel kills an `expendable` program first when memory runs out (source: proc(5),
    oom_score_adj). Raises OSError when `argv` cannot be started here.
    """
    setpriv = _setpriv()
    if problem := setpriv_problem(setpriv):
        raise OSError(problem)
    program = str(cwd / argv[0]) if "/" in argv[0] else argv[0]
    if shutil.which(program, path=env.get("PATH", os.defpath)) is None:
        raise FileNotFoundError(f"there is no program {argv[0]}")
    steps = [_CHECK]
    if expendable:
        steps.append(f"echo {_EXPENDABLE} > /proc/self/oom_score_adj || exit 125")
    steps += (f"{step} || exit 125" for step in bounds.steps())
    script = "; ".join((*steps, 'exec "$@"'))
    return (*_follow(setpriv), "/bin/sh", "-c", script, "sh", str(os.getpid()), *argv)


def _setpriv() -> str:
    return shutil.which("setpriv") or ""


def _follow(setpriv: str) -> tuple[str, ...]:
    return (setpriv, "--pdeathsig", "KILL", "--")


def with_parent(*, expendable: bool = False) -> Callable[[], None]:
    """Return a function for a forked child to call first: SIGKILL then follows its parent's death.

    `expendable` is as in `die_with_parent`. The C library is loaded here: after the fork that can deadlock.
    """
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def arrange() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it died before prctl
            os._exit(1)
        if expendable:
            score = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
            os.write(score, str(_EXPENDABLE).encode())
            os.close(score)

    return arrange


def detach(kept: Iterable[int]) -> None:
    """Drop the inheritance of a fork: session, signal handlers, and all descriptors but `kept`.

    Database connections and clients stay as objects: nobody may call or free them.
    """
    os.setsid()
    signal.set_wakeup_fd(-1)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for signal_number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGALRM):
        signal.signal(signal_number, signal.SIG_DFL)
    for number in {int(name) for name in os.listdir("/proc/self/fd")} - {*kept}:
        with contextlib.suppress(OSError):  # the listing's own is closed already
            os.close(number)
