"""Commands that only read, carried out for those who type them, in a fork where everything is imported."""

import logging
import os
import signal
import socket
import sys
from contextlib import suppress
from threading import Thread

from bot.cli import COMMANDS, load_command, main
from bot.system import command_socket

NOT_HERE = b"no"
INTERRUPTED = 130  # as a shell says it


def warm_up() -> None:
    """Import what these commands need."""
    for name, part in COMMANDS.all():
        if part.READS:
            load_command(name)


def answer(connection: socket.socket) -> None:
    """Carry out one command, in a process of its own, and say its exit code."""
    if not command_socket.is_same_user(connection):
        return
    connection.sendall(command_socket.READY)
    received = command_socket.receive(connection)
    if received is None:
        return
    sent, files = received
    if sent.code != command_socket.running_code() or not COMMANDS.load(sent.words[0]).READS:
        connection.sendall(NOT_HERE)
        return
    for place, file in enumerate(files):
        os.dup2(file, place)
        os.close(file)
    logging.getLogger().handlers.clear()
    os.chdir(sent.folder)
    os.environ.clear()
    os.environ.update(sent.environ)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    Thread(target=_interrupt_when_left, args=(connection,), daemon=True).start()
    code = _carry_out(list(sent.words))
    sys.stdout.flush()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # nothing is left to interrupt
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
    """Interrupt the command as Ctrl-C does, once whoever typed it has gone."""
    connection.recv(1)
    os.kill(os.getpid(), signal.SIGINT)
