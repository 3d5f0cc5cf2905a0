"""The published descriptions for the tests that ask for them by name."""

import pytest

from tests.published import fetching
from tests.published.court import Court


@pytest.fixture
def published(court: Court) -> Court:
    """Return the judge with its descriptions."""
    if not fetching.here():
        pytest.skip(fetching.MISSING)
    return court
