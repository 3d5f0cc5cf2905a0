"""Runs one command of the checks, and keeps its output within bounds."""

import time
from collections import deque
from dataclasses import dataclass

from runner.artifacts.store import CAP_BYTES, Store, Stored
from runner.checks.missing_program import NOT_FOUND, explain_missing, find_missing
from runner.checks.places import note_hosts, start_command
from runner.errors import CommandTimeoutError
from runner.exec.child import finish
from runner.session.context import RunContext
from runner.text.plain import redact
from runner.workspaces.contract import Workspace

GAP_BYTES = 1_000  # for the line that marks the gap
TIMED_OUT = 124  # as timeout(1) says it
_ENVIRONMENT = {"PYTHONDONTWRITEBYTECODE": "1", "GIT_CONFIG_NOSYSTEM": "1"}
_TOO_MUCH = (
    "It printed more than {} MB, its limit (`max_output_mb` of the column): print less, or raise that."
)
_MAX_S = 3600.0  # for one command, where the policy sets no time


@dataclass(frozen=True, slots=True)
class RanCommand:
    """A command that ended; `said` is the end of its output, `broken` why it did not end by itself, if so.

    `missing` is the program that its place does not have, where it failed for that.
    """

    exit_code: int
    said: str
    log: "CheckLog"
    duration_s: float
    broken: str = ""
    missing: str = ""


def run_command(run: RunContext, room: Workspace, command: str, *, of_column: bool) -> RanCommand:
    """Run one command, within the time of the checks; `of_column` as in `start_command`.

    A command that takes too long or writes too much counts as failed. Raises SpawnError, WorkspaceError or
    StopRequested.
    """
    cap_bytes = run.spec.limits.output_bytes
    child = start_command(run, room, command, cap_bytes=cap_bytes, env=_ENVIRONMENT, of_column=of_column)
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
            missing = find_missing(run, room, command, output.text())
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
        said=said,
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
