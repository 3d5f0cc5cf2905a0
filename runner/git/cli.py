"""git on the host: only in Cardinal's own bare mirrors, without the host's settings, and without prompts."""

import re
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from runner.errors import GitLimitError, KilledError
from runner.exec.child import Child, Ran, finish
from runner.exec.launch import ProcessLimits

# Before every command; a repository's own config can never widen these.
SETTINGS: Mapping[str, str] = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.attributesFile": "/dev/null",
    "core.protectNTFS": "true",
    # Since 2.43 attributes of HEAD count in a bare repository, too: they would hide lines from a diff.
    "attr.tree": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    # Nobody finds a bare repository that lies in a checkout: its config would name programs.
    "safe.bareRepository": "explicit",
    "protocol.ext.allow": "never",
    "fetch.fsckObjects": "true",
    "transfer.fsckObjects": "true",
    "receive.fsckObjects": "true",
    "fetch.recurseSubmodules": "false",
    "submodule.recurse": "false",
    "credential.helper": "",
    "gc.auto": "0",
    # A run's branch is pushed from here later: no power cut may leave an object empty, or a ref.
    "core.fsync": "all",
    "core.fsyncMethod": "batch",
    "init.templateDir": "",  # a new repository needs no samples of hooks
    # A pack is mapped in pieces: without these a large one would not fit into _MEMORY_BYTES.
    "core.packedGitWindowSize": "64m",
    "core.packedGitLimit": "512m",
    "pack.threads": "2",
    "maintenance.auto": "false",
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "60",
}
_ENVIRONMENT: Mapping[str, str] = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "/bin/false",
    "GIT_ALLOW_PROTOCOL": "https:http:file",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_DEFAULT_REF_FORMAT": "files",  # `Mirror` reads them
}
_FILE_BYTES = 4_000_000_000
_OUTPUT_BYTES = 64_000_000
# A comparison holds all that differs in memory: an object of a few bytes can name trees without end. Fetching
# and pushing look at every object of a repository.
_MEMORY_BYTES, _TRANSFER_MEMORY_BYTES = 1_500_000_000, 6_000_000_000
# A server's lines begin with `remote:`.
_NO_MEMORY = re.compile(r"^(?:fatal|error): .*(?:out of memory|Cannot allocate memory)", re.IGNORECASE | re.M)
_DIED = re.compile(r"^(?:fatal|error): .*died of signal (\d+)", re.M)
LOCK_S = 120
_GIT = ("git", *(part for name, value in SETTINGS.items() for part in ("-c", f"{name}={value}")))


def run_git(
    words: Sequence[str],
    *,
    folder: Path,
    beat: Callable[[], None],
    timeout_s: float,
    more_env: Mapping[str, str] | None = None,
    lock: Path | None = None,
    lock_s: int = LOCK_S,
    given: bytes = b"",
    transfers: bool = False,
    bare: bool = False,
) -> Ran:
    """Run one git command on the host and return its result, whatever its exit code.

    `bare`: the folder is itself the repository. Git takes no other bare one, wherever it looks.

    `given` is its input; the caller must notice an answer to less of it. `lock`: a file that one command
    holds at a time, waited for at most `lock_s`. `transfers`: of a whole repository, with more memory. Raises
    SpawnError, CommandTimeoutError, KilledError, and GitLimitError at a limit of memory, time or output.
    """
    queue = () if lock is None else ("flock", "--no-fork", "--timeout", str(lock_s), str(lock))
    limits = _bounds(timeout_s, transfers)
    child = Child(
        (*queue, *_GIT, *words),
        env={**_ENVIRONMENT, **({"GIT_DIR": "."} if bare else {}), **(more_env or {})},
        cwd=folder,
        cap_bytes=_OUTPUT_BYTES,
        bounds=limits,
    )
    child.write(given)
    ran = finish(child, what=f"git {words[0]}", timeout_s=timeout_s, beat=beat, out_bytes=_OUTPUT_BYTES)
    judge(words[0], ran, limits)
    return ran


def _bounds(timeout_s: float, transfers: bool) -> ProcessLimits:
    # Of several threads each counts: a fetch that is no hurry for the clock may be one for the processors.
    cpu_s = int(timeout_s) * (4 if transfers else 1)
    return ProcessLimits(_FILE_BYTES, _TRANSFER_MEMORY_BYTES if transfers else _MEMORY_BYTES, max(1, cpu_s))


def judge(command: str, ran: Ran, bounds: ProcessLimits) -> None:
    """Raise KilledError or GitLimitError when git was stopped rather than failed."""
    if ran.flooded:
        raise GitLimitError(command, f"{_OUTPUT_BYTES // 1_000_000} MB for its answer")
    if ran.exit_code == 0:
        return
    died = _DIED.search(ran.tail)  # one of git's own helpers: only its text shows it
    # A shell reports a signal as a code above 128; git's own codes are lower.
    by = int(died[1]) if died else max(-ran.exit_code, ran.exit_code - 128)
    if by == signal.SIGKILL:
        raise KilledError(f"git {command}")
    if by == signal.SIGXCPU:
        raise GitLimitError(command, f"{bounds.cpu_s} s of a processor")
    if by == signal.SIGXFSZ:
        raise GitLimitError(command, f"{_FILE_BYTES // 1_000_000} MB in one file")
    if _NO_MEMORY.search(ran.tail):
        raise GitLimitError(command, f"{(bounds.memory_bytes or 0) // 1_000_000} MB of memory")
