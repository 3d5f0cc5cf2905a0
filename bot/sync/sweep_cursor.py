"""The sweep's position on a board of any size, for a fixed price.

One request reads up to five pages, and a sweep makes one request: a small board is read whole each time, a
large one over several sweeps. If GitHub reports a change of the board, the sweep goes on at once, within its
share of the hour. A page is read from a cursor of an earlier pass; neighbours overlap a little, so that new
cards between them are found. The state is one small record; losing it costs one reading of the whole board.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import TypeAdapter

from bot.github.api.project_pages import MAX_PAGES, BoardReading, Page
from bot.github.shared_records import SharedRecords
from ledger.ids import CardId

PAGE = 100
STRIDE = 95  # cards between the starts of two pages: up to five new ones leave no gap
# Two per cent of GitHub's hour of 5,000 points: 100, refill and burst together.
POINTS_PER_HOUR, BURST = 90.0, 10.0
MAX_REQUESTS = 500  # of one sweep: GitHub's own limit is 50,000 cards on a board


@dataclass(slots=True)
class SweepState:
    """The state of earlier sweeps; `scope` names the board and the columns that are left out.

    `starts`: cursor and card before the second, third … page. `seen`: this pass's cards with their cursors.
    `whole`: all pages were read once. `owed`: pages to read since the last change. `past`: the columns that
    are left out were read, too, and all cards there requested. Until then `unlearned` counts the cards that
    this pass has left for a later one, `left` those of the last pass.
    """

    scope: str = ""
    starts: list[tuple[str, str]] = field(default_factory=list)
    place: int = 0
    seen: dict[str, str] = field(default_factory=dict)
    whole: bool = False
    past: bool = False
    unlearned: int = 0
    left: int = 0
    owed: int = 0
    touched_at: str = ""
    home: str | None = None
    at_once: int = MAX_PAGES
    credit: float = BURST
    counted_s: float = 0.0


_FILE = TypeAdapter(SweepState)


class BoardPass:
    """One sweep's part of a pass over the board, from where the last one stopped."""

    def __init__(self, memory: SweepState, now: datetime) -> None:
        self.memory = memory
        now_s = now.timestamp()
        elapsed_s = max(0.0, now_s - memory.counted_s) if memory.counted_s else 0.0
        memory.credit = min(BURST, memory.credit + elapsed_s * POINTS_PER_HOUR / 3600)
        memory.counted_s = now_s
        self._requests = 0
        self._closed = False

    def starts(self) -> tuple[str | None, ...]:
        """Return the cursors that the next request starts behind."""
        known = [None, *(cursor for cursor, _ in self.memory.starts)]
        return tuple(known[self.memory.place : self.memory.place + self.memory.at_once])

    def take(self, sight: BoardReading) -> frozenset[CardId] | None:
        """Record a request's pages; return all items of the pass if it ends here, else None."""
        memory = self.memory
        if sight.touched_at != memory.touched_at:
            memory.touched_at, memory.owed = sight.touched_at, len(memory.starts) + 1
        self._requests += 1
        memory.credit = max(0.0, memory.credit - 1)
        for page in sight.pages:
            memory.owed = max(0, memory.owed - 1)
            if not self._turn(page):
                return self._close()
            if not self._joins(page):
                break  # the next pages of this answer were compared, but leave a gap
        return None

    def goes_on(self) -> bool:
        """Tell whether another request should follow in this sweep."""
        if self._requests >= MAX_REQUESTS:
            return False
        if not self.memory.past and self._closed:
            return False  # the next sweep learns more of the past
        if not self.memory.whole:
            return True  # read to the end once, at any cost
        return self.memory.owed > 0 and self.memory.credit >= 1

    def _turn(self, page: Page) -> bool:
        """Remember the page's items in their order; False at the end of the board."""
        for card_id, cursor in page.places:
            self.memory.seen.pop(card_id, None)  # it may have moved down meanwhile
            self.memory.seen[card_id] = cursor
        return page.more

    def _joins(self, page: Page) -> bool:
        """Go on to the next page, or across a possible gap to one that begins right behind this page."""
        memory = self.memory
        last_id, last_cursor = page.places[-1]
        if memory.place == len(memory.starts):
            memory.starts.append((last_cursor, last_id))
            memory.owed += 1
        else:
            anchor = memory.starts[memory.place][1]
            if all(anchor != card_id for card_id, _ in page.places):
                memory.starts.insert(memory.place, (last_cursor, last_id))
                memory.owed += 1
                memory.place += 1
                return False
        memory.place += 1
        return True

    def _close(self) -> frozenset[CardId]:
        memory = self.memory
        cards = list(memory.seen.items())
        if not memory.past:  # other items follow: no cursor of this pass is of use
            # Fewer each time, or it is given up: some may be out of sight.
            memory.past = not memory.unlearned or memory.unlearned == memory.left
            memory.left, memory.unlearned, self._closed = memory.unlearned, 0, True
            memory.starts, memory.place, memory.seen = [], 0, {}
            return frozenset(CardId(card_id) for card_id, _ in cards)
        cuts = range(STRIDE - 1, max(len(cards) - (PAGE - STRIDE) - 1, 0), STRIDE)
        memory.starts = [(cards[n][1], cards[n][0]) for n in cuts]
        memory.place, memory.seen, memory.whole = 0, {}, True
        memory.at_once = min(MAX_PAGES, memory.at_once + 1)
        return frozenset(CardId(card_id) for card_id, _ in cards)


def slow_down(memory: SweepState) -> None:
    """Read fewer pages at once: GitHub took too long for the last request. Every pass adds one again."""
    memory.at_once = max(1, memory.at_once // 2)


def load_memory(records: SharedRecords, board: str, scope: Sequence[object]) -> SweepState:
    """Return the state for this scope; empty without one."""
    wanted = json.dumps(scope)
    try:
        memory = _FILE.validate_json(records.read(_name(board))[0])
        sound = 0 <= memory.place <= len(memory.starts) and 1 <= memory.at_once <= MAX_PAGES
    except ValueError:
        return SweepState(scope=wanted)
    outdated = memory.whole and not memory.past  # an earlier version never read the past
    if not sound or outdated or memory.scope != wanted:
        return SweepState(scope=wanted, credit=min(BURST, max(0.0, float(memory.credit))))
    return memory


def save_memory(records: SharedRecords, board: str, memory: SweepState) -> None:
    """Save the state."""
    records.change(_name(board), lambda *_: (_FILE.dump_json(memory), None))


def _name(board: str) -> str:
    return f"sweep of {board}"
