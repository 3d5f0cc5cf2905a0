"""OpenCode's server as a child: lifetime, REST calls, event stream. Standard library only."""

import base64
import contextlib
import http.client
import json
import os
import re
import secrets
import select
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

START_S = 180.0  # until it listens: 2 s on an idle machine, a minute on one with twelve at once
CALL_S = 30.0
TERM_S = 3.0
_STORE = ".local/share/opencode"  # in the home: the databases of sessions
_PLACE = ".opencode-"  # in the home, for the time of one turn
_EVENT_BYTES = 64 << 20
_LISTENS = re.compile(rb"listening on http://127\.0\.0\.1:(\d+)")


class BridgeError(Exception):
    """The turn cannot go on; the message is for people."""


class MissingError(BridgeError):
    """The server does not know the thing asked for."""


class Api:
    """Calls of the server's REST interface, each with a limit."""

    def __init__(self, port: int, password: str) -> None:
        self.port = port
        token = base64.b64encode(f"opencode:{password}".encode()).decode()
        self.headers = {"Authorization": f"Basic {token}", "Content-Type": "application/json"}

    def call(self, method: str, path: str, body: object = None, *, limit_s: float = CALL_S) -> Any:
        """Return the answer. Raises BridgeError when the server refuses, OSError when it is away."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=limit_s)
        try:
            link.request(method, path, None if body is None else json.dumps(body), self.headers)
            answer = link.getresponse()
            raw = answer.read()
        except http.client.HTTPException as error:
            raise ConnectionError(f"no answer to {method} {path}: {error}") from error
        finally:
            link.close()
        if answer.status >= 400:
            refusal = MissingError if answer.status == HTTPStatus.NOT_FOUND else BridgeError
            raise refusal(f"opencode refused {method} {path}: {answer.status} {raw[:300]!r}")
        try:
            return json.loads(raw) if raw.strip() else None
        except ValueError as error:
            raise ConnectionError(f"no JSON for {method} {path}") from error


class EventStream:
    """The server's event stream; `read` never blocks once the socket is readable."""

    def __init__(self, api: Api) -> None:
        self._socket = socket.create_connection(("127.0.0.1", api.port), CALL_S)
        # HTTP/1.0: the body is not cut into chunks, and ends with the connection.
        head = f"GET /event HTTP/1.0\r\nHost: 127.0.0.1\r\nAuthorization: {api.headers['Authorization']}"
        self._socket.sendall(f"{head}\r\nAccept: text/event-stream\r\n\r\n".encode())
        self._rest = bytearray()
        while b"\r\n\r\n" not in self._rest:
            self._fill()
        head_bytes, _, rest = bytes(self._rest).partition(b"\r\n\r\n")
        if b" 200 " not in head_bytes.split(b"\r\n")[0] or b"chunked" in head_bytes.lower():
            raise ConnectionError(f"no stream of events: {head_bytes[:200]!r}")
        self._rest = bytearray(rest)

    def fileno(self) -> int:
        return self._socket.fileno()

    def read(self) -> Iterator[dict[str, Any]]:
        """Yield the events that have arrived. Raises OSError when the stream ended."""
        self._fill()
        *blocks, rest = self._rest.split(b"\n\n")
        self._rest = bytearray(rest)
        for block in blocks:
            lines = [line[5:] for line in block.splitlines() if line.startswith(b"data:")]
            with contextlib.suppress(ValueError):
                event = json.loads(b"\n".join(lines))
                if isinstance(event, dict) and isinstance(event.get("properties"), dict):
                    yield event

    def close(self) -> None:
        self._socket.close()

    def _fill(self) -> None:
        chunk = self._socket.recv(1 << 18)
        if not chunk or len(self._rest) > _EVENT_BYTES:
            raise ConnectionError("the stream of events ended")
        self._rest += chunk


class OpencodeServer:
    """The server as a child."""

    def __init__(self, opening: dict[str, Any]) -> None:
        for stale in Path(opening["home"]).glob(f"{_PLACE}*"):  # of one that was killed
            shutil.rmtree(stale, ignore_errors=True)
        self.place = Path(tempfile.mkdtemp(prefix=_PLACE, dir=opening["home"]))
        self._password = secrets.token_urlsafe(24)
        self._child = subprocess.Popen(
            [*opening["program"], "serve", "--hostname", "127.0.0.1", "--port", "0"],
            env=self._environment(opening),
            cwd=opening["repo"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )

    def listen(self) -> Api:
        """Return the API once the server listens. Raises BridgeError when it does not."""
        said, until = b"", time.monotonic() + START_S
        while not (match := _LISTENS.search(said)):
            left = until - time.monotonic()
            chunk = self._output(left) if left > 0 else b""
            if not chunk:
                raise BridgeError(f"opencode's server did not start: {said[-600:].decode(errors='replace')}")
            said = (said + chunk)[-10_000:]
        return Api(int(match[1]), self._password)

    def drain(self) -> bool:
        """Discard its output; False once that is closed."""
        return bool(self._output(0))

    def ended(self, wait_s: float = 0.0) -> bool:
        """Whether it is gone, or goes within `wait_s`."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(wait_s)
        return self._child.returncode is not None

    def fileno(self) -> int:
        assert self._child.stdout is not None
        return self._child.stdout.fileno()

    @property
    def killed(self) -> bool:
        return (self._child.returncode or 0) < 0

    def stop(self) -> None:
        """Stop it, with a kill after a while, and remove its files of this turn."""
        self._child.terminate()
        try:
            self._child.wait(TERM_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait(TERM_S)
        shutil.rmtree(self.place, ignore_errors=True)

    def _output(self, wait_s: float) -> bytes:
        ready = select.select([self], [], [], wait_s)[0]
        return os.read(self.fileno(), 1 << 16) if ready else b""

    def _environment(self, opening: dict[str, Any]) -> dict[str, str]:
        # Sessions outlive the turn. Settings, plugins and tools do not: an agent could leave some there.
        shell = self.place / "bash"
        shell.write_text(
            '#!/bin/sh\nunset OPENCODE_SERVER_PASSWORD OPENCODE_CONFIG_CONTENT\nexec /bin/bash "$@"\n'
        )
        shell.chmod(0o755)
        config = {**opening["config"], "shell": str(shell)}
        kept = Path(opening["home"], ".local/share")
        models = {}
        if not opening["catalogue"]:  # it holds every provider's models, and reading it takes seconds
            empty = self.place / "models.json"
            empty.write_text("{}")
            models = {"OPENCODE_MODELS_PATH": str(empty)}
        return {
            **os.environ,
            **models,
            "OPENCODE_SERVER_PASSWORD": self._password,
            "OPENCODE_CONFIG_CONTENT": json.dumps(config),
            "OPENCODE_TEST_HOME": str(self.place),
            "XDG_DATA_HOME": str(kept),
            **{f"XDG_{kind}_HOME": str(self.place / kind.lower()) for kind in ("CONFIG", "CACHE", "STATE")},
        }


def starts_without_sessions(opening: dict[str, Any]) -> bool:
    """Tell whether the server, which does not start, does so without its databases of sessions.

    Then these are torn, as by a host that died, and stay aside. Else they are put back.
    """
    store = Path(opening["home"], _STORE)
    aside = {
        part: part.replace(part.with_name(f"torn-{part.name}"))
        for part in sorted(store.glob("opencode*.db*"))
    }
    if not aside:
        return False
    server = OpencodeServer(opening)
    try:
        server.listen()
    except BridgeError:
        for part, torn in aside.items():
            torn.replace(part)
        return False
    else:
        return True
    finally:
        server.stop()
