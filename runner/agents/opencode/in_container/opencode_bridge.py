"""Bridge to OpenCode's server: JSON lines here, HTTP there. Standard library only: it runs in the container.

Its stdin: one opening, then {"steer"}, {"permit"} and {"interrupt"}. Its stdout: one line per fact. It ends
with its stdin, and leaves nothing of the server behind.
"""

import contextlib
import json
import os
import select
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runner.agents.opencode.in_container.opencode_facts import Facts, cut, fault
    from runner.agents.opencode.in_container.opencode_server import (
        CALL_S,
        START_S,
        Api,
        BridgeError,
        EventStream,
        MissingError,
        OpencodeServer,
        starts_without_sessions,
    )
    from runner.exec.in_container.shelter import Shelter, ShelterError
else:  # beside this file, wherever it lies
    from opencode_facts import Facts, cut, fault
    from opencode_server import (
        CALL_S,
        START_S,
        Api,
        BridgeError,
        EventStream,
        MissingError,
        OpencodeServer,
        starts_without_sessions,
    )
    from shelter import Shelter, ShelterError

_LAST_CALL_S = 3.0
_UNANSWERED_S = 20.0  # a message that nobody works on for so long is lost
_ABORTED_S = 5.0
_RETRIES = 8  # OpenCode itself never gives up
_EMPTY_STEPS = 2  # a stream that is cut looks like a step of no tokens, and OpenCode repeats it for ever
_RECONNECTS = 5
_LAST_MESSAGES = 10
_CHECK_S = 5.0
_GONE_S = 1.0  # between a server's last words and its end


