"""The gateway's end of the line to its supervisor: messages, board calls, orders."""

import asyncio
import json
import socket
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from runner.gateway.control.messages import MESSAGE_BYTES, GatewayMessage, encode_event

_WAITING_MESSAGES = 2000
_DESCRIPTORS = 2  # with one order: a tool server's wire and standard error
_MUST_ARRIVE = frozenset({"usage", "failed", "call", "drained", "secret_use"})

Order = Mapping[str, Any]


class Uplink:
    """One datagram socket to the supervisor. `handle_order` gets orders, `gone` is called when it dies.

    `is_open`, `turn`, `tools` and their fields that are `withheld` describe the current turn; without one
    `tools` is empty.
    """

    def __init__(
        self,
        line: socket.socket,
        *,
        handle_order: Callable[[Order], None] = lambda _: None,
        gone: Callable[[], None] = lambda: None,
    ) -> None:
        self._line, self._handle_order, self._gone = line, handle_order, gone
        self._loop = asyncio.get_running_loop()
        self._unsent: deque[bytes] = deque()
        self._pending: dict[str, asyncio.Future[Mapping[str, object]]] = {}
        self.is_open = False
        self.turn = ""
        self.tools: tuple[str, ...] = ()
        self.withheld: tuple[str, ...] = ()
        line.setblocking(False)
        self._loop.add_reader(line.fileno(), self._receive)

    def say(self, event: GatewayMessage) -> None:
        self.tell(encode_event(event))

    def tell(self, message: Mapping[str, object]) -> None:
        """Send or queue a message; oversized ones are dropped, and optional ones while too many wait."""
        packed = json.dumps(message, allow_nan=False).encode()
        crowded = len(self._unsent) >= _WAITING_MESSAGES and message.get("type") not in _MUST_ARRIVE
        if crowded or len(packed) > MESSAGE_BYTES:
            return
        self._unsent.append(packed)
        self._send()

    async def ask(self, call_id: str, message: Mapping[str, object], limit_s: float) -> Mapping[str, object]:
        """Send a board call and return the supervisor's answer; `{"error": …}` without one.

        The same id during the wait is the same call: it is sent once, and both get the answer.
        """
        if not self.is_open:
            return {"error": "no turn is open: the board answers only a working agent"}
        if len(json.dumps(message)) > MESSAGE_BYTES:
            return {"error": f"the call is larger than {MESSAGE_BYTES} bytes: say it shorter"}
        waiting = self._pending.get(call_id)
        if waiting is None:
            waiting = self._pending[call_id] = self._loop.create_future()
            waiting.add_done_callback(lambda _: self._pending.pop(call_id, None))
            self.tell(message)
        try:
            return await asyncio.wait_for(asyncio.shield(waiting), limit_s)
        except TimeoutError:
            return {"error": f"the board did not answer within {limit_s:.0f} s: try again"}

    def close(self) -> None:
        """Remove the descriptor from the loop; nothing more is read."""
        self._loop.remove_reader(self._line.fileno())
        self._loop.remove_writer(self._line.fileno())

    def _receive(self) -> None:
        try:
            packed, descriptors, _, _ = socket.recv_fds(self._line, 1 << 17, _DESCRIPTORS)
        except BlockingIOError:
            return
        except OSError:
            packed, descriptors = b"", []
        if not packed:
            self.close()
            self._gone()
            return
        order = json.loads(packed)
        match order["type"]:
            case "reply":
                waiting = self._pending.get(order["id"])
                if waiting is not None and not waiting.done():
                    waiting.set_result(order["result"])
                return
            case "open":
                self.is_open, self.turn, self.tools = True, order["turn"], tuple(order["tools"])
                self.withheld = tuple(order["withheld"])
            case "shut":
                self.is_open, self.turn, self.tools = False, "", ()
                for waiting in tuple(self._pending.values()):
                    if not waiting.done():
                        waiting.set_result({"error": "the turn is over"})
        self._handle_order({**order, "descriptors": tuple(descriptors)})

    def _send(self) -> None:
        while self._unsent:
            try:
                self._line.send(self._unsent[0])
            except BlockingIOError:
                self._loop.add_writer(self._line.fileno(), self._send)
                return
            except OSError:  # the supervisor is gone; the next read notices
                self._unsent.clear()
                break
            self._unsent.popleft()
        self._loop.remove_writer(self._line.fileno())
