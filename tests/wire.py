"""A TCP way to a server on a unix socket that can fall silent, as a network does."""

import contextlib
import ctypes
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import make_url

ATTACH_FILTER, DETACH_FILTER = 26, 27  # source: asm-generic/socket.h
CHUNK_BYTES = 1 << 16
POLL_S = 0.02


class Wire:
    """Listens on `port` of 127.0.0.1. `cut`: packets are dropped before the kernel sees them: not even
    an acknowledgement comes; `stall`: they are acknowledged, and nobody reads them. `mend` ends both.
    """

    def __init__(self, target: str) -> None:
        self._target = target
        self._flows = threading.Event()
        self._flows.set()
        self._closed = False
        self._ends: list[socket.socket] = []
        self._drop = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))  # BPF: return 0 bytes
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        self._flows.clear()
        program = struct.pack("HP", 1, ctypes.addressof(self._drop))
        for end in (self._listener, *self._ends):
            with contextlib.suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, ATTACH_FILTER, program)

    def stall(self) -> None:
        self._flows.clear()

    def mend(self) -> None:
        for end in (self._listener, *self._ends):
            with contextlib.suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, DETACH_FILTER, 0)
        self._flows.set()

    def close(self) -> None:
        self._closed = True
        self._flows.set()
        for end in (self._listener, *self._ends):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self._flows.wait()
                far = socket.socket(socket.AF_UNIX)
                far.connect(self._target)
                self._ends += (near, far)
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while not self._closed and (chunk := source.recv(CHUNK_BYTES)):
                while not self._flows.is_set():
                    time.sleep(POLL_S)
                sink.sendall(chunk)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@contextmanager
def wire_to(target: str) -> Iterator[Wire]:
    """Give a wire to the server on that unix socket."""
    wire = Wire(target)
    try:
        yield wire
    finally:
        wire.close()


@contextmanager
def wired(server: str) -> Iterator[tuple[str, Wire]]:
    """Give the address of the PostgreSQL at `server`, a unix socket, by way of a wire."""
    url = make_url(server)
    with wire_to(f"{url.query['host']}/.s.PGSQL.5432") as wire:
        far = url.difference_update_query(["host"]).set(host="127.0.0.1", port=wire.port)
        yield far.render_as_string(False), wire
