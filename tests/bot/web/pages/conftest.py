"""Cardinal's pages with a public address."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bot.flows.opening import opened
from tests.bot.web.pages.world import PUBLIC, Pages


@pytest.fixture
def pages(tmp_path: Path) -> Iterator[Pages]:
    with opened(tmp_path, public_url=PUBLIC) as cardinal:
        yield Pages.over(cardinal)
