"""`python -m tests.bot.reactor.releases RELEASE`: records the ledgers of a release from today's code."""

import sys
import tempfile
from pathlib import Path

from bot.github.transport import Wire
from tests import near
from tests.bot.flows.opening import opened
from tests.bot.reactor import releases
from tests.faults import playing
from tests.faults.points import World, installed
from tests.faults.stories import STORIES

# They run without an agent, so their ledgers have no times of programs in them.
NAMES = ("planning", "leaving", "revision", "dependency", "commands")


def record(name: str) -> releases.Story:
    """Play a story and keep its ledger."""
    world = World()
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder)) as cardinal, installed(world):
        cardinal.clock.stop()
        seen = cardinal.count()  # what was decided before was decided in another process
        with releases.recorded_moments() as moments:
            playing.perform(cardinal, STORIES[name], world)
        assert all(moment.seq > seen for moment in moments)
        return releases.story_of(name, cardinal.services.engine, moments)


if __name__ == "__main__":
    Wire.requester = staticmethod(near.requester)
    releases.write(sys.argv[1], tuple(map(record, NAMES)))
