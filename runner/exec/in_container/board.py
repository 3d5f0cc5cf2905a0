"""The board tools for shells: a program inside the workspace that calls one of them and prints the answer.

    python3 /player/board.py --list
    python3 /player/board.py plan '{"summary": "...", "steps": ["..."]}'   (- reads the JSON from stdin)
    python3 /player/board.py --mcp    for a program that reaches an MCP server by its standard input alone

Exit code 0: done; 1: refused, or no board answers; 2: the call itself is wrong. It runs in whatever image the
policy names: it uses nothing but the standard library and imports nothing of Cardinal.
"""

import http.client
import json
import os
import sys
from typing import Any
from urllib.parse import urlsplit

GATEWAY = "http://127.0.0.1:4000"
# An old revision that servers still speak. Source: modelcontextprotocol.io/specification/versioning
REVISION = "2025-06-18"
LIMIT_S = 90.0  # a board call that people need not answer is done in a minute
ANSWER_BYTES = 4_000_000
USAGE = "usage: board.py --list | board.py TOOL JSON | board.py TOOL - | board.py --mcp\n"


class BoardError(Exception):
    """The board did not do it; the text says why, for the agent to read."""


class Board:
    """The MCP server of this run, spoken to by streamable HTTP: one POST per message."""

    def __init__(self, gateway: str) -> None:
        self._host = urlsplit(gateway).netloc
        self._session: dict[str, str] = {}
        self._request_count = 0

    def open(self) -> None:
        """Shake hands. Raises BoardError."""
        who = {"name": "board.py", "version": "1"}
        self.ask("initialize", {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": who})
        self._session["MCP-Protocol-Version"] = REVISION
        self.post({"method": "notifications/initialized"})

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Return the result of one request. Raises BoardError."""
        self._request_count += 1
        text = self.post({"id": self._request_count, "method": method, "params": params})
        for message in messages(text):
            if message.get("id") == self._request_count and isinstance(message.get("result"), dict):
                return dict(message["result"])
            if isinstance(message.get("error"), dict):
                raise BoardError(str(message["error"].get("message", "refused without a reason")))
        raise BoardError("the board's answer has no result: try again, or say it in your final text")

    def post(self, message: dict[str, Any]) -> str:
        """Return the body of the answer to one message. Raises BoardError."""
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        link = http.client.HTTPConnection(self._host, timeout=LIMIT_S)
        try:
            body = json.dumps({"jsonrpc": "2.0"} | message)
            link.request("POST", "/board", body, headers | self._session)
            answer = link.getresponse()
            text = answer.read(ANSWER_BYTES).decode("utf-8", "replace")
        except (OSError, http.client.HTTPException) as error:
            raise BoardError(f"no board answers here ({error}): it is there while a turn runs") from error
        finally:
            link.close()
        if answer.status >= 400 and not messages(text):
            raise BoardError(f"the board answered {answer.status}: {text[:300]}")
        if answer.getheader("Mcp-Session-Id"):
            self._session["Mcp-Session-Id"] = str(answer.getheader("Mcp-Session-Id"))
        return text


def messages(text: str) -> list[dict[str, Any]]:
    """Return the JSON-RPC messages of a body: a JSON document, or events whose `data:` lines hold them."""
    if text.lstrip().startswith("{"):
        documents = [text]
    else:
        events = text.replace("\r\n", "\n").split("\n\n")
        documents = [
            "\n".join(line[5:].removeprefix(" ") for line in event.split("\n") if line.startswith("data:"))
            for event in events
        ]
    parsed = []
    for document in documents:
        try:
            message = json.loads(document)
        except ValueError:
            continue
        if isinstance(message, dict):
            parsed.append(message)
    return parsed


def result_text(result: dict[str, Any]) -> str:
    parts = [part for part in result.get("content") or [] if isinstance(part, dict)]
    return "\n".join(str(part.get("text", "")) for part in parts if part.get("type") == "text")


def listing(result: dict[str, Any]) -> str:
    """Return the tools that are offered now: name, description, input."""
    lines = []
    for tool in result.get("tools", []):
        known = tool.get("inputSchema", {}).get("properties", {})
        about = str(tool.get("description") or "").strip().split("\n")[0]
        lines.append(f"{tool.get('name')}({', '.join(known)}): {about}")
    return "\n".join(lines)


def call(board: Board, tool: str, given: str) -> int:
    """Call one tool and print its answer; 1 when it refuses, 2 when `given` is no JSON object."""
    try:
        arguments = json.loads(given)
    except ValueError as error:
        sys.stderr.write(f"the input is not JSON: {error}\n{USAGE}")
        return 2
    if not isinstance(arguments, dict):
        sys.stderr.write(f'the input is not a JSON object like {{"text": "..."}}\n{USAGE}')
        return 2
    board.open()
    result = board.ask("tools/call", {"name": tool, "arguments": arguments})
    out, code = (sys.stderr, 1) if result.get("isError") else (sys.stdout, 0)
    out.write(result_text(result) + "\n")
    return code


def relay(board: Board) -> None:
    """Pass each MCP message of stdin on to the board, and print its answers, a line each."""
    for line in sys.stdin:
        try:
            message = json.loads(line)
        except ValueError:
            continue
        try:
            answers = messages(board.post(message))
        except BoardError as error:
            problem = {"code": -32603, "message": str(error)}
            answers = [{"jsonrpc": "2.0", "id": message["id"], "error": problem}] if "id" in message else []
        for answer in answers:
            sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def main(words: list[str]) -> int:
    board = Board(os.environ.get("CARDINAL_GATEWAY") or GATEWAY)
    try:
        if words == ["--mcp"]:
            relay(board)
            return 0
        if words == ["--list"]:
            board.open()
            sys.stdout.write(listing(board.ask("tools/list", {})) + "\n")
            return 0
        if len(words) == 2 and not words[0].startswith("-"):
            return call(board, words[0], sys.stdin.read(ANSWER_BYTES) if words[1] == "-" else words[1])
    except BoardError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stderr.write(USAGE)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
