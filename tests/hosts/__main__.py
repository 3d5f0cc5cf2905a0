"""`python -m tests.hosts PLAY FOLDER`: plays story or storm, alone in its namespaces."""

import sys
from pathlib import Path

from ledger.log import event_store
from tests.hosts import site, storm, story
from tests.hosts.people import ALL

PLAYS = {"story": story.play, "storm": storm.play}
_, name, folder = sys.argv
with site.running(Path(folder)) as place:
    try:
        PLAYS[name](place)
    finally:
        with event_store.reading(place.engine) as db, (Path(folder) / "events.txt").open("w") as log:
            for one in event_store.read(db, limit=ALL):
                print(f"{one.seq} {one.at:%H:%M:%S.%f} {one.stream} {one.event}", file=log)
