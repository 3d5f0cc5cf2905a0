"""A server with as much of OpenCode's interface as the bridge uses; what it does stands in a script.

The script: `broken` (it ends at its start: `by its database`, or `anyway`), `sessions` that are known, and
for each prompt a list of steps: {"event": kind, …properties}, {"say": text}, {"missed": text}, {"ask": id,
"untold": bool}, {"until": what, "times": n}, {"idle": true}, {"cut": true} and {"die": true}. Every request
is written to the record, one JSON line each.
"""

import contextlib
import json
import os
import signal
import sys
import threading
import time
from base64 import b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SCRIPT: dict[str, Any] = json.loads(Path(os.environ["FAKE_SCRIPT"]).read_text())
RECORD = Path(os.environ["FAKE_RECORD"])
MAIN = "ses_main"
LIMIT_S = 60.0


class World:
    """What the server knows, under one lock."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.seen = {"prompt": 0, "reply": 0, "abort": 0, "listener": 0}
        self.turn = threading.Lock()
        self.played, self.busy = 0, False
        self.events: list[bytes] = []
        self.cuts: list[int] = []  # after which event each listener lost the stream
        self.messages: list[dict[str, Any]] = []
        self.permissions: list[dict[str, Any]] = []

    def happened(self, what: str) -> None:
        with self.changed:
            self.seen[what] += 1
            self.changed.notify_all()

    def wait(self, what: str, times: int) -> None:
        with self.changed:
            self.changed.wait_for(lambda: self.seen[what] >= times, LIMIT_S)

    def tell(self, kind: str, **about: object) -> None:
        event = {"id": "evt", "type": kind, "properties": about}
        with self.changed:
            self.events.append(b"data: " + json.dumps(event).encode() + b"\n\n")
            self.changed.notify_all()

    def event(self, number: int) -> list[bytes]:
        """Return that event, waiting a little for it."""
        with self.changed:
            self.changed.wait_for(lambda: len(self.events) > number, 0.2)
            return self.events[number : number + 1]

    def cut(self) -> None:
        """Break the stream after what was told so far."""
        with self.changed:
            self.cuts.append(len(self.events))
            self.changed.notify_all()

    def add(self, role: str, parts: list[dict[str, Any]]) -> None:
        created = int(time.time() * 1000)
        identity = f"msg_{len(self.messages)}"
        info = {"id": identity, "role": role, "time": {"created": created}, "sessionID": MAIN}
        for part in parts:
            part.setdefault("messageID", identity)
        self.messages.append({"info": info, "parts": parts})

    def play(self, steps: list[dict[str, Any]]) -> None:
        """Play one prompt; another waits for its end, as in OpenCode's own loop."""
        with self.turn:
            self.busy = True
            self.tell("session.status", sessionID=MAIN, status={"type": "busy"})
            for step in steps:
                self.step(dict(step))
            self.played += 1

    def step(self, step: dict[str, Any]) -> None:
        if "event" in step:
            self.tell(step.pop("event"), **{"sessionID": MAIN, **step})
        if "say" in step or "missed" in step:
            text = str(step.get("say", step.get("missed")))
            part = {"id": f"prt_{text}", "type": "text", "text": text, "time": {"start": 1, "end": 2}}
            self.add("assistant", [part])
            if "say" in step:
                self.tell("message.part.updated", sessionID=MAIN, part=part)
        if "ask" in step:
            asked = {"id": step["ask"], "sessionID": MAIN, "permission": "bash", "patterns": ["x"]}
            asked["metadata"] = {"command": step["ask"]}
            self.permissions.append(asked)
            if not step.get("untold"):
                self.tell("permission.asked", **asked)
        if "until" in step:
            self.wait(step["until"], step.get("times", 1))
        if "idle" in step and self.seen["prompt"] == self.played + 1:
            self.busy = False
            self.tell("session.status", sessionID=MAIN, status={"type": "idle"})
            self.tell("session.idle", sessionID=MAIN)
        if "cut" in step:
            self.cut()
        if "die" in step:
            os._exit(3)


WORLD = World()


class Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Nothing: the record has it."""

    def do_GET(self) -> None:
        if self.recorded() is None:
            return
        match self.path.split("?")[0].split("/")[1:]:
            case ["event"]:
                self.stream()
            case ["global", "health"]:
                self.answer({"healthy": True, "version": "1.18.33"})
            case ["session", "status"]:
                self.answer({MAIN: {"type": "busy"}} if WORLD.busy else {})
            case ["session", _, "message"]:
                limit = 1 if "limit=1" in self.path else len(WORLD.messages)
                self.answer(WORLD.messages[-limit:] if limit else [])
            case ["session", identity]:
                self.answer({"id": identity}, 200 if identity in SCRIPT["sessions"] else 404)
            case ["permission"]:
                self.answer(WORLD.permissions)
            case _:
                self.answer({"error": "no such thing"}, 404)

    def do_POST(self) -> None:
        body = self.recorded()
        if body is None:
            return
        match self.path.split("/")[1:]:
            case ["session"]:
                self.answer({"id": MAIN})
            case ["session", _, "prompt_async"]:
                WORLD.add("user", [{"id": "prt_u", "type": "text", "text": body["parts"][0]["text"]}])
                plays = SCRIPT["prompts"][WORLD.seen["prompt"]]
                WORLD.happened("prompt")
                threading.Thread(target=WORLD.play, args=(plays,), daemon=True).start()
                self.answer(None, 204)
            case ["session", _, "abort"]:
                self.answer(True)
                WORLD.happened("abort")
            case ["permission", identity, "reply"]:
                WORLD.permissions = [one for one in WORLD.permissions if one["id"] != identity]
                self.answer(True)
                WORLD.happened("reply")
            case _:
                self.answer({"error": "no such thing"}, 404)

    def recorded(self) -> Any:
        """Write the request down and return its body; None when it was refused."""
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        with WORLD.changed, RECORD.open("a") as record:
            record.write(json.dumps([self.command, self.path, body]) + "\n")
        word = b64encode(f"opencode:{os.environ['OPENCODE_SERVER_PASSWORD']}".encode()).decode()
        if self.headers.get("Authorization") == f"Basic {word}":
            return body
        self.answer({"error": "who are you?"}, 401)
        return None

    def answer(self, said: object, status: int = 200) -> None:
        raw = b"" if status == 204 else json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def stream(self) -> None:
        """Send what is told from now on, until a cut; the next listener hears what comes after it."""
        WORLD.happened("listener")
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        listener = WORLD.seen["listener"] - 1
        at = WORLD.cuts[listener - 1] if listener else 0
        with contextlib.suppress(OSError):
            while WORLD.cuts[listener : listener + 1] != [at]:
                for event in WORLD.event(at):
                    self.wfile.write(event)
                    self.wfile.flush()
                    at += 1


def main() -> None:
    if SCRIPT.get("refuses"):
        sys.exit(f"cannot start: {SCRIPT['refuses']}")
    if SCRIPT.get("stubborn"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.daemon_threads = True
    print("a first line of no meaning", flush=True)
    print(f"opencode server listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()


def is_broken() -> bool:
    store = Path.home() / ".local/share/opencode/opencode.db"
    return SCRIPT.get("broken") == "anyway" or ("broken" in SCRIPT and store.exists())


if __name__ == "__main__" and not is_broken():
    main()
