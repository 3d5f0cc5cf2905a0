"""The scripted model: a provider on this machine, with the requests and answers of its lifetime."""

import json
import sys
import threading
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import IO

from forge.model.conversation import Answer, Conversation
from forge.model.playing import Faults, Playing
from forge.model.scenario import load_script
from forge.model.web import KEYS, ModelRequest, Served, WebServer

STOP_S = 10


class ScriptedModel:
    """A provider on 127.0.0.1 that plays `scenario` of a folder; serves from `with` until its end.

    In a `hurry`, it passes over `sleep` steps. With a `key`, requests that were not paid with it get a 401.
    `problems` lists what an agent did not offer. Raises ScriptError when the scenario cannot be played.
    """

    def __init__(
        self,
        folder: Path,
        *,
        scenario: str = "default",
        port: int = 0,
        key: str = "",
        log: Path | None = None,
        hurry: bool = False,
    ) -> None:
        self.requests: list[ModelRequest] = []
        self.served: list[Served] = []
        self.problems: list[str] = []
        self.closing = threading.Event()
        self._key, self._hurry = key, hurry
        self._log: IO[str] | None = log.open("a", encoding="utf-8") if log else None
        self._lock = threading.Lock()
        self._playing = Playing(load_script(folder, scenario), Faults(), self.complain)
        self._server = WebServer(port, self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="scripted-model", daemon=True
        )

    @property
    def url(self) -> str:
        """Return the root of all three APIs, without a trailing slash: `/v1` follows."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def start(self) -> "ScriptedModel":
        """Begin to serve; connections are accepted from now on."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop serving; streams that hang are cut."""
        self.closing.set()
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join(STOP_S)
        self._server.server_close()
        if self._log:
            self._log.close()

    def __enter__(self) -> "ScriptedModel":
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def note(self, request: ModelRequest) -> None:
        """Note a request, in the log without its keys."""
        shown = {name: "(a key)" if name in KEYS else text for name, text in request.headers.items()}
        line = {"method": request.method, "path": request.path, "headers": shown, "body": request.body}
        with self._lock:
            self.requests.append(request)
            if self._log:
                self._log.write(json.dumps(line) + "\n")
                self._log.flush()

    def refuses(self, request: ModelRequest) -> bool:
        """Return whether the request was paid with a wrong key."""
        return bool(self._key) and request.key != self._key

    def answer(self, conversation: Conversation) -> tuple[Answer, Served]:
        """Return the answer, and the record for its usage."""
        answer = self._playing.answer(conversation)
        if self._hurry:
            answer = replace(answer, delay_s=0.0)
        run, turn, step = answer.place
        served = Served(conversation.protocol, conversation.model, run, turn, step)
        with self._lock:
            self.served.append(served)
        return answer, served

    def complain(self, problem: str) -> None:
        """Note a problem of an agent; tests assert that there is none."""
        with self._lock:
            self.problems.append(problem)
        print(f"scripted model: {problem}", file=sys.stderr, flush=True)
