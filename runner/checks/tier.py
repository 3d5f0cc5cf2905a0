"""Runs the commands of one tier and records the evidence: command, commit, result."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from ledger.events.bounds import RoundFailed
from ledger.events.run import CommandChecked, UsageMetered, ValidationEnded
from runner.artifacts.store import CAP_BYTES, Store, Stored, store_of
from runner.checks import failure
from runner.checks.places import note_hosts, start_command
from runner.errors import CommandTimeoutError
from runner.exec.child import finish
from runner.run.run_spec import ValidationSpec
from runner.session.context import RunContext
from runner.session.keep import artifact_events
from runner.text.plain import redact, tail
from runner.workspaces.contract import Workspace

GAP_BYTES = 1_000  # for the line that marks the gap
_ENVIRONMENT = {"PYTHONDONTWRITEBYTECODE": "1", "GIT_CONFIG_NOSYSTEM": "1"}
_TAIL_BYTES = 4_000
_MAX_S = 3600.0  # for one command, where the policy sets no time
TIMED_OUT = 124  # as timeout(1) says it


@dataclass(frozen=True, slots=True)
class Tier:
    """One round of checks: `name` is fast or full, `head` the checked commit, `base` GitHub's.

    The mirror has both. `checks` are those of this commit. `clean`: it is the gate, on a clean checkout where
    the agent never was, and set-up runs there first.
    """

    name: str
    iteration: int
    head: str
    base: str
    checks: ValidationSpec
    clean: bool = False


def run_tier(
    run: RunContext, room: Workspace, tier: Tier, *, tidy: Callable[[], None] = lambda: None
) -> bool:
    """Run the tier's commands in order until one fails, then `tidy`; return whether all passed.

    The result becomes an event at the very end, so an interrupted round leaves none. A failure has its
    signature, to be compared with the next one.
    """
    run_id, checks = run.order.run_id, tier.checks
    set_up = checks.setup if tier.clean else ()
    commands = checks.full if tier.name == "full" else checks.fast
    for number, command in enumerate((*set_up, *commands)):
        checked, output, log = _check(run, room, tier, command)
        kept = artifact_events(run, f"{tier.name} {tier.iteration}: {command}", "log", log)
        run.log.append(checked, *kept, UsageMetered(run_id, 0.0, 0, 0, 0, checked.duration_s))
        if checked.exit_code != 0:
            said = _failed(run, tier, checked, output, set_up=number < len(set_up))
            tidy()
            run.log.append(_ended(run, room, tier, passed=False), said)
            return False
    tidy()
    run.log.append(_ended(run, room, tier, passed=True))
    return True


def _ended(run: RunContext, room: Workspace, tier: Tier, *, passed: bool) -> ValidationEnded:
    return ValidationEnded(
        run_id=run.order.run_id,
        iteration=tier.iteration,
        tier=tier.name,
        passed=passed,
        head=tier.head,
        base=tier.base,
        image=room.image,
        clean=tier.clean,
        definition=tier.checks.definition,
        paths=tier.checks.covers,
    )


def _failed(
    run: RunContext, tier: Tier, checked: CommandChecked, output: str, *, set_up: bool
) -> RoundFailed:
    said = failure.read(checked.command, output)
    change = run.mirror.diff(tier.base, tier.head)
    return RoundFailed(
        run_id=run.order.run_id,
        iteration=tier.iteration,
        tier=tier.name,
        head=tier.head,
        tree=run.mirror.tree(tier.head),
        command=checked.command,
        exit_code=checked.exit_code,
        set_up=set_up,
        clean=tier.clean,
        signature=said.signature,
        failing=said.failing,
        names=said.names,
        useful=said.useful,
        files_changed=change.files_changed,
        lines_changed=change.lines_changed,
    )


def _check(run: RunContext, room: Workspace, tier: Tier, command: str) -> tuple[CommandChecked, str, Stored]:
    """Run one command; return its result, its redacted output, and the stored log.

    A command that takes too long or writes too much counts as failed.
    """
    cap_bytes = run.order.limits.output_bytes
    child = start_command(run, room, command, cap_bytes=cap_bytes, env=_ENVIRONMENT, of_column=tier.clean)
    output = CheckLog()
    timeout_s = run.order.limits.timeout_s or _MAX_S
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
        if child.fate:
            output.add(child.fate)
            said = f"{said}\n{child.fate}"
    except CommandTimeoutError as error:
        output.add(str(error))
        exit_code, said = TIMED_OUT, str(error)
    note_hosts(run)
    log = output.keep(store_of(run.order.places))
    checked = CommandChecked(
        run_id=run.order.run_id,
        iteration=tier.iteration,
        tier=tier.name,
        command=command,
        exit_code=exit_code,
        duration_s=round(time.monotonic() - began, 3),
        log_digest=log.digest,
        tail=tail(redact(said), _TAIL_BYTES),
        head=tier.head,
        base=tier.base,
        image=room.image,
    )
    return checked, output.text(), log


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
