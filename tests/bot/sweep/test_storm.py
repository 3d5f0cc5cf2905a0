"""A storm of deliveries, doubled, lost and in full disorder, ends where the quiet order ends."""

from pathlib import Path

from tests.bot.core.cardinal import Cardinal
from tests.bot.sweep import storm

SIZE = 1_000  # the bench plays ten thousand


def test_a_storm_ends_in_the_same_state_as_the_quiet_order(cardinal: Cardinal, tmp_path: Path) -> None:
    played = storm.play(cardinal, tmp_path / "stormy", size=SIZE, seed=20_261_122)
    assert played.lost > 0.03 * SIZE
    assert played.sent > played.deliveries - played.lost
    assert played.stormy == played.quiet
    assert played.quiet["inbox"] == {}
    assert len(played.quiet["cards"]) > SIZE // 50
