"""Processes that are forked where Cardinal is imported already: a fresh Python imports for a second."""

import json
import multiprocessing
import os
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from pathlib import Path

from bot.cli import main

IMPORTED = (
    "tests.warm",
    "bot.cli._pushed",
    "bot.cli.init",
    "bot.cli.up",
    "bot.admin.setup.flow",
    "bot.daemon.up",
    "bot.scheduler.jobs",
)


@cache
def context() -> ForkServerContext:
    """Return what makes such processes, and what they share."""
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload(list(IMPORTED))
    return made


class Warm:
    """A function of a module that runs in such a process; what it prints is in `stdout`, errors too."""

    def __init__(
        self,
        target: Callable[..., object],
        *values: object,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        reads, given = context().Pipe(duplex=False)
        printed, prints = context().Pipe(duplex=False)
        place = str(cwd or Path.cwd()), dict(os.environ if env is None else env)
        self._process = context().Process(target=_play, args=(target, values, reads, prints, *place))
        self._process.daemon = True
        self._process.start()
        self.stdin = os.fdopen(os.dup(given.fileno()), "w", encoding="utf-8")
        self.stdout = os.fdopen(os.dup(printed.fileno()), encoding="utf-8")
        for end in (reads, given, printed, prints):
            end.close()

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process.pid is not None
        return self._process.pid

    def send_signal(self, number: int) -> None:
        """Send it a signal; it must run."""
        os.kill(self.pid, number)

    def poll(self) -> int | None:
        """Return the exit code, None while it runs."""
        return self._process.exitcode

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def wait(self, timeout: float) -> int:
        """Return the exit code once it ended; raises TimeoutError after so many seconds."""
        self._process.join(timeout)
        if (code := self.poll()) is None:
            raise TimeoutError(f"it still runs after {timeout} s")
        return code

    def close(self) -> None:
        """Close both pipes."""
        self.stdin.close()
        self.stdout.close()

    def finish(self, given: str = "", *, timeout: float = 60) -> str:
        """Give it the last of its input, and return the rest of what it prints; it must end well."""
        self.stdin.write(given)
        self.stdin.close()
        text = self.stdout.read()
        assert self.wait(timeout) == 0, text
        self.stdout.close()
        return text


def _play(
    target: Callable[..., object],
    values: tuple[object, ...],
    reads: Connection,
    prints: Connection,
    cwd: str,
    env: dict[str, str],
) -> None:
    for end, numbers in ((reads, (0,)), (prints, (1, 2))):
        for number in numbers:
            os.dup2(end.fileno(), number)
        end.close()
    _stand(cwd, env)
    target(*values)


def _stand(cwd: str, env: dict[str, str]) -> None:
    """Be where a fresh process is: in its folder and environment, with its input and outputs."""
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", buffering=1, encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", closefd=False)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)


def cardinal(*words: str) -> None:
    """Be the program `cardinal` with these words."""
    main(list(words), prog_name="cardinal")


CALLER = """\
#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
    server.connect({address!r})
    request = json.dumps((sys.argv[1:], os.getcwd(), dict(os.environ)))
    socket.send_fds(server, [request.encode()], (0, 1, 2))
    sys.exit(int(server.recv(10) or b"70"))
"""


def serve(address: str) -> None:
    """Be `cardinal` for each CALLER of the socket at this address, one after another, each in a fork."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.bind(address)
        server.listen()
        print("it listens")
        while True:
            caller, _ = server.accept()
            if (child := os.fork()) == 0:
                request, files, _, _ = socket.recv_fds(caller, 1 << 20, 3)
                for number, file in enumerate(files):
                    os.dup2(file, number)
                    os.close(file)
                words, cwd, env = json.loads(request)
                _stand(cwd, env)
                return cardinal(*words)  # its exit code is this process's
            _, status = os.waitpid(child, 0)
            with caller:
                caller.send(b"%d" % (os.waitstatus_to_exitcode(status) & 0xFF))


@contextmanager
def program(folder: Path) -> Iterator[Path]:
    """Give a program `cardinal` in this folder, which starts in a fiftieth of the time of the real one."""
    address, path = str(folder / "socket"), folder / "cardinal"
    path.write_text(CALLER.format(python=sys.executable, address=address))
    path.chmod(0o755)
    server = Warm(serve, address)
    assert server.stdout.readline() == "it listens\n"
    try:
        yield path
    finally:
        server.kill()
        server.wait(60)
        server.close()
