"""`python -m tests.hosts PLAY FOLDER`: plays one of the plays, alone in its namespaces."""

import sys
from pathlib import Path

from ledger.log import event_store
from tests.hosts import power, seen, site, storm, story, versions
from tests.hosts.people import ALL

PLAYS = {
    "power": (power.play, power.shape),
    "seen": (seen.play, seen.shape),
    "storm": (storm.play, site.Shape),
    "story": (story.play, site.Shape),
    "versions": (versions.play, versions.shape),
}
_, name, folder = sys.argv
play, shape = PLAYS[name]
with site.running(Path(folder), shape()) as place:
    try:
        play(place)
    finally:
        with event_store.reading(place.engine) as db, (Path(folder) / "events.txt").open("w") as log:
            for one in event_store.read(db, limit=ALL):
                print(f"{one.seq} {one.at:%H:%M:%S.%f} {one.stream} {one.event}", file=log)
