"""Replay of a card's steps in a browser: on the base before the agent, on the head after the gate."""

import json
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ledger.events import reproduction
from runner.checks.by_path import set_up_of
from runner.checks.places import BROWSER, clean_room, note_hosts, start_command
from runner.errors import CommandTimeoutError, KilledError, RunnerError, WorkspaceError
from runner.exec.child import SIGKILLED, Child, finish
from runner.run.run_spec import ReproductionSpec
from runner.session.context import RunContext, Scales
from runner.session.keep import keep_files
from runner.text.plain import one_line, redact, tail
from runner.workspaces.contract import Workspace

MAX_ERRORS = 10
_SAID_BYTES = 400
_LINE_BYTES = 20_000
_PYTHON = "/opt/browser/bin/python"  # in the image
_OUTPUT_BYTES = 20_000_000
_SAVING_S = 20.0  # reserved for the program to end by itself and save its recordings
_MIN_S = 5.0
_NO_CONTAINER = (
    "A browser needs containers, and here commands run on this machine itself: Cardinal's operator installs"
    " Docker, builds the images with `cardinal images`, and sets `CARDINAL_WORKSPACE=docker`."
)


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """Result of a replay; `step` is the failed step, from 1, or 0."""

    outcome: str
    step: int
    said: str


@dataclass(slots=True)
class Browsed:
    """Progress of a replay, read from the browser program's lines.

    The program is Cardinal's own but runs beside the app, which can write to the same output: only lines with
    the key count, and only their shape is trusted.
    """

    steps: int
    key: str  # that every line of the program's own has, and the app cannot know
    ready: bool = False
    done: bool = False
    passed: int = 0
    failed: str = ""  # how the step after those did not come true
    problem: str = ""
    errors: tuple[str, ...] = ()
    error_count: int = 0

    def take(self, line: str) -> None:
        """Take one line of output; foreign lines are ignored."""
        if len(line) > _LINE_BYTES:
            return
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return
        if not isinstance(message, dict) or message.get("key") != self.key:
            return
        if "ready" in message:
            self.ready = message["ready"] is True
            self.problem = "" if self.ready else _short(message.get("said"))
        elif "step" in message:
            self._step(message)
        elif isinstance(message.get("errors"), list):
            self.errors = tuple(_short(error) for error in message["errors"][-MAX_ERRORS:])
            count = message.get("error_count")
            self.error_count = max(len(self.errors), count) if type(count) is int else len(self.errors)
        self.done = self.done or message.get("done") is True

    def _step(self, message: dict[str, Any]) -> None:
        if message["step"] != self.passed + 1 or self.failed or self.passed >= self.steps:
            return
        said = _short(message.get("said"))
        if said or message.get("said") != "":
            self.failed = said or "it did not work"
        else:
            self.passed += 1

    def outcome(self, problem: str = "", *, killed: bool = False) -> ReplayResult:
        """Return the result; `problem` is why the program did not end by itself, if so.

        A step that failed before the program was `killed` counts as failed; the text has both.
        """
        if self.failed:
            return ReplayResult(
                reproduction.FAILED,
                self.passed + 1,
                f"{self.failed}; then {problem}" if killed else self.failed,
            )
        if self.passed == self.steps and self.steps:
            return ReplayResult(reproduction.PASSED, 0, "")
        where = f" during step {self.passed + 1}" if self.ready else ""
        if killed:
            return ReplayResult(reproduction.KILLED, 0, f"{_short(problem)}{where}")
        said = self.problem or problem or "the browser's program ended without a word"
        return ReplayResult(reproduction.UNPLAYABLE, 0, f"{_short(said)}{where}")


def list_texts(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(_short, texts))


def _short(text: object) -> str:
    return one_line(redact(str(text)), _SAID_BYTES)


def play_before(run: RunContext, base: str) -> None:
    """Play the steps on the base, once in a run, before any turn of an agent. Raises StopRequested."""
    spec, history = run.spec.reproduction, run.history
    if spec is None or history.turn is not None or history.played:
        return
    why = spec.absent or (_NO_CONTAINER if run.workspace.image == "local" else "")
    if why:
        run.log.append(reproduction.ReproductionSkipped(run.spec.run_id, why))
    else:
        _play(run, spec, reproduction.BEFORE, base)


