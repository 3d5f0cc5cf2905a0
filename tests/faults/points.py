"""Where a process of Cardinal can be hurt: each commit, call of GitHub, start of a program, wake-up and blob.

They are not chosen. Each kind goes through one place of the product, which is watched in a story.
"""

import inspect
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from enum import StrEnum
from types import FrameType
from typing import Any

import requests
from github.Requester import Requester
from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from bot.scheduler import queues
from ledger.db import transactions
from ledger.queue.outbox import Entry
from runner.artifacts.backend import StoreError
from runner.artifacts.folder import FolderStore
from runner.exec.child import Child
from runner.workspaces import card_folder
from tests.faults.power import Disk
from tests.house.source import ROOT
from tests.near import Watched


class Kind(StrEnum):
    """What happens at a point."""

    COMMIT = "commit"
    SEND = "send"
    PROGRAM = "program"
    PUSH = "push"
    BLOB = "blob"


class Fault(StrEnum):
    """What can happen there instead. A killed process is dead: nothing that it still tries has an effect."""

    KILL_BEFORE = "kill-before"
    KILL_AFTER = "kill-after"
    DISK_FULL = "disk-full"
    LOST_WITHOUT_EFFECT = "lost-without-effect"
    LOST_AFTER_EFFECT = "lost-after-effect"
    STALE = "stale-answer"
    POWER_CUT = "power-cut"


KILLS = (Fault.KILL_BEFORE, Fault.KILL_AFTER)
FAULTS: Mapping[Kind, tuple[Fault, ...]] = {
    Kind.COMMIT: (*KILLS, Fault.DISK_FULL),
    Kind.SEND: (*KILLS, Fault.LOST_WITHOUT_EFFECT, Fault.LOST_AFTER_EFFECT, Fault.STALE),
    Kind.PROGRAM: KILLS,  # one that does not start ends its run, and a person says what then
    Kind.PUSH: (*KILLS, Fault.LOST_WITHOUT_EFFECT),
    Kind.BLOB: (*KILLS, Fault.DISK_FULL),
}
# Everywhere: the machine stops just after the effect, and what was not synced is lost.
CUTS: Mapping[Kind, tuple[Fault, ...]] = dict.fromkeys(Kind, (Fault.POWER_CUT,))
# A server of PostgreSQL commits, and its answer is lost: who asked lives on, and does not know it.
UNHEARD: Mapping[Kind, tuple[Fault, ...]] = {
    **dict.fromkeys(Kind, ()),
    Kind.COMMIT: (Fault.LOST_AFTER_EFFECT,),
}
# What a site is looked for in; the first names the place, unless it is one of those that all go through.
PACKAGES = tuple(f"{ROOT}/{name}/" for name in ("bot", "runner", "rules", "ledger"))
PASSAGES = re.compile(
    r"^(ledger/(db|log)/|bot/github/(client|transport|api/graphql)|bot/state/outbox_context|runner/exec/"
    r"|bot/scheduler/queues|bot/scheduler/wakeups|runner/artifacts/)"
)
NUMBERS = re.compile(r"(?<=[/=])(\d+|[0-9a-f]{40})(?=$|[/?])")
OPERATION = re.compile(r"\s*(query|mutation)\s+(\w+)")


class KilledError(BaseException):
    """The process was killed here. No `except` of the product may catch it."""


