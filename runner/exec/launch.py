"""Starting a program so that SIGKILL follows its parent's death, without forking Cardinal.

A fork of a large process copies its page tables and closes its ledgers first. `subprocess` needs none (it
uses vfork) as long as no Python code runs between fork and exec, so a small shell prepares the program.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_EXPENDABLE = 800
_TRY_S = 60
_FILE_UNIT_BYTES, _MEMORY_UNIT_BYTES = 512, 1024  # source: POSIX and dash(1), ulimit
_LAST_S = 5  # between SIGXCPU and SIGKILL
# The parent may have died before setpriv asked for the signal. What a shell adds to the environment goes.
_CHECK = '[ "$PPID" = "$1" ] || exit 125; shift; unset PWD OLDPWD SHLVL _'


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """What a program and each program that it starts may use; None: as much as there is.

    `file_bytes` is the size of every file that it writes, `memory_bytes` its address space, `cpu_s` its time
    on a processor. Source: setrlimit(2).
    """

    file_bytes: int | None = None
    memory_bytes: int | None = None
    cpu_s: int | None = None

    def steps(self) -> Iterator[str]:
        """Yield the shell commands that set them."""
        if self.file_bytes is not None:
            yield f"ulimit -f {self.file_bytes // _FILE_UNIT_BYTES}"
        if self.memory_bytes is not None:
            yield f"ulimit -v {self.memory_bytes // _MEMORY_UNIT_BYTES}"
        if self.cpu_s is not None:
            yield f"ulimit -St {self.cpu_s} && ulimit -Ht {self.cpu_s + _LAST_S}"


UNBOUNDED = ProcessLimits()


def launch_problem() -> str:
    """Return why no program can be started here, or nothing."""
    return problem_of(_setpriv())


@cache
def problem_of(setpriv: str) -> str:
    """Return why this `setpriv` cannot start programs, or nothing; tried once per process."""
    if not setpriv:
        return "setpriv is not installed: install util-linux 2.33 or newer"
    command = (*_follow(setpriv), "/bin/sh", "-c", ":")
    try:
        tried = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TRY_S)
    except (OSError, subprocess.SubprocessError) as error:
        return f"setpriv does not work here: {error}"
    if tried.returncode == 0:
        return ""
    reason = " ".join(tried.stderr.decode(errors="replace").split())[:200]
    return f"{setpriv} has no --pdeathsig ({reason}): install util-linux 2.33 or newer"


def launched(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    bounds: ProcessLimits = UNBOUNDED,
    expendable: bool = False,
) -> tuple[str, ...]:
    """Return the command that becomes `argv` and gets SIGKILL once the thread that starts it is gone.

    `env` and `cwd` are those of the start; variables that a shell keeps for itself (IFS, OPTIND, PWD …) do
    not reach `argv`. An `expendable` program is what the kernel kills first when memory runs out, rather than
    Cardinal (source: proc(5), oom_score_adj).

    Raises OSError when `argv` cannot be started here.
    """
    if problem := launch_problem():
        raise OSError(problem)
    if shutil.which(_located(argv[0], cwd), path=env.get("PATH", os.defpath)) is None:
        raise FileNotFoundError(f"there is no program {argv[0]}")
    steps = [_CHECK]
    if expendable:
        steps.append(f"echo {_EXPENDABLE} > /proc/self/oom_score_adj || exit 125")
    steps += (f"{step} || exit 125" for step in bounds.steps())
    script = "; ".join((*steps, 'exec "$@"'))
    return (*_follow(_setpriv()), "/bin/sh", "-c", script, "sh", str(os.getpid()), *argv)


def _setpriv() -> str:
    return shutil.which("setpriv") or ""


def _located(program: str, cwd: Path) -> str:
    return str(cwd / program) if "/" in program else program


def _follow(setpriv: str) -> tuple[str, ...]:
    return (setpriv, "--pdeathsig", "KILL", "--")
