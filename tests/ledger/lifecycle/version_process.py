"""A process of any version of the ledger's code: `python version_process.py URL` in that version's folder.

It does what a line of its input says, and answers with one line.
"""

import os
import signal
import sys
from datetime import UTC, datetime

from sqlalchemy import event as engine_event
from sqlalchemy import text

sys.path[0] = os.getcwd()

from ledger.db.tables import VIEWS
from ledger.errors import CardinalError
from ledger.events.board import CardSeen
from ledger.events.run import PlanProposed, RunQueued
from ledger.ids import CardId, RunId
from ledger.lifecycle.open import open_ledger
from ledger.lifecycle.rebuild import rebuild
from ledger.log import event_store
from ledger.states import CardState
from ledger.views import plans


class Process:
    """One ledger, opened once."""

    def __init__(self, url):
        self.url, self.engine = url, None

    def open(self):
        self.engine = open_ledger(self.url)
        return "open"

    def upgrade(self):
        """Open it; with every page that is folded, answer how far it is and wait for a line."""

        def wait(position, last):
            answer(f"folded {position} of {last}")
            sys.stdin.readline()

        self.engine = open_ledger(self.url, progress=wait)
        return "open"

    def die_at(self, sign):
        """Open it, and be killed by the first statement that begins so."""
        from ledger.lifecycle import open as opening

        def watch(_db, _cursor, statement, *_rest):
            if statement.strip().startswith(sign):
                os.kill(os.getpid(), signal.SIGKILL)

        made = opening.connect

        def connect(*words, **settings):
            engine = made(*words, **settings)
            engine_event.listen(engine, "before_cursor_execute", watch)
            return engine

        opening.connect = connect
        return self.open()

    def append(self, count):
        run = RunId("r1")
        with event_store.writing(self.engine) as db:
            number = event_store.last_seq(db)
            story = [] if number else [
                CardSeen(CardId("c1"), "b1", "I1", "acme/app", 1, "One", "Body", "ann", "Doing", CardState.QUEUED),
                RunQueued(run, CardId("c1"), 1, "first", "Doing", "acme/app", "b", "scripted", "ann", "", "{}", True),
            ]  # fmt: skip
            story += [
                PlanProposed(run, number + n, "plan", ("a", "b")) for n in range(int(count) - len(story))
            ]
            event_store.append(db, *story, at=datetime.now(UTC))
            return f"at {event_store.last_seq(db)}"

    def read(self):
        with event_store.reading(self.engine) as db:
            return f"plans {len(plans.of_run(db, RunId('r1')))}"

    def replay(self):
        """Answer whether the views are what a replay makes of the events."""
        before = self._contents()
        count = rebuild(self.engine)
        return f"{'same' if self._contents() == before else 'different'} {count}"

    def _contents(self):
        with event_store.reading(self.engine) as db:
            return {
                name: sorted(map(repr, db.execute(text(f"SELECT * FROM {table.name}"))))
                for name, table in VIEWS.tables.items()
            }


def answer(line):
    print(line, flush=True)


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
