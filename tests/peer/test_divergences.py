"""Every known divergence is as it was: the forge does as GitHub does, the peer as was noted of it."""

import pytest

from tests.peer.divergences import ROWS, Divergence
from tests.peer.side import Side

NAMES = [row.what for row in ROWS]


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_the_forge_does_as_github_documents(row: Divergence, forge: Side) -> None:
    assert row.see(forge) == row.github, f"{row.what}: see {row.source}"


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_the_peer_differs_as_it_is_known_to(row: Divergence, peer: Side) -> None:
    found = row.see(peer)
    assert found != row.github, f"{row.what}: the peer does as GitHub does now, so take the row out"
    assert found == row.peer, f"{row.what}: the peer differs in another way now"


def test_every_divergence_has_a_name_of_its_own_and_a_source() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert all(row.source and row.github != row.peer for row in ROWS)
