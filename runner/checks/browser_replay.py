"""Plays a card's steps in a browser: on the base before the agent begins, on the head after the gate."""

import json
import secrets
import time
from dataclasses import replace

from ledger.events.reproduction import (
    AFTER,
    BEFORE,
    KILLED,
    UNPLAYABLE,
    ReproductionPlayed,
    ReproductionSkipped,
)
from runner.artifacts.browser import keep_files
from runner.checks.browser_report import Browsed, ReplayResult, listed
from runner.checks.clean_checkout import BROWSER, clean_room
from runner.checks.commands import note_hosts, start_command
from runner.errors import CommandTimeoutError, KilledError, RunnerError, WorkspaceError
from runner.exec.child import SIGKILLED, Child, finish
from runner.run.context import RunContext, Scales
from runner.run.run_spec import ReproductionSpec
from runner.text.redact import redact
from runner.text.truncate import one_line, tail
from runner.workspaces.contract import Workspace

_PYTHON = "/opt/browser/bin/python"  # in the image
_OUTPUT_BYTES = 20_000_000
_SAVING_S = 20.0  # of its time, in which the program ends by itself and saves what it recorded
_LEAST_S = 5.0
_NO_CONTAINER = (
    "A browser needs containers, and here commands run on this machine itself: whoever runs Cardinal installs"
    " Docker, builds the images with `scripts/images`, and sets `CARDINAL_WORKSPACE=docker`."
)


def play_before(run: RunContext, base: str) -> None:
    """Play the steps on the base, once in a run, before any turn of an agent. Raises StopRequested."""
    wanted, history = run.order.reproduction, run.history
    if wanted is None or history.turn is not None or history.played:
        return
    why = wanted.absent or (_NO_CONTAINER if run.workspace.image == "local" else "")
    if why:
        run.log.append(ReproductionSkipped(run.order.run_id, why))
    else:
        _play(run, wanted, BEFORE, base)


def play_after(run: RunContext, start: str) -> None:
    """Play them on what the gate let pass, once for each such commit. Raises StopRequested."""
    wanted = run.order.reproduction
    played = [one for one in run.history.played if isinstance(one, ReproductionPlayed)]
    if wanted is None or not played:
        return
    head = run.checkout.commit()
    if head not in ("", start) and all((one.phase, one.head) != (AFTER, head) for one in played):
        _play(run, wanted, AFTER, head)


def _play(run: RunContext, wanted: ReproductionSpec, phase: str, head: str) -> None:
    """Play the steps in a clean room and record how it went; whatever goes wrong there ends no run."""
    began = time.monotonic()
    seen, image = Browsed(len(wanted.steps), secrets.token_hex(16)), ""
    kept: tuple[str, ...] = ()
    outcome: ReplayResult | None = None
    name = f"{run.order.run_id}-reproduced"
    run.mirror.remember(name, head)
    try:
        with clean_room(run, BROWSER, name, wanted.image) as room:
            image = room.image
            try:
                outcome = seen.outcome(_in_room(run, room, wanted, seen, began))
            except KilledError as error:
                outcome = seen.outcome(str(error), killed=True)
            kept = keep_files(run, room, phase)
    except RunnerError as error:
        if outcome is None or outcome.outcome != KILLED:  # what was killed may leave nothing that can be kept
            how = KILLED if isinstance(error, KilledError) else UNPLAYABLE
            outcome = ReplayResult(how, 0, one_line(redact(str(error)), 800))
    run.log.append(
        ReproductionPlayed(
            run_id=run.order.run_id,
            phase=phase,
            head=head,
            image=image,
            outcome=outcome.outcome,
            steps=listed([step.text for step in wanted.steps]),
            step=outcome.step,
            said=outcome.said,
            errors=seen.errors,
            error_count=seen.error_count,
            kept=kept,
            duration_s=round(time.monotonic() - began, 3),
        )
    )


def _in_room(run: RunContext, room: Workspace, wanted: ReproductionSpec, seen: Browsed, began: float) -> str:
    """Set up, then browse; return why the program did not get to its end, or nothing.

    Raises KilledError when somebody else ended it.
    """
    weighed = replace(run, workspace=room, scales=Scales())

    def beat() -> None:
        run.log.beat()
        run.obey()
        overweight = weighed.overweight()
        if overweight:
            raise WorkspaceError("the reproduction", overweight)

    def left_s() -> float:
        return max(0.0, wanted.limit_s - (time.monotonic() - began))

    for command in run.order.validation.setup:
        child = start_command(run, room, command, cap_bytes=_OUTPUT_BYTES, of_column=True)
        ran = finish(child, what=f"set-up ({command})", timeout_s=left_s(), beat=beat)
        note_hosts(run)
        _mind_kill(child, ran.exit_code, f"the set-up ({command})")
        if ran.exit_code != 0:
            return f"the set-up failed: $ {command}: {tail(ran.tail, 300)}"
    child = room.start(
        (_PYTHON, "-I", "-B", f"{room.layout.player}/browse.py", room.layout.out),
        env={"CI": "1"},
        writable=True,
        cap_bytes=_OUTPUT_BYTES,
        export=True,
    )
    child.write(_plan(wanted, seen.key, max(_LEAST_S, left_s() - _SAVING_S)))
    try:
        ran = finish(child, what="the reproduction", timeout_s=left_s(), beat=beat, spoken=seen.take)
    except CommandTimeoutError as error:
        return str(error)
    if seen.done:
        return ""
    if ran.flooded:
        return "the browser's place wrote more than it may"
    _mind_kill(child, ran.exit_code, "the browser's program")
    return f"the browser's program ended with exit code {ran.exit_code}: {tail(ran.tail, 300)}"


def _mind_kill(child: Child, exit_code: int, what: str) -> None:
    """Raise KilledError when the kernel or somebody outside ended it, on its own or with its container."""
    if child.fate or exit_code in SIGKILLED:
        raise KilledError(what, child.fate)


def _plan(wanted: ReproductionSpec, key: str, limit_s: float) -> bytes:
    steps = [(step.verb, step.first, step.second) for step in wanted.steps]
    told = {
        "key": key,
        "start": wanted.start,
        "address": wanted.address,
        "ready_s": wanted.ready_s,
        "limit_s": limit_s,
        "steps": steps,
    }
    return json.dumps(told).encode()
