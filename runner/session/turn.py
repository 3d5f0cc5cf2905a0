"""One turn: the agent's program from start to end, watched all the while."""

import signal
from dataclasses import dataclass

from ledger.events.run import Progressed, RunStopAsked
from ledger.events.turn import SteeringHeard, TurnEnded, TurnStarted
from ledger.states import RunState
from runner.agents import contract
from runner.agents.board_tools import offer_tools
from runner.exec.child import BEAT_S, DEFAULT_GRACE, SIGKILLED, Child, StopGrace
from runner.exec.stream import Closed, Flooded, Heard, Line
from runner.gateway.control.claim import drain_usage
from runner.git.checkout import identity
from runner.run.limits import ExceededLimit, RunUsage
from runner.session.context import RunContext
from runner.session.listener import AgentListener
from runner.session.records import Transcript
from runner.session.tool_effects import withheld_tools
from runner.session.tool_servers import begin_servers
from runner.text.plain import one_line, redact, tail
from runner.text.visible import strip_hidden

ASKED_GRACE_S = 1.5  # after a question the agent may end by itself for so long
LEAVE_S = 10.0  # and after its last word its program
_HASTY = StopGrace(ask_s=1.0, close_s=0.5, term_s=0.5)  # who ends the worker waits only so long
_STDERR_BYTES = 2_000
_NO_BOARD = (
    "the agent's program never asked for the board's tools, so it could say nothing of its work. The log"
    " of the run shows what it said instead. Retry, or give the column another agent."
)
_WAITS = "a message is waiting: this agent will read it when it finishes its current answer"
_REST = 10  # so many times as long as a checkpoint took, no other is made


class _TurnOverError(Exception):
    """The turn is at its end, and with it the checkpoint that was being made."""


@dataclass(frozen=True, slots=True)
class TurnResult:
    """Result of a turn. `outcome` as in TurnEnded; `exceeded` and `stop` say why it was stopped.

    `problem` says why it broke; `killed`: from outside, for unknown reasons. `session_gone`: the agent does
    not know its session any more, and began nothing. `cause` is RunEnded's, of a provider. `needs_usd`: the
    dollars that must be left for the call that the budget does not pay.
    """

    outcome: str
    exit_code: int
    took_s: float
    exceeded: ExceededLimit | None
    stop: RunStopAsked | None
    spent: RunUsage
    problem: str
    killed: bool = False
    session_gone: bool = False
    cause: str = ""
    needs_usd: float = 0.0


