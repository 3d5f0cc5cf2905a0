"""The socket of a home where the running Cardinal carries out commands that only read, with its imports.

One connection is one command. Both ends are of one user. The server says `READY`; the client sends its words,
folder, environment and standard files; the server answers with the exit code.
"""

import array
import fcntl
import json
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from bot.cli import COMMANDS, load_command, main
from ledger.errors import CardinalError

READY = b"+"
NAME = "commands.sock"
READY_S = 1.0  # later the command is carried out by its own process
SLOW_S = 5.0  # for words that are on their way, and for a command that is told to stop
MAX_BYTES = 4 * 1024 * 1024
INTERRUPTED = 130  # as a shell says it
STANDARD = 3  # files
NOT_HERE = b"no"
UNWRITTEN = 120  # as Python says it. Source: docs.python.org/3/library/sys.html, sys.exit
_LENGTH = struct.Struct("!I")
_CREDENTIALS = struct.Struct("3i")  # source: unix(7), SO_PEERCRED


class LostCommandError(CardinalError):
    """Nobody knows how the command ended."""

    def __init__(self) -> None:
        super().__init__("Cardinal stopped before the command had ended: type it again")


@dataclass(frozen=True, slots=True)
class SentWords:
    """A command; `code` is equal where both ends run the same program."""

    words: Sequence[str]
    folder: str
    environ: dict[str, str]
    code: str


def running_code() -> str:
    """Return a text of this installation and version, which no other has."""
    file = Path(__file__).with_name("commands.json")
    return f"{file} {file.stat().st_mtime_ns}"


@contextmanager
def listening(home: Path) -> Iterator[socket.socket]:
    """Yield the home's socket; it is gone in the end."""
    folder = home / "run"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / NAME).unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        with short_address(folder) as address:
            listener.bind(address)
        listener.listen(8)
        try:
            yield listener
        finally:
            (folder / NAME).unlink(missing_ok=True)


def hand_over(home: Path, words: Sequence[str]) -> int | None:
    """Have the command carried out; return its exit code. None: the caller has to do it itself.

    Raises LostCommandError.
    """
    if not all(map(_is_open, range(STANDARD))):
        return None  # the connection would take a closed file's number
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(READY_S)
        try:
            with short_address(home / "run") as address:
                connection.connect(address)
            if not is_same_user(connection) or connection.recv(1) != READY:
                return None
            sent_words = SentWords(words, os.getcwd(), dict(os.environ), running_code())
            text = json.dumps(asdict(sent_words)).encode()
            if len(text) > MAX_BYTES:
                return None
            _send(connection, text)
        except OSError:  # none runs, or it is busy: nothing was done
            return None
        return _code(connection)


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def is_same_user(connection: socket.socket) -> bool:
    """Tell whether the other end belongs to this user."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return bool(_CREDENTIALS.unpack(raw)[1] == os.geteuid())


def receive(connection: socket.socket) -> tuple[SentWords, list[int]] | None:
    """Return a command and its standard files; None where the other end left."""
    connection.settimeout(SLOW_S)
    first, ancillary, _, _ = connection.recvmsg(_LENGTH.size, socket.CMSG_SPACE(STANDARD * 4))
    files = array.array("i")
    for _, _, part in ancillary:
        files.frombytes(part)
    if len(first) < _LENGTH.size or len(files) != STANDARD:
        return None
    left, parts = min(_LENGTH.unpack(first)[0], MAX_BYTES), list[bytes]()
    while left > 0 and (part := connection.recv(left)):
        parts.append(part)
        left -= len(part)
    connection.settimeout(None)
    return (SentWords(**json.loads(b"".join(parts))), list(files)) if not left else None


def _send(connection: socket.socket, text: bytes) -> None:
    files = array.array("i", range(STANDARD))
    connection.sendmsg([_LENGTH.pack(len(text))], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)])
    connection.sendall(text)


def _code(connection: socket.socket) -> int | None:
    """Wait for the exit code. Ctrl-C ends the sending, which tells the other end."""
    connection.settimeout(None)
    until = 0.0
    while not until or time.monotonic() < until:
        try:
            said = connection.recv(16)
        except KeyboardInterrupt:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_WR)
            until = time.monotonic() + SLOW_S
            connection.settimeout(SLOW_S)
            continue
        except OSError:
            break
        if not said:
            raise LostCommandError
        return int(said) if said.isdigit() else None
    return INTERRUPTED


@contextmanager
def short_address(folder: Path) -> Iterator[str]:
    """Yield the socket's address, which may be no longer than 107 bytes however deep the folder is."""
    opened = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{opened}/{NAME}"
    finally:
        os.close(opened)


def warm_up() -> None:
    """Import all modules of these commands."""
    for name, part in COMMANDS.all():
        if part.READS:
            load_command(name)


def carry_out_for(connection: socket.socket) -> None:
    """Carry out one command, in a process of its own, and say its exit code."""
    if not is_same_user(connection):
        return
    connection.sendall(READY)
    received = receive(connection)
    if received is None:
        return
    sent_words, files = received
    if sent_words.code != running_code() or not COMMANDS.load(sent_words.words[0]).READS:
        connection.sendall(NOT_HERE)
        return
    for descriptor, file in enumerate(files):
        os.dup2(file, descriptor)
        os.close(file)
    import logging  # not at the other end, whose start it would slow

    logging.getLogger().handlers.clear()
    os.chdir(sent_words.folder)
    os.environ.clear()
    os.environ.update(sent_words.environ)
    try:
        _interrupt_when_left(connection)
        code = _carry_out(list(sent_words.words))
    finally:
        signal.signal(signal.SIGIO, signal.SIG_IGN)  # nothing is left to interrupt
    try:
        sys.stdout.flush()
    except OSError as error:
        sys.stderr.write(f"Error: {error.strerror}\n")
        code = UNWRITTEN
    with suppress(BrokenPipeError):  # nobody waits for it any more
        connection.sendall(b"%d" % code)


def _carry_out(words: list[str]) -> int:
    try:
        main(words, prog_name="cardinal")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(bool(end.code))
    except KeyboardInterrupt:  # between two steps of click
        return INTERRUPTED
    return 0


def _interrupt_when_left(connection: socket.socket) -> None:
    """Interrupt the command as Ctrl-C does, once whoever typed it has gone. Source: fcntl(2), F_SETOWN."""
    signal.signal(signal.SIGIO, signal.default_int_handler)
    fcntl.fcntl(connection, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(connection, fcntl.F_SETFL, fcntl.fcntl(connection, fcntl.F_GETFL) | os.O_ASYNC)
    with suppress(BlockingIOError):
        if not connection.recv(1, socket.MSG_DONTWAIT):  # gone before
            raise KeyboardInterrupt