class Wire:
    """The two pipes to the supervisor."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self.ended = False

    def say(self, kind: str, **said: object) -> None:
        raw = json.dumps({"type": kind, **said}).encode() + b"\n"
        with contextlib.suppress(BrokenPipeError):
            sys.stdout.buffer.write(raw)
            sys.stdout.buffer.flush()

    def hear(self, wait_s: float) -> list[dict[str, Any]]:
        """Return the messages that are there; waits at most `wait_s` for the first byte."""
        if not self.ended and select.select([0], [], [], wait_s)[0]:
            chunk = os.read(0, 1 << 16)
            self.ended = not chunk
            self._rest += chunk
        *lines, rest = self._rest.split(b"\n")
        self._rest = bytearray(rest)
        messages = []
        for line in lines:
            with contextlib.suppress(ValueError):
                message = json.loads(line)
                messages += [message] if isinstance(message, dict) else []
        return messages


class OpencodeTurn:
    """One prompt's work: facts of the server go to the supervisor, its orders to the server."""

    def __init__(self, opening: dict[str, Any], wire: Wire, api: Api) -> None:
        self._wire, self._api, self._opening = wire, api, opening
        self._session = str(opening.get("session") or "")
        self._events: EventStream | None = None
        self._facts = Facts(wire.say)
        self._refused: dict[str, str] = {}
        self._problem, self._stopping, self._lost = "", False, 0
        self._check_at: float | None = None
        self.ended = False

    def begin(self) -> None:
        """Open the session and give it the prompt. Raises BridgeError."""
        version = self._api.call("GET", "/global/health").get("version", "")
        if self._session:
            try:
                self._api.call("GET", f"/session/{self._session}")
            except MissingError:
                self.end(f"opencode no longer knows the session {self._session}", session_gone=True)
                return
        else:
            made = self._api.call("POST", "/session", {"title": self._opening["title"]})
            self._session = str(made["id"])
        self._events = EventStream(self._api)  # before the prompt: nothing of it may be missed
        self._facts.session = self._session
        self._wire.say("session", session=self._session, version=version)
        self._prompt(self._opening["prompt"])

    def sources(self) -> list[EventStream]:
        return [self._events] if self._events and not self.ended else []

    def wait_s(self) -> float:
        """Return in how many seconds `end_if_idle` is due."""
        return _CHECK_S if self._check_at is None else max(0.0, self._check_at - time.monotonic())

    def handle_message(self, message: dict[str, Any]) -> None:
        if "steer" in message and not self.ended:
            self._prompt(str(message["steer"]))
        elif "permit" in message:
            self._answer(str(message["permit"]), message)
        elif message.get("interrupt") and not self.ended:
            self.abort("interrupted")

    def abort(self, problem: str, *, limit_s: float = CALL_S) -> None:
        """Stop the work; its end follows, at once or after a while."""
        self._problem = self._problem or problem
        self._stopping = True
        self._check_at = time.monotonic() + _ABORTED_S
        with contextlib.suppress(OSError, BridgeError):
            self._api.call("POST", f"/session/{self._session}/abort", limit_s=limit_s)

    def read(self) -> None:
        """Take the arrived events; reopen a broken stream."""
        assert self._events is not None
        try:
            for event in self._events.read():
                self._lost = 0
                if not self.ended:
                    self._understand(str(event.get("type")), event["properties"])
        except OSError:
            self._recover()

    def end_if_idle(self) -> None:
        """End the turn when nothing is being worked on any more."""
        if self.ended:
            return
        states = self._api.call("GET", "/session/status")
        busy = states.get(self._session, {}).get("type") in {"busy", "retry"}
        overdue = self._check_at is not None and time.monotonic() >= self._check_at
        self._check_at = None
        if busy and not (self._stopping and overdue):
            return
        last = self._api.call("GET", f"/session/{self._session}/message?limit={_LAST_MESSAGES}")
        unanswered = bool(last) and last[-1]["info"]["role"] == "user"
        if unanswered and not self._problem and not self._stopping:
            if not overdue:
                self._check_at = time.monotonic() + _UNANSWERED_S
                return
            self._problem = "opencode did not take up the prompt"
        self._catch_up(last)  # their events may still be on the way
        self.end()

    def end(self, problem: str = "", *, session_gone: bool = False) -> None:
        """Say that the turn is over, once."""
        if not self.ended:
            self.ended = True
            self._wire.say("end", error=self._problem or problem, session_gone=session_gone)
        if self._events:
            self._events.close()
            self._events = None

    def _answer(self, ask_id: str, message: dict[str, Any]) -> None:
        """Pass an answer on; OpenCode refuses all requests of a session at once, so refusals wait."""
        session = self._facts.asking.get(ask_id)
        if message.get("allowed"):
            self._facts.asking.pop(ask_id, None)
            self._reply(ask_id, {"reply": "once"})
        else:
            # Without a message OpenCode takes a refusal as the end of the turn.
            self._refused[ask_id] = str(message.get("why") or "this is not allowed here")
        rest = [request_id for request_id, where in self._facts.asking.items() if where == session]
        if all(request_id in self._refused for request_id in rest):
            for request_id in rest:
                self._facts.asking.pop(request_id)
                self._reply(request_id, {"reply": "reject", "message": self._refused.pop(request_id)})

    def _reply(self, ask_id: str, answer: dict[str, str]) -> None:
        with contextlib.suppress(BridgeError):  # it was withdrawn meanwhile
            self._api.call("POST", f"/permission/{ask_id}/reply", answer)

    def _prompt(self, text: str) -> None:
        body = {"parts": [{"type": "text", "text": text}], "agent": "build", **self._opening["message"]}
        self._api.call("POST", f"/session/{self._session}/prompt_async", body)
        self._check_at = time.monotonic() + _UNANSWERED_S

    def _recover(self) -> None:
        """Reopen the stream and catch up. Raises BridgeError when it stays broken."""
        assert self._events is not None
        self._events.close()
        self._lost += 1
        if self._lost > _RECONNECTS:
            raise BridgeError("opencode's stream of events broke again and again")
        self._events = EventStream(self._api)
        self._catch_up(self._api.call("GET", f"/session/{self._session}/message"))
        for request in self._api.call("GET", "/permission"):
            self._understand("permission.asked", request)
        self.end_if_idle()

    def _catch_up(self, messages: list[dict[str, Any]]) -> None:
        """Report unreported messages of this turn; older ones belong to earlier turns."""
        for message in messages:
            self._facts.tell("message.updated", message)
            if (message["info"].get("time") or {}).get("created", 0) >= self._opening["began_ms"]:
                for part in message["parts"]:
                    self._understand("message.part.updated", {"part": part})

    def _understand(self, kind: str, about: dict[str, Any]) -> None:
        try:
            self._take(kind, about)
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            sys.stderr.write(f"an event {kind} in no known shape: {error!r}\n")  # others will follow

    def _take(self, kind: str, about: dict[str, Any]) -> None:
        self._facts.tell(kind, about)
        if about.get("sessionID", self._session) == self._session:
            match kind:
                case "session.status":
                    self._status(about["status"])
                case "session.error":
                    self._problem = self._problem or fault(about.get("error") or {})
                    self._check_at = time.monotonic() + _ABORTED_S
                case "session.idle":
                    self.end_if_idle()
        if self._facts.empty_steps >= _EMPTY_STEPS and not self._stopping:
            self.abort(f"the model's answer was cut off {_EMPTY_STEPS} times in a row")

    def _status(self, status: dict[str, Any]) -> None:
        if status["type"] == "busy" and not self._stopping:
            self._check_at = None
        if status["type"] == "retry":
            message = cut(status.get("message", ""))
            self._wire.say("retry", attempt=status["attempt"], message=message)
            if status["attempt"] > _RETRIES:
                self.abort(f"the model's provider failed {_RETRIES + 1} times: {message}")