class Turn:
    """Runs one agent program to its end; `play` is called once."""

    def __init__(
        self,
        run: RunContext,
        task: contract.Task,
        dialogue: contract.Dialogue,
        child: Child,
        transcript: Transcript,
    ) -> None:
        self._run, self._task, self._dialogue = run, task, dialogue
        self._child, self._transcript = child, transcript
        self._listener = AgentListener(run, task, dialogue, child.write)
        self._last_output_at = run.clock.monotonic()
        self._bound_usd = run.allowance.bound_usd
        self._errors = self._overweight = ""
        self._parked_at: float | None = None
        self._ended_at: float | None = None
        self._closed = self._flooded = self._left = False
        self._steered: set[int] = set()
        self._waiting: set[int] = set()  # messages of which people were told that they wait
        self._silent = True  # since the last checkpoint
        run.pace.due_at = run.pace.due_at or self._last_output_at + run.spec.limits.checkpoint_s

    def play(self) -> TurnResult:
        """Listen to the agent until it ends, a watchdog fires, or somebody stops it.

        Raises StaleClaimError; the caller closes the child in every case. A SystemExit, by which a worker
        ends, is raised again once the agent is stopped and its events are written.
        """
        try:
            return self._play()
        except SystemExit:
            took_s = self._bring_to_end(None, _HASTY)
            self._drain_usage()
            self._listener.batch.flush(last=True)
            self._run.log.append(self._make_end("stopped", self._child.exit_code(), took_s))
            raise

    def _play(self) -> TurnResult:
        exceeded, stop = None, None
        while not self._closed:
            self._attend(BEAT_S)
            self._keep()
            stop = self._run.history.stop
            exceeded = self._find_exceeded_limit()
            if stop or exceeded or self._over():
                break
        self._left = self._closed
        took_s = self._bring_to_end(exceeded, DEFAULT_GRACE)
        exit_code = self._child.exit_code()
        self._drain_usage()
        exceeded = exceeded or self._listener.exceeded
        self._listener.batch.flush(last=True)
        outcome, problem = self._outcome(exit_code, stopped=bool(stop or exceeded))
        self._run.log.append(self._make_end(outcome, exit_code, took_s))
        killed = outcome == "broken" and exit_code in SIGKILLED and not self._child.fate
        gone = outcome == "broken" and self._listener.end is not None and self._listener.end.session_gone
        usage, agent_listener = self._usage_now(), self._listener
        of_turn = (outcome, exit_code, took_s, exceeded, stop, usage, problem, killed, gone)
        return TurnResult(*of_turn, agent_listener.cause, agent_listener.needs_usd)

    def _attend(self, wait_s: float) -> None:
        for piece in self._child.hear(wait_s):
            self._take(piece)
        self._run.log.beat()
        self._top_up()
        self._steer()
        self._listener.batch.flush()

    def _keep(self) -> None:
        """Make a checkpoint when it is due and the agent did anything; the dialogue goes on meanwhile."""
        began = self._run.clock.monotonic()
        if self._silent or self._closed or began < self._run.pace.due_at:
            return
        self._silent = True  # before: what it does from here on may not be kept
        try:
            self._run.keep(self._run, self._meanwhile)
        except _TurnOverError:
            return  # the checkpoint of its end keeps it
        now = self._run.clock.monotonic()
        self._run.pace.due_at = now + max(self._run.spec.limits.checkpoint_s, _REST * (now - began))

    def _meanwhile(self) -> None:
        self._attend(0.0)
        if (
            self._closed
            or self._flooded
            or self._run.history.stop
            or self._find_exceeded_limit()
            or self._over()
        ):
            raise _TurnOverError

    def _make_end(self, outcome: str, exit_code: int, took_s: float) -> TurnEnded:
        return TurnEnded(self._run.spec.run_id, self._task.turn, outcome, exit_code, round(took_s, 3))

    def _bring_to_end(self, exceeded: ExceededLimit | None, grace: StopGrace) -> float:
        if self._closed:
            return 0.0
        interrupt = None if self._listener.end is not None else self._dialogue.interrupt()
        stopped = self._child.stop(interrupt, hurry=exceeded is ExceededLimit.FLOOD, grace=grace)
        while not self._closed and not self._flooded:
            rest = self._child.hear(BEAT_S)
            for piece in rest:
                self._take(piece)
            if not rest:
                break
        return stopped.took_s

    def _drain_usage(self) -> None:
        """Shut the gateway and take the usage of the last calls; nothing else reads its messages now."""
        gateway = self._run.gateway
        if gateway is None:
            return
        self._child.close()
        for message in drain_usage(gateway):
            self._listener.message(message)

    def _take(self, piece: Heard) -> None:
        self._silent = self._silent and not isinstance(piece, Line)
        match piece:
            case Closed():
                self._closed = True
            case Flooded():
                self._flooded = True
            case Line(text=said_text, is_message=True):
                self._last_output_at = self._run.clock.monotonic()
                self._listener.message(said_text)
            case Line(text=said_text, error=error):
                self._last_output_at = self._run.clock.monotonic()
                text = self._run.secrecy.redact_private_skills(said_text)
                self._transcript.write("!" if error else ">", text)
                if error:
                    self._errors = tail(self._errors + text + "\n", _STDERR_BYTES)
                elif not piece.cut:  # half a message means nothing
                    self._listener.line(said_text)  # judged and granted as it is; events are redacted later
        self._mark()

    def _mark(self) -> None:
        """Note when the agent asked or ended; after its end it gets no more input."""
        now = self._run.clock.monotonic()
        if self._listener.parks and self._parked_at is None:
            self._parked_at = now
        if self._listener.end is not None and self._ended_at is None:
            self._ended_at = now
            self._child.end_input()

    def _steer(self) -> None:
        delivered = []
        for comment_id, text in self._run.history.steering.items():
            message = None if comment_id in self._steered else self._dialogue.steer(strip_hidden(text))
            if message is not None and self._child.write(message):
                delivered.append(comment_id)
            elif not self._dialogue.command.steers and comment_id not in self._waiting:
                self._waiting.add(comment_id)
                self._listener.batch.add(Progressed(self._run.spec.run_id, _WAITS))
        if delivered:
            self._steered.update(delivered)
            self._listener.batch.add(SteeringHeard(self._run.spec.run_id, tuple(delivered)))

    def _usage_now(self) -> RunUsage:
        batch = self._listener.batch
        return RunUsage(
            active_s=batch.active_s,
            silent_s=self._run.clock.monotonic() - self._last_output_at,
            usd=batch.usd,
            turns=batch.turns,
            tokens=batch.tokens,
            output_bytes=self._child.output_bytes,
            is_reported=self._run.agent.metering is contract.Metering.AGENT,
        )

    def _top_up(self) -> None:
        """Update the gateway's budget when people changed the run's."""
        allowance = self._run.allowance
        if self._run.gateway is not None and allowance.bound_usd != self._bound_usd:
            self._bound_usd = allowance.bound_usd
            self._run.gateway.top_up(allowance.remaining_usd(self._listener.batch.usd))

    def _find_exceeded_limit(self) -> ExceededLimit | None:
        if self._closed or self._parked_at is not None:
            return None
        self._overweight = self._run.over_disk_limit()
        if self._overweight:
            return ExceededLimit.DISK
        return self._listener.exceeded or self._run.allowance.find_exceeded(self._usage_now())

    def _over(self) -> bool:
        now = self._run.clock.monotonic()
        parked = self._parked_at is not None and now - self._parked_at > ASKED_GRACE_S
        return parked or (self._ended_at is not None and now - self._ended_at > LEAVE_S)

    def _outcome(self, exit_code: int, *, stopped: bool) -> tuple[str, str]:
        end = self._listener.end
        if self._parked_at is not None:
            return "asked", ""
        if stopped:
            return "stopped", self._overweight or self._listener.problem
        is_done = end is not None and not end.error
        if is_done and self._dialogue.command.needs_board and not self._listener.board_listed:
            return "broken", _NO_BOARD
        if is_done and self._ended_at is not None and not self._left:
            return "done", ""  # by its own word; only its program did not exit
        if end is None or end.error or exit_code != 0:
            return "broken", self._problem(exit_code)
        return "done", ""

    def _problem(self, exit_code: int) -> str:
        end = self._listener.end
        if exit_code < 0:
            how = f"was killed by {signal.Signals(-exit_code).name}"
        elif exit_code > 128 and exit_code - 128 in signal.valid_signals():
            how = f"was killed by {signal.Signals(exit_code - 128).name}"
        else:
            how = f"ended with code {exit_code}"
        if self._child.fate:
            return f"the agent's program {how}: {self._child.fate}"
        said_itself = end.error if end else ("" if exit_code else "without saying that it is done")
        last = one_line(redact(" ".join((said_itself, self._errors[-600:]))))
        return f"the agent's program {how}" + (f": {last}" if last else "")


