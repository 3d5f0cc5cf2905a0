"""`python -m tests.bench.yardstick_adapter.github FILE`: the GitHub of all replicas of a run.

It runs until SIGTERM. The file, whose name goes into YARDSTICK_GITHUB, tells each replica how to be its App.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

from forge.demo.people import REPOSITORY, Team
from forge.stopping import stop_event, wait_for_stop
from tests.bench.figures import say
from tests.bench.world import forge

VARIABLE = "YARDSTICK_GITHUB"
CARDS = 100  # so that a card's comments are no flood
PERSON = "alice"


@contextmanager
def running(file: Path, cards: int = CARDS) -> Iterator[None]:
    """Run it until the block ends: a board with so many cards at rest, whose App has no webhook."""
    with forge(file.parent) as url:
        made = requests.post(f"{url}/_forge/seed", json={"name": "demo", "agent": "scripted"}, timeout=60)
        made.raise_for_status()
        team = Team(url)
        about = {
            "url": url,
            "app": made.json(),
            "repository": REPOSITORY,
            "person": {"login": PERSON, "id": team.call(PERSON, "GET", "/user")["id"]},
            "issues": [
                team.new_card("carol", f"Measured card {n}", "Nothing.", "Tasks") for n in range(cards)
            ],
        }
        file.write_text(json.dumps(about), encoding="utf-8")
        yield


def main() -> None:
    """Run it until SIGTERM."""
    stopping, file = stop_event(), Path(sys.argv[1]).absolute()
    with running(file):
        say(f"{VARIABLE}={file}")
        wait_for_stop(stopping)


if __name__ == "__main__":
    main()
