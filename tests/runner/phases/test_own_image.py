"""The files that a devcontainer.json names are those of the default branch's commit."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner.errors import ImageBuildError
from runner.phases.own_image import with_own_image
from runner.run.run_spec import ImageRecipe
from tests.runner.world import make_world

RECIPE = ImageRecipe(".devcontainer.json", dockerfile="image/Dockerfile", context="image")


@pytest.mark.parametrize(
    "changed",
    [{"dockerfile": "Dockerfile"}, {"dockerfile": "image"}, {"context": "gone"}, {"context": "app.py"}],
)
def test_files_that_are_not_there_are_named(tmp_path: Path, changed: dict[str, Any]) -> None:
    world = make_world(tmp_path, files={"image/Dockerfile": "FROM a\n", "app.py": ""})
    spec, log = world.claim(world.spec(recipe=replace(RECIPE, **changed), base=world.head("main")))
    with pytest.raises(ImageBuildError, match="is not on the default branch"):
        with_own_image(spec, log, world.remote)