def play_turn(run: RunContext, task: contract.Task, state: RunState) -> TurnResult:
    """Play `task` with the agent, the run being in that state, and leave nothing of it running.

    Raises SpawnError, ScenarioError or another RunnerError when it cannot start, StaleClaimError when the
    claim was taken over meanwhile; the agent is dead then too.
    """
    run.workspace.begin_services(run.spec.services, run.log.beat_or_stop)
    dialogue = run.agent.begin(task, run.workspace.layout)
    command = dialogue.command
    payer = run.payer(task.model)
    begun = TurnStarted(run.spec.run_id, task.phase, task.turn, task.session_id, payer)
    run.log.append(*run.steps_to(state), begun)
    in_prompt = tuple(run.history.steering)
    gateway = run.gateway
    if gateway is not None:
        withheld = withheld_tools(run.spec)
        tools = offer_tools(
            read_only=task.read_only,
            threads=bool(task.threads),
            investigates=task.investigates,
            withheld=withheld,
        )
        gateway.open(
            turn=task.turn,
            usd_left=task.budget_usd,
            tools=(*tools, *begin_servers(run)),
            withheld=withheld,
            tokens_left=run.allowance.remaining_tokens(run.history.tokens_used),
        )
    child = run.workspace.start(
        command.argv,
        env=identity(run.spec.authorship.author) | run.network() | run.spec.facts | dict(command.env),
        writable=not task.read_only and task.tools.edit != "deny",
        commits=task.tools.commit != "deny",
        cap_bytes=run.spec.limits.output_bytes,
        gateway=gateway.folder if gateway is not None else None,
        side_channel=gateway.fileno() if gateway is not None else None,
        hides=command.hides,
        services=True,
    )
    transcript = Transcript(run.spec.paths.logs, run.spec.run_id)
    try:
        transcript.write("#", f"turn={task.turn} phase={task.phase}")
        child.write(command.opening)
        if in_prompt:
            run.log.append(SteeringHeard(run.spec.run_id, in_prompt))
        if not command.listens:
            child.end_input()
        return Turn(run, task, dialogue, child, transcript).play()
    finally:
        child.close()
        transcript.close()
        if gateway is not None:
            gateway.shut()
