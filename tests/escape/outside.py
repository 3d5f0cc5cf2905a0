"""What stands around a container for it to reach: servers, files and a second run of the same machine."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SECRET = "THE-HOSTS-OWN-SECRET"


@dataclass(frozen=True, slots=True)
class Outside:
    """Where the host listens (`ports` by name), what it keeps, and what was asked of it."""

    folder: Path
    ports: dict[str, int]
    abstract: str
    path_socket: str
    asked: list[str]


@contextmanager
def outside(folder: Path) -> Iterator[Outside]:
    """Listen on the loopback, on all addresses, on an abstract and a plain unix socket."""
    asked: list[str] = []
    with ExitStack() as stack:
        private = stack.enter_context(_web("127.0.0.1", asked, ""))
        everywhere = stack.enter_context(_web("0.0.0.0", asked, ""))
        allowed = stack.enter_context(_web("127.0.0.1", asked, f"http://127.0.0.1:{private}/stolen"))
        abstract = f"\0cardinal-escape-{os.getpid()}"
        plain = str(folder / "host.sock")
        for address in (abstract, plain):
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(address)
            listener.listen()
        os.chmod(plain, 0o777)
        (folder / "canary").write_text(SECRET)
        (folder / "canary").chmod(0o666)
        ports = {"loopback": private, "all addresses": everywhere, "allowed": allowed}
        yield Outside(folder, ports, abstract, plain, asked)


@contextmanager
def _web(host: str, asked: list[str], redirect: str) -> Iterator[int]:
    """Serve the secret, or a redirection for paths that begin with `/go`; yield the port."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            if redirect and self.path.startswith("/go"):
                self.send_response(302)
                self.send_header("Location", redirect)
                self.end_headers()
                return
            self.send_response(200)
            self.end_headers()
            self.wfile.write(SECRET.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer((host, 0), Answer)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
