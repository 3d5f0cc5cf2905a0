"""Interprets an agent's output and its gateway's messages: events, replies, and how the turn ends."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from ledger.events import agent as seen
from ledger.events.artifact import ArtifactDropped
from ledger.events.run import Progressed, RunEvent, SessionStarted, ToolUsed
from ledger.model.strict_json import StrictJsonError, parse_json
from ledger.rows import limit_answers
from ledger.rows.limit_answers import Subject
from runner.agents import contract
from runner.agents.board_tools import BadCall, BoardCall, call_id_of, check_call, offer_tools
from runner.gateway.control import messages
from runner.gateway.control.claim import MAX_HOSTS, host_reached, secret_sent
from runner.run.limits import ExceededLimit
from runner.session import permission
from runner.session.context import RunContext
from runner.session.keep import keep, kind_of_file
from runner.session.records import Batch
from runner.session.tool_effects import Effect, effect_of, withheld_tools
from runner.session.tool_servers import record_server_message
from runner.text.plain import one_line, redact

_TEXT_BYTES = 400_000
_BLOCK_BYTES = 40_000
_BLOCKS = 20
_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)")


@dataclass(frozen=True, slots=True)
class TextCall:
    """One block. `problem` is for the agent; empty without one."""

    tool: str
    input: Any
    problem: str = ""


def calls_in(text: str) -> tuple[TextCall, ...]:
    """Return the calls in the blocks of `text`, in order; never raises.

    A block inside another one, in a quote, or without an end is plain text.
    """
    blocks = _blocks(text[:_TEXT_BYTES])
    return tuple(_read(block) for block, _ in zip(blocks, range(_BLOCKS), strict=False))


def _blocks(text: str) -> Iterator[str]:
    fence, ours, lines = "", False, list[str]()
    for line in text.split("\n"):
        match = _FENCE.fullmatch(line.rstrip("\r"))
        if not fence:
            if match:
                fence, ours, lines = match["fence"], match["info"].strip() == "board", []
        elif match and match["fence"].startswith(fence) and not match["info"].strip():
            if ours:
                yield "\n".join(lines)
            fence = ""
        elif ours:
            lines.append(line)


def _read(block: str) -> TextCall:
    if len(block) > _BLOCK_BYTES:
        return TextCall("", None, f"the block is longer than {_BLOCK_BYTES} characters: say it shorter")
    try:
        said = parse_json(block)
    except StrictJsonError as error:
        return TextCall("", None, f"the block is no JSON: {error.because}")
    tool = said.get("tool") if isinstance(said, dict) else None
    if not isinstance(tool, str) or not tool:
        return TextCall("", None, 'the block must be {"tool": "<name>", "input": {…}}')
    extra = [name[:40] for name in said if name not in ("tool", "input")]
    if extra:
        return TextCall(tool, None, f"besides `tool` and `input` there is {', '.join(extra[:3])}")
    return TextCall(tool, said.get("input", {}))


_TODOS = 40
_REFUSALS = 20
_WORDS = 10  # board calls in one text
Reply = Callable[[str, Mapping[str, object]], None]
Write = Callable[[bytes], object]
Noted = (
    contract.Session
    | contract.Text
    | contract.ToolEnd
    | contract.TodoShown
    | contract.Usage
    | contract.SessionUsage
)


class AgentListener:
    """Takes one turn's output and messages; `parks`, `exceeded` and `end` say how the turn continues."""

    def __init__(
        self, run: RunContext, task: contract.Task, dialogue: contract.Dialogue, write: Write
    ) -> None:
        self._run, self._task, self._dialogue, self._write = run, task, dialogue, write
        self.batch = Batch(run)
        self._session_id = task.session_id
        self._todos: seen.TodoListed | None = None
        self._hosts: set[seen.HostReached] = set()
        self._text_calls: Counter[tuple[str, str]] = Counter()
        self._refusals = 0
        self.end: contract.TurnEnd | None = None
        self.parks = self.board_listed = False
        self.exceeded: ExceededLimit | None = None
        self.problem = self.cause = ""
        self.needs_usd = 0.0

    def line(self, text: str) -> None:
        for event in self._dialogue.decode(text):
            self._react(event)

    def message(self, text: str) -> None:
        gateway = self._run.gateway
        if not text and self.exceeded is None:
            self.exceeded, self.cause = ExceededLimit.PROVIDER, "gateway"
            self.problem = "the run's gateway ended: retry"
        for event in gateway.decode(text) if gateway is not None else ():
            self.board_listed = self.board_listed or isinstance(event, messages.BoardListed)
            self._take_gateway_event(event)

    def _react(self, event: contract.AgentEvent) -> None:
        match event:
            case BoardCall() | BadCall():
                self._handle_call(event, self._reply_by_stdin)
            case contract.PermissionAsked():
                self._permit(event)
            case contract.Send(data=data):
                self._write(data)
            case contract.TurnEnd():
                self.end = self.end or event
            case contract.ToolStart() | contract.Noise():
                pass
            case _:
                self._note(event)

    def _note(self, event: Noted) -> None:
        match event:
            case contract.Session(session_id=session_id, version=version):
                self._open_session(session_id, version)
            case contract.Text(text=text):
                self.batch.say(text)
                self._obey_words(text)
            case contract.ToolEnd(tool=tool, summary=summary, ok=ok):
                self._count_call()
                run_id = self._run.spec.run_id
                self.batch.add(ToolUsed(run_id, tool, one_line(redact(summary)), ok))
            case contract.TodoShown(items=items):
                self._list(items)
            case contract.Usage():
                self.batch.meter(event)
            case contract.SessionUsage():
                self.batch.meter_session(self._session_id, event)
            case _:
                assert_never(event)

    def _take_gateway_event(self, event: messages.GatewayEvent) -> None:
        run_id = self._run.spec.run_id
        match event:
            case BoardCall() | BadCall():
                self._handle_call(event, self._reply_by_gateway)
            case contract.Usage():
                self.batch.meter(event)
            case messages.ProviderFailure():
                self._record_provider_failure(event)
            case messages.CallRefusal():
                self._record_refusal(event)
            case messages.HostRequest():
                self._reach(event)
            case messages.SecretUse():
                self.batch.count(secret_sent(run_id, event))
            case messages.Warned(text=text):
                self.batch.add(Progressed(run_id, one_line(redact(text))))
            case messages.ServerCallMade() | messages.ServerTrouble():
                self.batch.add(record_server_message(self._run, event))
            case messages.Answering() | messages.BoardListed() | messages.Drained():
                pass
            case _:
                assert_never(event)

    def _count_call(self) -> None:
        """Count a tool's use as a turn, where nothing counts the calls of the model that led to it."""
        if self._run.agent.metering is contract.Metering.AGENT:
            self.batch.meter(contract.Usage(0.0, 0, 0))

    def _reach(self, request: messages.HostRequest) -> None:
        reached = host_reached(self._run.spec.run_id, request)
        if len(self._hosts) < MAX_HOSTS and reached not in self._hosts:
            self._hosts.add(reached)
            self.batch.add(reached)

    def _open_session(self, session_id: str, version: str) -> None:
        self._session_id = session_id
        if session_id != self._run.history.session_id:
            name = self._run.agent.name
            self._run.log.append(SessionStarted(self._run.spec.run_id, session_id, name, version))

    def _list(self, items: tuple[tuple[str, bool], ...]) -> None:
        shown = items[:_TODOS]
        texts = tuple(one_line(redact(text)) for text, _ in shown)
        listed = seen.TodoListed(self._run.spec.run_id, texts, tuple(done for _, done in shown))
        if listed != self._todos:
            self._todos = listed
            self.batch.add(listed)

    def _handle_call(self, call: BoardCall | BadCall, reply: Reply) -> None:
        self._count_call()
        if isinstance(call, BadCall):
            reply(call.call_id, {"error": call.problem})
            return
        self.batch.flush(now=True)  # the history must know all that was before
        effect = effect_of(
            call,
            self._run.spec,
            self._run.history,
            planning=self._task.read_only,
            session_id=self._session_id,
        )
        run_events, answer = store_attachment(self._run, effect)
        self._run.log.append(*effect.events, *run_events)
        self.parks = self.parks or effect.parks
        reply(call.call_id, answer)  # after the commit: an agent that dies before repeats the call

    def _obey_words(self, text: str) -> None:
        """Carry out the board calls in the text of an agent without our tools."""
        offer = offer_tools(
            read_only=self._task.read_only,
            threads=bool(self._task.threads),
            investigates=self._task.investigates,
            withheld=withheld_tools(self._run.spec),
        )
        for written in calls_in(text)[:_WORDS]:
            self._text_calls[(written.tool, repr(written.input))] += 1
            count = self._text_calls[(written.tool, repr(written.input))]
            call_id = f"w{call_id_of(self._task.turn, written.tool, written.input, count)}"
            problem = written.problem or (
                "" if written.tool in offer else f"there is no {written.tool!r} now"
            )
            call = BadCall(call_id, written.tool, problem) if problem else None
            self._handle_call(call or check_call(call_id, written.tool, written.input), self._reply_by_words)

    def _reply_by_words(self, _call_id: str, result: Mapping[str, object]) -> None:
        """Reply in words, unless the call simply succeeded."""
        if dict(result) == {"ok": True}:
            return
        message = self._dialogue.steer(f"Board: {json.dumps(dict(result), ensure_ascii=False)}")
        if message is not None:
            self._write(message)

    def _reply_by_stdin(self, call_id: str, result: Mapping[str, object]) -> None:
        message = self._dialogue.reply(call_id, result)
        if message is not None:
            self._write(message)

    def _reply_by_gateway(self, call_id: str, result: Mapping[str, object]) -> None:
        if self._run.gateway is not None:
            self._run.gateway.reply(call_id, result)

    def _permit(self, request: contract.PermissionAsked) -> None:
        """Answer at once where the policy decides, else ask people and park."""
        run_id = self._run.spec.run_id
        command = self._run.secrecy.redact_private_skills(one_line(redact(request.command), 2_000))
        # An answer covers exactly the question, which is identified by its stored text.
        answered = self._task.granted or self._task.refused
        marked = self._mark_command(request, command) if answered else ""  # it is slow to compute
        meant = (request.command or request.tool,)
        judged = permission.judge_request(
            request,
            self._task.tools,
            permission.ToolPermission(meant if marked in self._task.granted else (), self._task.allowed),
            read_only=self._task.read_only,
            refused=meant if marked in self._task.refused else (),
        )
        if judged.decision is permission.PermissionDecision.ASK and not self.parks:
            self.batch.flush(now=True)
            question_id = self._run.history.next_question_id(run_id)
            text = redact(permission.permission_question(request, judged.why))
            self._run.log.append(
                limit_answers.question(run_id, question_id, Subject.TOOL, text, permission.CHOICES),
                seen.PermissionAwaited(
                    run_id,
                    question_id,
                    one_line(request.tool, 100),
                    marked or self._mark_command(request, command),
                ),
            )
            self.parks = True
            return
        if judged.decision is permission.PermissionDecision.DENY and self._refusals < _REFUSALS:
            self._refusals += 1
            self.batch.add(seen.PermissionRefused(run_id, one_line(request.tool, 100), command, judged.why))
        allowed = judged.decision is permission.PermissionDecision.ALLOW
        answer = self._dialogue.permit(request.ask_id, allowed=allowed, why=judged.why)
        if answer is not None:
            self._write(answer)

    def _mark_command(self, request: contract.PermissionAsked, command: str) -> str:
        return command + permission.mark_of_similar(request, command, self._run.spec.card_id)

    def _record_provider_failure(self, failure: messages.ProviderFailure) -> None:
        run_id, detail = self._run.spec.run_id, one_line(redact(failure.detail), 600)
        self.batch.add(
            seen.ProviderFailed(run_id, failure.provider, failure.status, detail, failure.in_a_row)
        )
        if failure.final and self.exceeded is None:
            self.exceeded, self.problem = ExceededLimit.PROVIDER, detail
            self.cause = f"{failure.provider}:{failure.status}"

    def _record_refusal(self, refusal: messages.CallRefusal) -> None:
        kind, detail = refusal.kind, one_line(redact(refusal.detail), 600)
        if self._refusals < _REFUSALS:
            self._refusals += 1
            self.batch.add(seen.CallRefused(self._run.spec.run_id, kind, detail))
        if self.exceeded is None and kind in ("budget", "tokens", "key", "model"):
            of_run = kind in ("budget", "tokens")
            self.exceeded = ExceededLimit(kind) if of_run else ExceededLimit.PROVIDER
            self.problem, self.cause = detail, f"{self._run.spec.agent}:{kind}"
            self.needs_usd = refusal.needs_usd


def store_attachment(run: RunContext, effect: Effect) -> tuple[tuple[RunEvent, ...], Mapping[str, object]]:
    """Store the text of a call, if it has one; return its events and the reply."""
    attach_input = effect.attaches
    if attach_input is None:
        return (), effect.reply
    kind = kind_of_file(attach_input.name)
    events = keep(run, attach_input.name, kind, run.secrecy.redact_private_skills(attach_input.content))
    if any(isinstance(event, ArtifactDropped) for event in events):
        return events, {"ok": False, "error": "it is not kept: this run has left as much as it may"}
    return events, effect.reply
