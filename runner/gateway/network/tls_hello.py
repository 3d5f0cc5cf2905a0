"""The server name in a client's TLS, parsed as strictly as a host.

Source: RFC 8446, 4.1.2 and 5.1; RFC 6066, 3. Pure.
"""

from dataclasses import dataclass, field

from runner.errors import RunnerError
from runner.gateway.network.addresses import BadAuthorityError, host_and_port

HANDSHAKE = 0x16
_TYPES = (0x14, 0x15, HANDSHAKE, 0x17)  # change of cipher, alert, handshake, data
_CLIENT_HELLO = 1
_HEAD_BYTES = 5
_RECORD_BYTES = (1 << 14) + 2048  # of an encrypted one, in TLS 1.2
_SERVER_NAME = 0
_ENCRYPTED_HELLOS = (0xFFCE, *range(0xFE08, 0xFE0E))  # ESNI, and ECH with its drafts
UNRECOGNIZED_NAME = bytes((0x15, 3, 1, 0, 2, 2, 112))  # the alert for it


class BadHelloError(RunnerError):
    """The bytes are no TLS with a plain server name. `name` is the name, if there is one."""

    def __init__(self, problem: str, name: str = "") -> None:
        self.name = name
        super().__init__(f"network: {problem}")


@dataclass(slots=True)
class Hellos:
    """Filters a client's bytes through a tunnel to `host`, record by record.

    Each ClientHello must name that host, whenever it comes: a server may ask for a second one. For an address
    it must name none. After the first one, records are only skipped by their length.
    """

    host: str
    has_name: bool = True
    begun: bool = False
    _rest: bytearray = field(default_factory=bytearray)
    _passing_bytes: int = 0

    def feed(self, chunk: bytes) -> bytes:
        """Return the bytes that may pass by now. Raises BadHelloError."""
        passed = bytearray()
        self._rest += chunk
        while self._rest:
            if self._passing_bytes:
                piece = bytes(self._rest[: self._passing_bytes])
                self._passing_bytes -= len(piece)
            elif len(self._rest) < _HEAD_BYTES:
                _check_head(bytes(self._rest))
                break
            else:
                piece = self._record()
                if not piece:
                    break
            passed += piece
            del self._rest[: len(piece)]
        return bytes(passed)

    def _record(self) -> bytes:
        """Return the next bytes of a record that may pass; nothing while it must be complete first."""
        kind, size = _check_head(bytes(self._rest[:_HEAD_BYTES]))
        if kind != HANDSHAKE:
            if not self.begun:
                raise BadHelloError("a tunnel has to begin with a TLS handshake")
            self._passing_bytes = size
            return bytes(self._rest[:_HEAD_BYTES])
        whole = bytes(self._rest[: _HEAD_BYTES + size])
        if len(whole) < _HEAD_BYTES + size:
            return b""
        self._handshake(whole[_HEAD_BYTES:])
        return whole

    def _handshake(self, message: bytes) -> None:
        # Later ones may be encrypted: by chance, one of 250,000 looks like a ClientHello and is refused.
        looks_like = message[0] == _CLIENT_HELLO and message[1:2] == b"\0" and message[2:3] < b"\x40"
        if self.begun and not looks_like and len(message) >= 4:
            return
        name = server_name(message)
        wanted = self.host if self.has_name else ""
        if name != wanted:
            said = f"asks for {name}" if name else "names no server"
            raise BadHelloError(f"the tunnel is for {self.host}, and its TLS {said}", name)
        self.begun = True


def server_name(message: bytes) -> str:
    """Return the server name of a ClientHello in lower case; empty without one.

    Raises BadHelloError for anything else, also for one split over records or with several names.
    """
    reader = _Reader(message)
    if reader.number(1) != _CLIENT_HELLO or reader.number(3) != len(message) - 4:
        raise BadHelloError("a tunnel has to begin with one ClientHello in one record")
    reader.take(2 + 32)  # version, random
    for width in (1, 2, 1):  # session, ciphers, compressions
        reader.take(reader.number(width))
    extensions = reader.inner(2) if reader.left else _Reader(b"")
    reader.end()
    names: list[str] = []
    while extensions.left:
        kind, value = extensions.number(2), extensions.inner(2)
        if kind in _ENCRYPTED_HELLOS:
            raise BadHelloError("its TLS hides the server's name (ECH): switch that off in the client")
        if kind == _SERVER_NAME:
            names.append(_only_name(value))
    if len(names) > 1:
        raise BadHelloError("its TLS names more than one server")
    return names[0] if names else ""


def _only_name(value: "_Reader") -> str:
    listed = value.inner(2)
    value.end()
    kind, raw = listed.number(1), listed.take(listed.number(2))
    listed.end()
    try:
        name = raw.decode("ascii").lower()
        plain = kind == 0 and host_and_port(name, 0) == (name, 0)
    except (UnicodeDecodeError, BadAuthorityError) as error:
        raise BadHelloError("its TLS names a server in an unknown way") from error
    if not plain:
        raise BadHelloError("its TLS names a server in an unknown way")
    return name


def _check_head(head: bytes) -> tuple[int, int]:
    """Return a record's type and size, as far as they are there."""
    size = int.from_bytes(head[3:5])
    if head[0] not in _TYPES or head[1:2] not in (b"", b"\x03") or (len(head) == _HEAD_BYTES and not size):
        raise BadHelloError("a tunnel to this port has to carry TLS and nothing else")
    if size > _RECORD_BYTES:
        raise BadHelloError("a record of its TLS is too long")
    return head[0], size


@dataclass(slots=True)
class _Reader:
    """Reads fields in sequence. Raises BadHelloError for a truncated field or leftover bytes."""

    data: bytes
    at: int = 0

    @property
    def left(self) -> int:
        return len(self.data) - self.at

    def take(self, size: int) -> bytes:
        if size > self.left:
            raise BadHelloError("its ClientHello is broken")
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self, width: int) -> int:
        return int.from_bytes(self.take(width))

    def inner(self, width: int) -> "_Reader":
        return _Reader(self.take(self.number(width)))

    def end(self) -> None:
        if self.left:
            raise BadHelloError("its ClientHello is broken")
