"""Jobs and roles for the tests to run in real processes; they note what happens in files."""

import math
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from select import select

from bot.daemon import group, workers
from bot.daemon.child import RESTS, ProcessRole, Ready
from bot.daemon.group import OutdatedGroupError, ProcessGroup
from bot.scheduler.queues import QueueName
from bot.system import config, redis
from ledger.errors import OutdatedError

SILENT_S, IMPATIENT_S = 2.0, 1.0
ASKS: list[int] = []  # a pipe to the group


def note(path: str, text: str) -> None:
    """Append one line; lines of several processes do not mix."""
    with Path(path).open("a") as file:
        file.write(f"{text}\n")


def fail(path: str, text: str) -> None:
    note(path, text)
    raise ValueError(text)


def owned(job: object, *_more: object) -> None:
    """Be a callback that nobody here asked for."""
    note(str(job.args[0]), "owned")  # type: ignore[attr-defined]


def hang(path: str) -> None:
    """Start a grandchild that lives long, note both pids, and wait for ever."""
    note(path, f"child {os.getpid()}")
    try:
        select([], [], [], 60)
    finally:
        note(path, "left")


def work(name: str) -> None:
    """Be the worker of this queue, for the jobs here."""
    client = redis.connect_redis(config.read(os.environ, Path.cwd()))
    calls = {f"{__name__}.{job.__name__}": job for job in (note, fail, hang)}
    workers.work_queue(client, QueueName(name), lambda: _say("ready"), calls=calls, host="b")


def _live(folder: str, name: str, ready: Ready) -> None:
    note(f"{folder}/{name}", str(os.getpid()))
    grandchild = subprocess.Popen(["sleep", "60"])
    note(f"{folder}/{name}.grandchild", str(grandchild.pid))
    ready()
    while True:
        signal.pause()


def _refuse(folder: str, name: str, ready: Ready) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _live(folder, name, ready)


def _break(folder: str, name: str, _ready: Ready) -> None:
    note(f"{folder}/{name}", str(os.getpid()))
    raise RuntimeError("broken on purpose")


def _lose(folder: str, name: str, _ready: Ready) -> None:
    note(f"{folder}/{name}", str(os.getpid()))
    raise OutdatedError("1.0", "2.0")


def _rest(folder: str, name: str, _ready: Ready) -> None:
    """Rest at once, the first two times with a wish to start again."""
    note(f"{folder}/{name}", str(os.getpid()))
    if len(Path(f"{folder}/{name}").read_text().split()) < 3:
        os.write(ASKS[1], f"{name}\n".encode())
    raise SystemExit(RESTS)


def _ask(folder: str, name: str, ready: Ready) -> None:
    """Ask for those that rest: now, and at SIGUSR1."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    note(f"{folder}/{name}", str(os.getpid()))
    ready()
    while True:
        os.write(ASKS[1], b"nobody\nrest-1\n")
        signal.sigwait({signal.SIGUSR1})


def _beat(folder: str, name: str, ready: Ready) -> None:
    note(f"{folder}/{name}", str(os.getpid()))
    while True:
        ready()
        note(f"{folder}/{name}.beats", "1")
        select([], [], [], 0.05)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
    if line.startswith("held-1 ready"):  # the group is held up outside of its wait
        select([], [], [], 1.3 * SILENT_S)


def main(folder: str, *kinds: str) -> None:
    """Run a group of `kinds`, which are functions here, each noting its pids in `folder`."""
    does = {"live": _live, "refuse": _refuse, "break": _break, "lose": _lose, "ask": _ask, "rest": _rest}
    does["beat"] = does["held"] = _beat
    group.LATE_S = 0.2
    ASKS[:] = os.pipe()

    def role(kind: str, number: int) -> ProcessRole:
        name = f"{kind}-{number}"
        do, first, rests = does[kind], number == 0, kind == "rest"
        silent_s = SILENT_S if kind in ("beat", "held") else math.inf
        run = partial(do, folder, name)
        return ProcessRole(name, run, ground=first, on_demand=rests, silent_s=silent_s)

    try:
        roles = [role(kind, number) for number, kind in enumerate(kinds)]
        ProcessGroup(roles, _say, lambda pids: None, ASKS[0]).run()
    except OutdatedGroupError as error:
        _say(str(error))
    _say("down")


def impatient(folder: str, *kinds: str) -> None:
    """Run a group that gives a stop a moment only."""
    group.STOP_S = IMPATIENT_S
    main(folder, *kinds)
