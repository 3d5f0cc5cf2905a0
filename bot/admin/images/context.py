"""Folder that images are built in: their recipes and Cardinal's packages, from wherever this is installed."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from ledger.errors import CardinalError

NAMES = ("agent", "browser", "cardinal", "postgres")
LIMIT_S = 2 * 3600
RECIPES = Path(__file__).with_name("recipes")
COMPOSE_FILE = RECIPES / "docker/compose.yml"
PACKAGES = ("bot", "ledger", "rules", "runner")


class NoRecipesError(CardinalError):
    """This installation carries no image recipes: it is itself an image."""

    def __init__(self) -> None:
        super().__init__("this Cardinal runs in an image and cannot build images: run this on its host")


def script(name: str) -> Path:
    """Return the path of a script that the recipes carry. Raises NoRecipesError."""
    path = RECIPES / "scripts" / name
    if not path.is_file():
        raise NoRecipesError
    return path


def copy_to(folder: Path) -> None:
    """Copy everything that an image can be made of into the new folder."""
    shutil.copytree(RECIPES, folder)
    for package in PACKAGES:
        left_out = shutil.ignore_patterns("__pycache__", RECIPES.name)
        shutil.copytree(Path(__file__).parents[3] / package, folder / package, ignore=left_out)


def build(names: Sequence[str], settings: Mapping[str, str]) -> int:
    """Build images with these settings of scripts/images; return its exit code. Raises NoRecipesError."""
    original = script("images").resolve()
    with tempfile.TemporaryDirectory(prefix="cardinal-images-") as scratch:
        folder = Path(scratch, "context")
        copy_to(folder)
        # One build at a time, over all copies: they lock the original.
        lock = {"IMAGES_LOCK": os.environ.get("IMAGES_LOCK", str(original))}
        return subprocess.run(
            ["bash", str(folder / "scripts/images"), *names],
            env={**os.environ, **lock, **settings},
            timeout=LIMIT_S,
            check=False,
        ).returncode
