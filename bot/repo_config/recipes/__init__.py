"""Recipes: whole boards to start from. Each is a policy file beside this one, shown in the docs too."""

from functools import cache
from importlib import resources

_SUFFIX = ".yml"


@cache
def list_recipes() -> tuple[str, ...]:
    """Return the names of the recipes, in alphabetical order."""
    files = (entry.name for entry in resources.files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in files if name.endswith(_SUFFIX)))


def read_recipe(name: str) -> str:
    """Return the policy file of one of the names; its first line is a comment with what it is for."""
    return resources.files(__name__).joinpath(f"{name}{_SUFFIX}").read_text(encoding="utf-8")


def recipe_title(text: str) -> str:
    """Return what a recipe is for, as its first line says."""
    return text.partition("\n")[0].removeprefix("# ")
