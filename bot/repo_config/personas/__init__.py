"""Personas: the built-in ones beside this file, and those of a repository at one commit."""

from functools import cache
from importlib import resources

from bot.github.api import contents
from bot.github.client import Hub, repository_path
from bot.repo_config.policy_file import text_of
from rules.policy.stages import is_persona

FOLDER = ".github/cardinal/personas"
MAX = 100  # of a repository; a folder with more of them is no list for people
_SUFFIX = ".md"


@cache
def list_built_in() -> tuple[str, ...]:
    """Return the names of the built-in personas."""
    files = (entry.name for entry in resources.files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in files if name.endswith(_SUFFIX)))


def read_built_in(name: str) -> str:
    """Return the file of a built-in persona, one of `names`."""
    return resources.files(__name__).joinpath(f"{name}{_SUFFIX}").read_text(encoding="utf-8")


def own_names(hub: Hub, repository: str, commit: str) -> tuple[str, ...]:
    """Return the names of the repository's personas at `commit`, without folders, links and other files."""
    files = (
        entry.name for entry in contents.entries(hub, repository, FOLDER, commit) if entry.kind == "file"
    )
    stems = (name.removesuffix(_SUFFIX) for name in files if name.endswith(_SUFFIX))
    return tuple(name for name in stems if is_persona(name))[:MAX]


def own_text(hub: Hub, repository: str, commit: str, name: str) -> str:
    """Return the file of one persona of `own_names`. Raises NotFoundError."""
    path = f"{repository_path(repository)}/contents/{FOLDER}/{name}{_SUFFIX}"
    return text_of(hub.rest("GET", path, params={"ref": commit}).body)
