"""Commands that only read, carried out for those who type them, in a fork where everything is imported."""

import fcntl
import logging
import os
import signal
import socket
import sys
from contextlib import suppress

from bot.cli import COMMANDS, _socket, load_command, main

NOT_HERE = b"no"
UNWRITTEN = 120  # as Python says it. Source: docs.python.org/3/library/sys.html, sys.exit


def warm_up() -> None:
    """Import all modules of these commands."""
    for name, part in COMMANDS.all():
        if part.READS:
            load_command(name)


def carry_out_for(connection: socket.socket) -> None:
    """Carry out one command, in a process of its own, and say its exit code."""
    if not _socket.is_same_user(connection):
        return
    connection.sendall(_socket.READY)
    received = _socket.receive(connection)
    if received is None:
        return
    sent, files = received
    if sent.code != _socket.running_code() or not COMMANDS.load(sent.words[0]).READS:
        connection.sendall(NOT_HERE)
        return
    for place, file in enumerate(files):
        os.dup2(file, place)
        os.close(file)
    logging.getLogger().handlers.clear()
    os.chdir(sent.folder)
    os.environ.clear()
    os.environ.update(sent.environ)
    try:
        _interrupt_when_left(connection)
        code = _carry_out(list(sent.words))
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
        return _socket.INTERRUPTED
    return 0


def _interrupt_when_left(connection: socket.socket) -> None:
    """Interrupt the command as Ctrl-C does, once whoever typed it has gone. Source: fcntl(2), F_SETOWN."""
    signal.signal(signal.SIGIO, signal.default_int_handler)
    fcntl.fcntl(connection, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(connection, fcntl.F_SETFL, fcntl.fcntl(connection, fcntl.F_GETFL) | os.O_ASYNC)
    with suppress(BlockingIOError):
        if not connection.recv(1, socket.MSG_DONTWAIT):  # gone before
            raise KeyboardInterrupt
