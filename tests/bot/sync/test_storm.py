"""A storm of deliveries, doubled, lost and in full disorder, ends where the quiet order ends."""

from pathlib import Path

import pytest

from tests.bot.flows.cardinal import Cardinal
from tests.bot.sync import storm


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "size", [200, pytest.param(1_000, marks=pytest.mark.soak)]
)  # the bench: ten thousand
def test_a_storm_ends_in_the_same_state_as_the_quiet_order(
    cardinal: Cardinal, tmp_path: Path, size: int
) -> None:
    """All views and the outbox are compared to the letter, but for times and numbers: see `storm._digest`.

    The quiet order is told when all is done, as the storm is. Had it been told of each thing at once, it
    would know more: a card that passed through In Progress had its run for a moment, and nobody can ask
    GitHub where a card stood an hour ago.
    """
    played = storm.play(cardinal, tmp_path / "stormy", size=size, seed=20_261_122)
    assert played.lost > 0.02 * size
    assert played.sent > played.deliveries - played.lost
    assert played.differing() == []
    assert played.quiet["inbox"] == {}
    for name in ("view_cards", "view_messages", "view_givers", "view_runs", "outbox"):
        assert played.quiet[name], f"nothing to compare in {name}"
    assert played.quiet["view_cards"].total() > size // 50
