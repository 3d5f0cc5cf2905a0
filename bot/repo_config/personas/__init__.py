"""The personas that Cardinal brings along: one Markdown file each, as a repository would write them."""

from functools import cache
from importlib import resources

_SUFFIX = ".md"


@cache
def names() -> tuple[str, ...]:
    """Return the names of the built-in personas."""
    files = (entry.name for entry in resources.files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in files if name.endswith(_SUFFIX)))


def text(name: str) -> str:
    """Return the file of a built-in persona, one of `names`."""
    return resources.files(__name__).joinpath(f"{name}{_SUFFIX}").read_text(encoding="utf-8")
