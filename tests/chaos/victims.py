"""What a blow does to each victim, and by what one sees that the damage is repaired."""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator

import psutil
from sqlalchemy.exc import OperationalError

from bot.scheduler import queues
from bot.system import config as configuration
from bot.system import redis as embedded_redis
from ledger.event import Event
from ledger.events.publication import EntryPublished
from ledger.events.run import RunClaimed
from ledger.log import event_store
from tests.chaos.cardinal import Cardinal
from tests.chaos.watch import log_end, since
from tests.waiting import until

Repaired = Callable[[], object]


def web(cardinal: Cardinal) -> Repaired:
    """Kill the web server: its master, and with it the worker that answers."""
    cardinal.kill("web-1")
    return cardinal.is_up


def run_child(cardinal: Cardinal) -> Repaired:
    """Kill the process that carries the run; its RQ worker lives."""
    seq = log_end(cardinal)
    _, pid = cardinal.run_child()
    os.kill(pid, signal.SIGKILL)
    return lambda: since(cardinal, seq, RunClaimed)


def run_worker(cardinal: Cardinal) -> Repaired:
    """Kill the RQ worker that has the run in its hands."""
    seq = log_end(cardinal)
    part, _ = cardinal.run_child()
    cardinal.kill(part)
    return lambda: since(cardinal, seq, RunClaimed)


def part(name: str, sign: type[Event] | None = None) -> Callable[[Cardinal], Repaired]:
    """Return the blow that kills a part; it is repaired when a new one runs and `sign` came after it."""

    def strike(cardinal: Cardinal) -> Repaired:
        seq = log_end(cardinal)
        old = cardinal.kill(name)

        def repaired() -> bool:
            runs = cardinal.parts().get(name, old) != old
            return runs and (sign is None or since(cardinal, seq, sign))

        return repaired

    return strike


def redis(cardinal: Cardinal) -> Repaired:
    """Kill Redis, which keeps nothing on disk."""
    seq = log_end(cardinal)
    old = cardinal.kill("redis")
    return lambda: cardinal.parts().get("redis", old) != old and since(cardinal, seq, EntryPublished)


def redis_with_waiting_jobs(cardinal: Cardinal) -> Repaired:
    """Kill Redis while wake-ups wait in its queues: workers, and who starts them, are stopped until then."""
    config = configuration.read(cardinal.environment, cardinal.root / "operator")

    def kill() -> Repaired | None:
        """Return nothing where one was stopped in its turn at the ledger: nobody could wake another."""
        with embedded_redis.connect_redis(config) as client, stopped_workers(cardinal):
            try:
                with event_store.writing(cardinal.engine):
                    pass
            except OperationalError:
                return None
            until(lambda: sum(len(queues.queue(client, name)) for name in queues.QueueName), "wake-ups wait")
            return redis(cardinal)

    return until(kill, "Redis is killed while wake-ups wait", every_s=1.0)


@contextlib.contextmanager
def stopped_workers(cardinal: Cardinal) -> Iterator[None]:
    """Stop the workers, and first who starts them, until the block ends."""
    stopped = [cardinal.pid("standby")]
    try:
        os.kill(stopped[0], signal.SIGSTOP)
        stopped += [
            pid for name, pid in cardinal.parts().items() if name.startswith(("publish-", "control-"))
        ]
        for pid in stopped[1:]:
            with contextlib.suppress(ProcessLookupError):  # it rests
                os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def up(cardinal: Cardinal) -> Repaired:
    """Kill `cardinal up` itself; nothing of it may live on. Then start it again."""
    before = cardinal.everyone()
    os.kill(cardinal.group.pid, signal.SIGKILL)
    cardinal.group.wait(60)
    until(lambda: not (before & living(before)), "all of it is gone")
    cardinal.start_again()
    return cardinal.is_up


def living(pids: set[int]) -> set[int]:
    """Return those of `pids` that live; a zombie counts as gone."""
    return {pid for pid in pids if _lives(pid)}


def _lives(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as status:
            return status.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return False


def sleeping_run_child(cardinal: Cardinal) -> Repaired:
    """Stop the run's process until another has its run, then wake it up: it and its agent must be gone."""
    seq = log_end(cardinal)
    _, pid = cardinal.run_child()
    of_it = {pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))}
    os.kill(pid, signal.SIGSTOP)
    try:
        until(lambda: since(cardinal, seq, RunClaimed), "another process has the run")
        assert not living(of_it), "two agents in one workspace"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    return lambda: not living(of_it)
