"""A card's timeline: words of people are whole, within a bound; of what programs do a line is enough."""

import pytest

from ledger.event import Event
from ledger.events.conversation import PersonSaid
from ledger.events.run import Progressed, RunSteered
from ledger.queries import timeline
from tests.ledger.samples import CARD, NOW, RUN


@pytest.mark.parametrize(
    ("event", "length"),
    [
        (PersonSaid(CARD, 1, "issue", "ann", True, "x" * 3000), len("ann: ") + 3000),
        (PersonSaid(CARD, 1, "issue", "ann", True, "x" * 5000), 4000),
        (RunSteered(RUN, "ann", "x" * 3000, 1), len("ann to the agent: ") + 3000),
        (Progressed(RUN, "x" * 999), 500),
    ],
)
def test_words_of_people_are_whole_and_progress_is_cut(event: Event, length: int) -> None:
    assert len(timeline.event_line(CARD, 1, NOW, event).text) == length
