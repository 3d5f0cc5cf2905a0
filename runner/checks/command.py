"""Runs one command of the checks, keeps its output within bounds, and finds a program that it lacks."""

import re
import shutil
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from runner.artifacts.store import CAP_BYTES, Store, Stored
from runner.checks.places import note_hosts, start_command
from runner.errors import CommandTimeoutError
from runner.exec.child import finish
from runner.session.context import RunContext
from runner.text.plain import redact
from runner.workspaces.contract import Workspace

LOCAL = "local"  # see Workspace.image
NOT_FOUND = 127  # a shell's exit code where a command is not there: POSIX, Shell Command Language, 2.8.2
_PLACES, _THERE = "/usr/bin and /usr/local/bin", "install it there, or drop the check"
_LOOK_S, _MAX_BYTES, _MAX_NAMES = 20.0, 10_000, 20
_PARTS = re.compile(r"&&|\|\||[;|&\n()]")
_SET = re.compile(r"[A-Za-z_]\w*=")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,60}")
_BEFORE = frozenset(("env", "exec", "time", "nice", "nohup", "command", "if", "then", "!", "{"))
# Shells say `sh: 1: go: not found` or `line 3: go: command not found`, env(1) `'go': No such file`.
_SAID = re.compile(
    r"(?:^|: )['‘]?(?P<name>[A-Za-z0-9][\w.+-]{0,60})['’]?: (?:command )?(?:not found|No such file)", re.ASCII
)
_LOOK = 'for name; do command -v "$name" >/dev/null || { printf %s "$name"; exit 0; }; done'
GAP_BYTES = 1_000  # for the line that marks the gap
TIMED_OUT = 124  # as timeout(1) says it
_ENVIRONMENT = {"PYTHONDONTWRITEBYTECODE": "1", "GIT_CONFIG_NOSYSTEM": "1"}
_TOO_MUCH = (
    "It printed more than {} MB, its limit (`max_output_mb` of the column): print less, or raise that."
)
_MAX_S = 3600.0  # for one command, where the policy sets no time


def find_missing(run: RunContext, workspace: Workspace, command: str, output: str) -> str:
    """Return the program that a command with exit code 127 needs and the room does not have, or nothing.

    Raises SpawnError, WorkspaceError and StopRequested.
    """
    names = tuple(dict.fromkeys((*_find_names(output), *programs_of(command))))[:_MAX_NAMES]
    if not names:
        return ""
    child = workspace.start(
        ("/bin/sh", "-c", _LOOK, "sh", *names), env={}, writable=False, cap_bytes=_MAX_BYTES
    )
    missing = finish(child, what="looking for programs", timeout_s=_LOOK_S, beat=run.beat).out.strip()
    return missing if missing in names else ""


def explain_missing(run: RunContext, name: str) -> str:
    """Return the sentence for people: where the program is missing, and the remedy."""
    return say_missing(name, image=LOCAL if run.workspace.image == LOCAL else run.spec.image)


def say_missing(name: str, *, image: str) -> str:
    """Return that sentence for the image of this name: an empty one is Cardinal's own, `local` is none."""
    if image == LOCAL and (elsewhere := shutil.which(name)):
        return f"`{name}` is {elsewhere}, and checks on this machine look in {_PLACES}: {_THERE}."
    if image == LOCAL:
        return f"`{name}` is not installed on this machine: install it, or drop the check."
    if image:
        return f"`{name}` is not installed in the image `{image}`: add it there, or drop the check."
    named = "name an image that has it (`image:`, see docs/sandbox.md)"
    return f"`{name}` is not installed in Cardinal's own image: {named}, or drop the check."


def _find_names(output: str) -> Iterator[str]:
    """Yield the names that a shell says it did not find, the last first."""
    for line in reversed(output.splitlines()[-_MAX_NAMES:]):
        if said := _SAID.search(line[:500]):
            yield said["name"]


def programs_of(command: str) -> Iterator[str]:
    """Yield the programs of a shell line; none where it sets its own path."""
    for part in _PARTS.split("" if "PATH=" in command else command):
        words = [word for word in part.split() if not _SET.match(word) and word not in _BEFORE]
        if words and _NAME.fullmatch(words[0]):
            yield words[0]


@dataclass(frozen=True, slots=True)
class RanCommand:
    """A command that ended; `output` is the end of its output, `broken` why it did not end by itself, if so.

    `missing` is the program that its place does not have, where it failed for that.
    """

    exit_code: int
    output: str
    log: "CheckLog"
    duration_s: float
    broken: str = ""
    missing: str = ""


def run_command(run: RunContext, workspace: Workspace, command: str, *, of_column: bool) -> RanCommand:
    """Run one command, within the time of the checks; `of_column` as in `start_command`.

    A command that takes too long or writes too much counts as failed. Raises SpawnError, WorkspaceError or
    StopRequested.
    """
    cap_bytes = run.spec.limits.output_bytes
    child = start_command(run, workspace, command, cap_bytes=cap_bytes, env=_ENVIRONMENT, of_column=of_column)
    output, broken, missing = CheckLog(), "", ""
    timeout_s = run.spec.limits.timeout_s or _MAX_S
    began = time.monotonic()
    try:
        ran = finish(
            child,
            what=command,
            timeout_s=timeout_s,
            beat=run.beat,
            line=lambda text: output.add(run.secrecy.redact_private_skills(text)),
        )
        exit_code, said = ran.exit_code, ran.tail
        broken = child.fate or (_TOO_MUCH.format(cap_bytes // 1_000_000) if ran.flooded else "")
        if exit_code == NOT_FOUND:
            missing = find_missing(run, workspace, command, output.text())
        if why := broken or (missing and explain_missing(run, missing)):
            output.add(why)
            said = f"{said}\n{why}"
    except CommandTimeoutError as error:
        broken = str(error)
        output.add(broken)
        exit_code, said = TIMED_OUT, broken
    note_hosts(run)
    return RanCommand(
        exit_code=exit_code,
        output=said,
        log=output,
        duration_s=round(time.monotonic() - began, 3),
        broken=broken,
        missing=missing,
    )


class CheckLog:
    """Collects lines; over the cap, the beginning and the end are kept, with the gap marked."""

    def __init__(self, cap_bytes: int = CAP_BYTES) -> None:
        self._half = cap_bytes // 2
        self._begun: list[str] = []
        self._last: deque[str] = deque()
        self._begun_bytes = self._last_bytes = self._cut_bytes = 0
        self._text: str | None = None

    def add(self, line: str) -> None:
        """Add one line."""
        self._text = None
        size = len(line.encode("utf-8", "replace")) + 1
        if not self._last and self._begun_bytes + size <= self._half:
            self._begun.append(line)
            self._begun_bytes += size
            return
        self._last.append(line)
        self._last_bytes += size
        while self._last_bytes > self._half:
            gone = len(self._last.popleft().encode("utf-8", "replace")) + 1
            self._last_bytes -= gone
            self._cut_bytes += gone

    def text(self) -> str:
        """Return the collected output, redacted."""
        if self._text is None:
            gap = [f"[{self._cut_bytes} bytes are left out]"] if self._cut_bytes else []
            self._text = redact("\n".join((*self._begun, *gap, *self._last, "")))
        return self._text

    def keep(self, store: Store) -> Stored:
        """Store the redacted output; the digest of the stored file is the evidence."""
        return store.keep(self.text(), CAP_BYTES + GAP_BYTES)
