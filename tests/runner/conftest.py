"""What the runner's tests share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.git.mirror import Mirror
from tests.runner.world import REPOSITORY, World, copy_world, make_world


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a world that every test gets a copy of: made once, since most tests want one.

    Its mirror has the repository already.
    """
    root = tmp_path_factory.mktemp("template")
    new_world = make_world(root, files={"README.md": "A shop.\n"})
    Mirror(new_world.places.mirrors, REPOSITORY, new_world.remote, lambda: None).fetch("main")
    new_world.engine.dispose()
    return root


@pytest.fixture
def world(tmp_path: Path, template: Path) -> Iterator[World]:
    """Return a world whose repository holds a README."""
    new_world = copy_world(template, tmp_path)
    yield new_world
    new_world.engine.dispose()