def attend(turn: OpencodeTurn, wire: Wire, server: OpencodeServer) -> None:
    """Serve both sides until the supervisor closes our stdin."""
    outputs: list[OpencodeServer | EventStream] = [server]
    while not wire.ended:
        sources: list[int | OpencodeServer | EventStream] = [0, *outputs, *turn.sources()]
        ready = select.select(sources, [], [], turn.wait_s())[0]
        if 0 in ready:
            for message in wire.hear(0):
                turn.handle_message(message)
        if server in ready and not server.drain():
            outputs = []
        if server.ended() and not turn.ended:
            raise BridgeError("while it worked")
        if any(source in ready for source in turn.sources()):
            turn.read()
        if turn.wait_s() == 0:
            turn.end_if_idle()


def hear_opening(wire: Wire) -> dict[str, Any] | None:
    """Return the supervisor's first message, or None when there is none."""
    until = time.monotonic() + START_S
    while not wire.ended and time.monotonic() < until:
        for message in wire.hear(1.0):
            return message
    return None


def _explain(error: Exception, server: OpencodeServer | None) -> str:
    if server is not None and server.ended(_GONE_S):
        return f"opencode's server ended by itself ({cut(error, 300)}): see the log, then retry"
    if isinstance(error, BridgeError | ShelterError):
        return str(error)
    if isinstance(error, OSError):
        return f"opencode's server does not answer: {error}"
    return f"opencode said what nobody understands: {error!r}"


def play(opening: dict[str, Any], wire: Wire) -> None:
    """Play the turn to its end, and leave nothing behind."""
    opening["began_ms"] = int(time.time() * 1000)
    shelter = Shelter("opencode", opening["repo"], opening["hides"])
    server: OpencodeServer | None = None
    turn: OpencodeTurn | None = None
    try:
        shelter.raise_up()
        server = OpencodeServer(opening)
        turn = OpencodeTurn(opening, wire, server.listen())
        turn.begin()
        attend(turn, wire, server)
    except (BridgeError, ShelterError, OSError, LookupError, TypeError, AttributeError, ValueError) as error:
        problem = _explain(error, server)
        if turn is None:
            failed = server is not None and server.ended(_GONE_S) and not server.killed
            torn = failed and bool(opening.get("session")) and starts_without_sessions(opening)
            wire.say("end", error=problem, session_gone=torn)
        else:
            turn.end(problem)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if turn is not None and not turn.ended:
            turn.abort("stopped", limit_s=_LAST_CALL_S)
        if server is not None:
            server.stop()
        shelter.take_down()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    wire = Wire()
    opening = hear_opening(wire)
    if opening is not None:
        play(opening, wire)
