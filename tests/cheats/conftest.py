"""What the cheats share: a shop with tests of its own, which its policy's checks run."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cheats.shop import FILES, prepare
from tests.runner.world import World, copy_world, make_world


@pytest.fixture(scope="session")
def shop_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a world with the shop, made once: every test gets a copy."""
    root = tmp_path_factory.mktemp("shop")
    made = make_world(root, files=FILES)
    prepare(made)
    made.engine.dispose()
    return root


@pytest.fixture
def world(tmp_path: Path, shop_template: Path) -> Iterator[World]:
    """Return a world whose repository is the shop."""
    made = copy_world(shop_template, tmp_path)
    yield made
    made.engine.dispose()