@dataclass(slots=True)
class World:
    """One process of Cardinal after the other: its points, in order, and the faults that are still to come.

    `plan` has the faults by the key of their point; each strikes once, when its point comes. `soon` is one
    for whoever does not know the points before.
    """

    plan: dict[str, Fault] = field(default_factory=dict)
    soon: Fault | None = None  # strikes at the next point that can have it, after `passes` others
    passes: int = 0
    trace: list[str] = field(default_factory=list)
    struck: list[str] = field(default_factory=list)
    is_watched: bool = False
    is_dead: bool = False
    disk: Disk | None = None  # of Cardinal's home, in a play with a power cut
    _times: Counter[str] = field(default_factory=Counter)
    _answers: dict[tuple[Requester, str], Any] = field(default_factory=dict)
    _changes: dict[int, int] = field(default_factory=dict)
    _seq: int = 0

    @contextmanager
    def watched(self, seq: int) -> Iterator[None]:
        """Watch what Cardinal does; what people and the test do is not. `seq` is the newest event's."""
        self.is_watched, self._seq = True, seq
        try:
            yield
        finally:
            self.is_watched = False

    def reach(self, kind: Kind, what: str) -> Fault | None:
        """Record a point; return the fault that strikes there. Raises KilledError in a dead process."""
        self.refuse_the_dead()
        site, act = _place()
        key = f"{kind}:{what}@{site}" + (f"/{act}" if act else "")
        self._times[key] += 1
        point = f"{key}#{self._times[key]}"
        self.trace.append(point)
        fault = self.plan.pop(point, None) or self._come_soon(kind)
        if fault is not None:
            self.struck.append(f"{point}:{fault}")
        if fault is Fault.KILL_BEFORE:
            self.die()
        return fault

    def _come_soon(self, kind: Kind) -> Fault | None:
        if self.soon is None or self.soon not in FAULTS[kind]:
            return None
        self.passes -= 1
        if self.passes >= 0:
            return None
        fault, self.soon = self.soon, None
        return fault

    def die(self) -> None:
        """Let the process die here."""
        self.is_dead = True
        raise KilledError

    def refuse_the_dead(self) -> None:
        if self.is_dead:
            raise KilledError

    def after(self, fault: Fault | None) -> None:
        """Let a process die that was to be killed just after the effect, or that loses its power then."""
        if fault is Fault.POWER_CUT and self.disk is not None:
            self.disk.cut()
        if fault in (Fault.KILL_AFTER, Fault.POWER_CUT):
            self.die()

    def restart(self, reopen: Callable[[], int]) -> None:
        """Let a new process come up. Raises AssertionError where it lacks an event that was committed."""
        had_power = not (self.is_dead and self.struck[-1].endswith(f":{Fault.POWER_CUT}"))
        if self.disk is not None and not had_power:
            self.disk.restart()
            self.disk.boot_id.write_text(f"boot-{len(self.struck)}", encoding="ascii")
        self.is_dead = False
        there = reopen()
        assert had_power or there >= self._seq, f"of {self._seq} committed events {there} are there"

    # --- the five places ------------------------------------------------------------------------------

    def drive(self, real: Callable[..., Any], db: Connection, sql: str, *more: Any, **named: Any) -> Any:
        if not self.is_watched:
            return real(db, sql, *more, **named)
        self.refuse_the_dead()
        if sql.startswith("BEGIN"):
            done = real(db, sql, *more, **named)
            driver: Any = db.connection.driver_connection
            self._changes[id(driver)] = driver.total_changes
            return done
        events = self._written(db) if sql == "COMMIT" else None
        if events is None:
            return real(db, sql, *more, **named)
        fault = self.reach(Kind.COMMIT, events)
        if fault is Fault.DISK_FULL:
            raise OperationalError("COMMIT", {}, RuntimeError("database or disk is full"))
        done = real(db, sql, *more, **named)
        if fault is Fault.LOST_AFTER_EFFECT:
            raise OperationalError("COMMIT", {}, RuntimeError("server closed the connection unexpectedly"))
        self.after(fault)
        return done

    def _written(self, db: Connection) -> str | None:
        """Return the kinds of the events that are about to be committed; None where nothing was written."""
        driver: Any = db.connection.driver_connection
        if driver.total_changes == self._changes.get(id(driver), 0):
            return None
        rows = driver.execute(
            "SELECT seq, kind FROM events WHERE seq > ? ORDER BY seq", (self._seq,)
        ).fetchall()
        if not rows:
            return "-"
        self._seq = rows[-1][0]
        return "+".join(dict.fromkeys(kind for _, kind in rows))

    def send(self, real: Callable[..., Any], requester: Requester, *words: Any, **named: Any) -> Any:
        if not self.is_watched:
            return real(requester, *words, **named)
        verb, path, body = words[0], str(words[1]), named.get("input") or {}
        found = OPERATION.match(str(body.get("query", "")))
        reads = verb == "GET" or (found is not None and found[1] == "query")
        fault = self.reach(Kind.SEND, found[2] if found else f"{verb} {NUMBERS.sub('N', path)}")
        words_asked = json.dumps([words, {**named, "headers": None}], sort_keys=True, default=str)
        asked = requester, words_asked  # each owner's has its own, and sees other repositories
        if fault is Fault.LOST_WITHOUT_EFFECT:
            raise requests.ConnectionError
        answer = real(requester, *words, **named)
        if fault is Fault.STALE and reads and asked in self._answers:
            status, headers, text = self._answers[asked]
            return status, {**headers, "date": answer[1]["date"]}, text  # GitHub's clock is not stale
        if reads:
            self._answers[asked] = answer
        if fault is Fault.LOST_AFTER_EFFECT:
            raise requests.ReadTimeout
        self.after(fault)
        return answer

    def start(self, real: Callable[..., Any], child: Child, argv: Any, **named: Any) -> None:
        if not self.is_watched:
            real(child, argv, **named)
            return
        fault = self.reach(Kind.PROGRAM, _program(argv))
        real(child, argv, **named)
        with closing(child) if fault in (Fault.KILL_AFTER, Fault.POWER_CUT) else nullcontext():
            self.after(fault)  # the kernel ends what a killed process has started

    def push(
        self, real: Callable[..., Any], redis: Any, name: str, function: str, *args: str, **named: Any
    ) -> Any:
        if not self.is_watched:
            return real(redis, name, function, *args, **named)
        fault = self.reach(Kind.PUSH, function.rpartition(".")[2])
        if fault is Fault.LOST_WITHOUT_EFFECT:
            return False
        taken = real(redis, name, function, *args, **named)
        self.after(fault)
        return taken

    def put(self, real: Callable[..., Any], store: FolderStore, *words: Any, **named: Any) -> None:
        if not self.is_watched:
            real(store, *words, **named)
            return
        fault = self.reach(Kind.BLOB, "put")
        if fault is Fault.DISK_FULL:
            raise StoreError(store.address, "written", "No space left on device", "make room")
        real(store, *words, **named)
        self.after(fault)


