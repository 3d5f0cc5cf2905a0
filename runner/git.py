"""git on the host: only on Cardinal's own bare mirrors, with nothing of the host's settings, and never a
prompt.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from runner.child import Child, Ran, finish

# Before every command; what a repository's own config says can never widen these.
SETTINGS: Mapping[str, str] = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.attributesFile": "/dev/null",
    "core.protectNTFS": "true",
    # Since 2.43 attributes of HEAD count in a bare repository, too: they would hide lines from a diff.
    "attr.tree": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "protocol.ext.allow": "never",
    "fetch.fsckObjects": "true",
    "transfer.fsckObjects": "true",
    "receive.fsckObjects": "true",
    "fetch.recurseSubmodules": "false",
    "submodule.recurse": "false",
    "credential.helper": "",
    "gc.auto": "0",
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
}
_FILE_BYTES = 4_000_000_000
_OUTPUT_BYTES = 64_000_000
LOCK_S = 120


def arguments(settings: Mapping[str, str] = SETTINGS) -> tuple[str, ...]:
    """Return `git` with these settings as arguments."""
    return ("git", *(part for name, value in settings.items() for part in ("-c", f"{name}={value}")))


def run_git(
    words: Sequence[str],
    *,
    folder: Path,
    beat: Callable[[], None],
    timeout_s: float,
    credentials: Mapping[str, str] | None = None,
    lock: Path | None = None,
    lock_s: int = LOCK_S,
    given: bytes = b"",
) -> Ran:
    """Run one git command on the host and return what it did, whatever its exit code.

    `given` is what it reads; the caller sees to it that an answer to less of it is noticed. `lock`: a file
    that only one such command holds at a time, waited for at most `lock_s`; git is not
    begun when that is over. Raises SpawnError and CommandTimeoutError.
    """
    queue = () if lock is None else ("flock", "--no-fork", "--timeout", str(lock_s), str(lock))
    child = Child(
        (*queue, *arguments(), *words),
        env={**_ENVIRONMENT, **(credentials or {})},
        cwd=folder,
        cap_bytes=_OUTPUT_BYTES,
        file_bytes=_FILE_BYTES,
    )
    child.write(given)
    return finish(child, what=f"git {words[0]}", timeout_s=timeout_s, beat=beat, out_bytes=_OUTPUT_BYTES)
