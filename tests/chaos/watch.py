"""Moments of the story, as the ledger tells them, and the blows that fall there."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ledger.event import Event
from ledger.events import board as on_board
from ledger.events import run as on_run
from ledger.events.publication import EntryPublished
from ledger.ids import RunId
from ledger.log import event_store
from ledger.states import RunState
from tests.chaos.cardinal import Cardinal
from tests.waiting import until

STORY_S = 500.0
Moment = Callable[[Event], bool]


def steps(run_id: str, state: RunState) -> Moment:
    """Return the moment at which a run begins a stage."""
    return lambda event: (
        isinstance(event, on_run.RunStepped) and event.run_id == RunId(run_id) and event.after is state
    )


def moves(column: str) -> Moment:
    """Return the moment at which Cardinal has seen a person's drag into a column, or first the card there."""
    return lambda event: (
        (isinstance(event, on_board.CardMoved) and event.after == column)
        or (isinstance(event, on_board.CardSeen) and event.column == column)
    )


def happens(kind: type[Event]) -> Moment:
    """Return the moment at which an event of that kind is in the log."""
    return lambda event: isinstance(event, kind)


MOMENTS: dict[str, Moment] = {
    "refining": moves("Planning"),
    "planning": steps("r1", RunState.PLANNING),
    "the plan is being posted": happens(on_run.PlanProposed),
    "working": steps("r1", RunState.WORKING),
    "the question is being posted": happens(on_run.QuestionAsked),
    "validating": steps("r1", RunState.VALIDATING),
    "publishing": steps("r1", RunState.PUBLISHING),
    "the report is being posted": happens(on_run.FinalReported),
    "second run": steps("r2", RunState.WORKING),
    "second run validates": steps("r2", RunState.VALIDATING),
    "merging": moves("Done"),
}


@dataclass(frozen=True, slots=True)
class Blow:
    """Strikes `victim` at a moment of the story.

    `strike` does it and returns what tells that the damage is repaired. Where `arm` is given it brings the
    moment about: it returns when the blow is due.
    """

    victim: str
    moment: str
    strike: Callable[[Cardinal], Callable[[], object]]
    arm: Callable[[Cardinal], None] | None = None


@dataclass(frozen=True, slots=True)
class Struck:
    """A blow that fell, and the seconds until what it broke worked again."""

    victim: str
    moment: str
    recovered_s: float


@dataclass(slots=True)
class Watcher:
    """Follows the log in a thread of its own and lets the blows fall, in their order."""

    cardinal: Cardinal
    blows: tuple[Blow, ...]
    struck: list[Struck] = field(default_factory=list)
    problem: BaseException | None = None
    _over: threading.Event = field(default_factory=threading.Event)
    _mending: threading.Lock = field(default_factory=threading.Lock)
    _seq: int = 0

    def follow(self) -> threading.Thread:
        """Begin; the caller joins the thread that is returned."""
        thread = threading.Thread(target=self._follow, name="watcher", daemon=True)
        thread.start()
        return thread

    def calm(self) -> None:
        """Wait until no blow is being repaired, so that the next one is armed before its moment comes."""
        if self._mending.acquire(timeout=STORY_S):
            self._mending.release()

    def over(self) -> None:
        """Stop waiting for moments: the story has ended."""
        self._over.set()

    def _follow(self) -> None:
        try:
            for blow in self.blows:
                if blow.arm is None:
                    self._await(blow.moment)
                else:
                    blow.arm(self.cardinal)
                with self._mending:
                    began = time.monotonic()
                    repaired = blow.strike(self.cardinal)
                    until(repaired, f"repaired: {blow.victim} at {blow.moment!r}")
                    took_s = round(time.monotonic() - began, 2)
                self.struck.append(Struck(blow.victim, blow.moment, took_s))
        except BaseException as problem:  # the thread's top: told to the test that waits for it
            self.problem = problem

    def _await(self, moment: str) -> None:
        def passed() -> bool:
            here = self._passed(MOMENTS[moment])
            assert here or not self._over.is_set(), f"the story ended before the moment {moment!r}"
            return here

        until(passed, f"the moment {moment!r}", STORY_S, 0.004)

    def _passed(self, moment: Moment) -> bool:
        with event_store.reading(self.cardinal.engine) as db:
            fresh = event_store.read(db, after=self._seq)
        for recorded in fresh:
            self._seq = recorded.seq
            if moment(recorded.event):
                return True
        return False


def log_end(cardinal: Cardinal) -> int:
    """Return the number of the newest event."""
    with event_store.reading(cardinal.engine) as db:
        return event_store.last_seq(db)


def published_since(cardinal: Cardinal, seq: int, key: str) -> bool:
    """Tell whether an entry whose key begins with `key` was settled after `seq`."""
    with event_store.reading(cardinal.engine) as db:
        fresh = [recorded.event for recorded in event_store.read(db, after=seq)]
    return any(isinstance(event, EntryPublished) and event.key.startswith(key) for event in fresh)


def since(cardinal: Cardinal, seq: int, kind: type[Event]) -> bool:
    """Tell whether an event of that kind came after `seq`."""
    with event_store.reading(cardinal.engine) as db:
        return any(isinstance(recorded.event, kind) for recorded in event_store.read(db, after=seq))