@contextmanager
def installed(world: World) -> Iterator[None]:
    """Let all points of this process go through `world` until the block ends."""
    places: tuple[tuple[Any, str, Callable[..., Any]], ...] = (
        (transactions, "drive", world.drive),
        (Watched, "requestJson", world.send),
        (Child, "__init__", world.start),
        (queues, "enqueue", world.push),
        (FolderStore, "put", world.put),
    )
    with ExitStack() as after:
        if world.disk is not None:
            after.callback(setattr, card_folder, "BOOT_ID", card_folder.BOOT_ID)
            card_folder.BOOT_ID = world.disk.boot_id
        for owner, name, watch in places:
            real = getattr(owner, name)
            after.callback(setattr, owner, name, real)
            setattr(owner, name, _through(watch, real))
        yield


def _through(watch: Callable[..., Any], real: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *words, **named: watch(real, *words, **named)


def _program(argv: Any) -> str:
    """Return the name of a program, and of git its command."""
    words = [str(word) for word in argv]
    name = words[0].rpartition("/")[2]
    if name != "git":
        return name
    return next((f"git {word}" for word in words[1:] if re.fullmatch(r"[a-z][a-z-]+", word)), name)


def _place() -> tuple[str, str]:
    """Return the function of the product that is at a point, and the act of the entry that is carried out."""
    site, act = "", ""
    frame: FrameType | None = inspect.currentframe()
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(PACKAGES):
            path = file[len(str(ROOT)) + 1 :].removesuffix(".py")
            if not site and not PASSAGES.match(path):
                site = f"{path}.{frame.f_code.co_qualname}"
            if path.startswith("bot/outbox/"):
                entry = frame.f_locals.get("entry")
                act = entry.act if isinstance(entry, Entry) else act
        frame = frame.f_back
    return site, act
