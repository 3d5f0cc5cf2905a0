"""Runs the commands of one tier and writes the evidence: what ran, where it stood, how it ended."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from ledger.events.run import CommandChecked, UsageMetered, ValidationEnded
from runner.check_log import CheckLog
from runner.child import finish
from runner.errors import CommandTimeoutError
from runner.live import LiveRun
from runner.redact import redact
from runner.shell import note_hosts, start_command
from runner.texts import tail
from runner.workspace import Workspace

_ENVIRONMENT = {"PYTHONDONTWRITEBYTECODE": "1", "GIT_CONFIG_NOSYSTEM": "1"}
_TAIL_BYTES = 4_000
_MOST_S = 3600.0  # for one command, where the policy sets no time
TIMED_OUT = 124  # as timeout(1) says it
FLOODED = 125


@dataclass(frozen=True, slots=True)
class Tier:
    """One round of checks: `name` is fast or full, `head` the commit that is checked, `base` GitHub's."""

    name: str
    iteration: int
    head: str
    base: str


def run_tier(run: LiveRun, room: Workspace, tier: Tier, commands: Sequence[str]) -> bool:
    """Run `commands` in order until one fails; return whether all passed, which is an event then."""
    passed = True
    for command in commands:
        checked = _check(run, room, tier, command)
        run.log.append(checked, UsageMetered(run.order.run_id, 0.0, 0, 0, 0, checked.duration_s))
        passed = checked.exit_code == 0
        if not passed:
            break
    run.log.append(ValidationEnded(run.order.run_id, tier.iteration, tier.name, passed, tier.head, tier.base))
    return passed


def _check(run: LiveRun, room: Workspace, tier: Tier, command: str) -> CommandChecked:
    """Run one command; one that takes too long or writes too much has failed like any other."""
    child = start_command(run, room, command, cap_bytes=run.order.limits.output_bytes, env=_ENVIRONMENT)
    output = CheckLog()
    timeout_s = run.order.limits.timeout_s or _MOST_S
    began = time.monotonic()
    try:
        ran = finish(child, what=command, timeout_s=timeout_s, beat=run.beat, line=output.add)
        exit_code, said = FLOODED if ran.flooded else ran.exit_code, ran.tail
        if child.fate:
            output.add(child.fate)
            said = f"{said}\n{child.fate}"
    except CommandTimeoutError as error:
        output.add(str(error))
        exit_code, said = TIMED_OUT, str(error)
    note_hosts(run)
    return CommandChecked(
        run_id=run.order.run_id,
        iteration=tier.iteration,
        tier=tier.name,
        command=command,
        exit_code=exit_code,
        duration_s=round(time.monotonic() - began, 3),
        log_digest=output.keep(run.order.places.logs),
        tail=tail(redact(said), _TAIL_BYTES),
        head=tier.head,
        base=tier.base,
    )