def play_after(run: RunContext, start: str) -> None:
    """Play the steps on the commit that passed the gate, once per commit. Raises StopRequested."""
    spec = run.spec.reproduction
    played = [replay for replay in run.history.played if isinstance(replay, reproduction.ReproductionPlayed)]
    if spec is None or not played:
        return
    head = run.checkout.commit()
    if head not in ("", start) and all(
        (replay.phase, replay.head) != (reproduction.AFTER, head) for replay in played
    ):
        _play(run, spec, reproduction.AFTER, head)


def _play(run: RunContext, spec: ReproductionSpec, phase: str, head: str) -> None:
    """Play the steps on a clean checkout and record the result; a failure there ends no run."""
    began = time.monotonic()
    browsed, image = Browsed(len(spec.steps), secrets.token_hex(16)), ""
    kept: tuple[str, ...] = ()
    outcome: ReplayResult | None = None
    name = f"{run.spec.run_id}-reproduced"
    run.mirror.remember(name, head)
    try:
        with clean_room(run, BROWSER, name, spec.image) as workspace:
            image = workspace.image
            try:
                outcome = browsed.outcome(_in_room(run, workspace, spec, head, browsed, began=began))
            except KilledError as error:
                outcome = browsed.outcome(str(error), killed=True)
            kept = keep_files(run, workspace, phase)
    except RunnerError as error:
        if outcome is None or outcome.outcome != reproduction.KILLED:  # a killed program may leave no files
            how = reproduction.KILLED if isinstance(error, KilledError) else reproduction.UNPLAYABLE
            outcome = ReplayResult(how, 0, one_line(redact(str(error)), 800))
    run.log.append(
        reproduction.ReproductionPlayed(
            run_id=run.spec.run_id,
            phase=phase,
            head=head,
            image=image,
            outcome=outcome.outcome,
            steps=list_texts([step.text for step in spec.steps]),
            step=outcome.step,
            said=outcome.said,
            errors=browsed.errors,
            error_count=browsed.error_count,
            kept=kept,
            duration_s=round(time.monotonic() - began, 3),
        )
    )


def _in_room(
    run: RunContext,
    workspace: Workspace,
    spec: ReproductionSpec,
    head: str,
    browsed: Browsed,
    *,
    began: float,
) -> str:
    """Set up, then browse; return why the program ended early, or nothing. Raises KilledError."""
    weighed = replace(run, workspace=workspace, scales=Scales())

    def beat() -> None:
        run.log.beat_or_stop()
        over_disk_limit = weighed.over_disk_limit()
        if over_disk_limit:
            raise WorkspaceError("the reproduction", over_disk_limit)

    def remaining_s() -> float:
        return max(0.0, spec.limit_s - (time.monotonic() - began))

    for command in set_up_of(run.mirror, run.spec.validation, head):
        child = start_command(run, workspace, command, cap_bytes=_OUTPUT_BYTES, of_column=True)
        ran = finish(child, what=f"set-up ({command})", timeout_s=remaining_s(), beat=beat)
        note_hosts(run)
        _mind_kill(child, ran.exit_code, f"the set-up ({command})")
        if ran.exit_code != 0:
            return f"the set-up failed: $ {command}: {tail(ran.tail, 300)}"
    child = workspace.start(
        (_PYTHON, "-I", "-B", f"{workspace.layout.player}/browse.py", workspace.layout.out),
        env={"CI": "1"},
        writable=True,
        cap_bytes=_OUTPUT_BYTES,
        export=True,
        services=True,
    )
    child.write(_plan(spec, browsed.key, max(_MIN_S, remaining_s() - _SAVING_S)))
    try:
        ran = finish(
            child, what="the reproduction", timeout_s=remaining_s(), beat=beat, stdout_line=browsed.take
        )
    except CommandTimeoutError as error:
        return str(error)
    if browsed.done:
        return ""
    if ran.flooded:
        return "the browser's place wrote more than it may"
    _mind_kill(child, ran.exit_code, "the browser's program")
    return f"the browser's program ended with exit code {ran.exit_code}: {tail(ran.tail, 300)}"


def _mind_kill(child: Child, exit_code: int, what: str) -> None:
    """Raise KilledError when the kernel or somebody outside killed the program or its container."""
    if child.fate or exit_code in SIGKILLED:
        raise KilledError(what, child.fate)


def _plan(spec: ReproductionSpec, key: str, limit_s: float) -> bytes:
    steps = [(step.verb, step.first, step.second) for step in spec.steps]
    plan = {
        "key": key,
        "start": spec.start,
        "address": spec.address,
        "ready_s": spec.ready_s,
        "limit_s": limit_s,
        "steps": steps,
    }
    return json.dumps(plan).encode()
