"""A process of any version of the ledger's code: `python version_process.py URL` in that version's folder.

It does what a line of its input says, and answers with one line.
"""

import os
import signal
import sys
from datetime import UTC, datetime
from functools import partial

from sqlalchemy import Connection, Engine, text
from sqlalchemy import event as engine_event

from ledger.db.tables import VIEWS
from ledger.errors import CardinalError
from ledger.event import Event
from ledger.events.board import CardSeen
from ledger.events.run import PlanProposed, RunQueued
from ledger.ids import BoardId, CardId, RunId
from ledger.lifecycle.open import open_ledger
from ledger.lifecycle.rebuild import rebuild
from ledger.log import event_store
from ledger.states import CardState
from ledger.views import plans


class Process:
    """One ledger at a time, opened once."""

    engine: Engine

    def __init__(self, url: str) -> None:
        self.url = url

    def turn_to(self, url: str) -> str:
        """Go on with another ledger."""
        self.url = url
        return "turned"

    def open(self) -> str:
        """Open it."""
        self.engine = open_ledger(self.url)
        return "open"

    def upgrade(self) -> str:
        """Open it; with every page that is folded, answer how far it is and wait for a line."""

        def wait(position: int, last: int) -> None:
            answer(f"folded {position} of {last}")
            sys.stdin.readline()

        self.engine = open_ledger(self.url, progress=wait)
        return "open"

    def upgrade_with_copy(self) -> str:
        """Open it, with a copy of before; answer what is said of that."""
        from ledger.lifecycle import upgrade_backup

        said: list[str] = []
        self.engine = open_ledger(self.url, before=partial(upgrade_backup.back_up, say=said.append))
        return " ".join(said)

    def die_at(self, sign: str) -> str:
        """Open it, and be killed by the first statement that begins so."""
        from ledger.lifecycle import open as opening

        def watch(_db: Connection, _cursor: object, statement: str, *_rest: object) -> None:
            if statement.strip().startswith(sign):
                os.kill(os.getpid(), signal.SIGKILL)

        made = opening.connect

        def connect(url: str, *, durable: bool, answer_s: float) -> Engine:
            engine = made(url, durable=durable, answer_s=answer_s)
            engine_event.listen(engine, "before_cursor_execute", watch)
            return engine

        opening.connect = connect  # type: ignore[assignment]
        return self.open()

    def append(self, count: str | int) -> str:
        """Append so many events."""
        card, run = CardId("c1"), RunId("r1")
        with event_store.writing(self.engine) as db:
            number = event_store.last_seq(db)
            story: list[Event] = [] if number else [
                CardSeen(card, BoardId("b1"), "I1", "acme/app", 1, "A", "", "ann", "Doing", CardState.QUEUED),
                RunQueued(run, card, 1, "first", "Doing", "acme/app", "b", "scripted", "ann", "", "{}", True),
            ]  # fmt: skip
            more = range(int(count) - len(story))
            story += [PlanProposed(run, number + n, "plan", ("a", "b")) for n in more]
            event_store.append(db, *story, at=datetime.now(UTC))
            return f"at {event_store.last_seq(db)}"

    def read(self) -> str:
        """Answer how many plans there are."""
        with event_store.reading(self.engine) as db:
            return f"plans {len(plans.of_run(db, RunId('r1')))}"

    def replay(self) -> str:
        """Answer whether the views are what a replay makes of the events."""
        before = self._contents()
        count = rebuild(self.engine)
        return f"{'same' if self._contents() == before else 'different'} {count}"

    def _contents(self) -> dict[str, list[str]]:
        with event_store.reading(self.engine) as db:
            return {
                name: sorted(map(repr, db.execute(text(f"SELECT * FROM {table.name}"))))
                for name, table in VIEWS.tables.items()
            }


def answer(line: str) -> None:
    """Print a line."""
    print(line, flush=True)


def die_at(url: str, sign: str) -> None:
    """Be a process of this version that is killed by the first statement that begins so."""
    Process(url).die_at(sign)


if __name__ == "__main__":
    process = Process(sys.argv[1])
    for line in iter(sys.stdin.readline, ""):
        word, *values = line.strip().split(" ", 1)
        try:
            answer(getattr(process, word)(*values))
        except CardinalError as error:
            answer(f"{type(error).__name__}: {error}")
        except Exception as error:
            answer(f"{type(error).__name__}: {' '.join(str(error).split())}")
