"""Personas: files of a repository at one commit, of the operator, and the built-in ones beside this file."""

from collections.abc import Iterator
from functools import cache
from importlib import resources

from bot.bootstrap import Services
from bot.github.api import repositories
from bot.github.api.contents import FolderEntry
from bot.repo_config.skill_sources import Shelf, folder_shelf, repository_shelf
from bot.repo_config.skills import private_folders
from rules.errors import PersonaError
from rules.policy.markdown.persona import MAX_BYTES, Persona, parse_persona
from rules.policy.stages import is_persona

FOLDER = ".github/cardinal/personas"
BUILT_IN = "built in"
MAX = 100  # of one place; a folder with more of them is no list for people
_SUFFIX = ".md"


@cache
def list_built_in() -> tuple[str, ...]:
    """Return the names of the built-in personas."""
    files = (entry.name for entry in resources.files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in files if name.endswith(_SUFFIX)))


def read_built_in(name: str) -> str:
    """Return the file of a built-in persona, one of `names`."""
    return resources.files(__name__).joinpath(f"{name}{_SUFFIX}").read_text(encoding="utf-8")


def list_places(services: Services, repository: str, commit: str, home: str) -> Iterator[Shelf]:
    """Yield where a card's personas are looked for, in order: its repository at `commit`, the default branch
    of the board's home, the operator's folders, those that are built in.

    Raises a GithubError when the home cannot be read.
    """
    hub = services.hub
    yield repository_shelf(hub, repository, commit, FOLDER, repository)
    if home and home.casefold() != repository.casefold():
        yield repository_shelf(hub, home, repositories.base(hub, home).commit, FOLDER, home)
    yield from map(folder_shelf, reversed(private_folders(services.config, services.board.owner)))
    yield Shelf(BUILT_IN, _list_files_built_in, _read_file_built_in)


def _list_files_built_in(_path: str) -> tuple[FolderEntry, ...]:
    return tuple(FolderEntry(f"{name}{_SUFFIX}", "file", 0) for name in list_built_in())


def _read_file_built_in(path: str, _most_bytes: int) -> bytes:
    return read_built_in(path.removesuffix(_SUFFIX)).encode()


def list_names(shelf: Shelf) -> tuple[str, ...]:
    """Return the names of the personas in one place, without folders, links and other files."""
    files = (entry.name for entry in shelf.listing("") if entry.kind == "file")
    stems = (name.removesuffix(_SUFFIX) for name in files if name.endswith(_SUFFIX))
    return tuple(name for name in stems if is_persona(name))[:MAX]


def read(shelf: Shelf, name: str) -> Persona:
    """Return one persona of `list_names`. Raises PersonaError; of a private one it quotes nothing."""
    raw = shelf.read(f"{name}{_SUFFIX}", MAX_BYTES)
    if raw is None:
        raise PersonaError((f"persona `{name}`: it must be a plain file of at most {MAX_BYTES} bytes",))
    try:
        return parse_persona(name, raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise PersonaError((f"persona `{name}`: the file is not UTF-8",)) from error
    except PersonaError as error:
        if shelf.is_private:
            raise PersonaError((f"persona `{name}` of the operator's folder cannot be used",)) from error
        raise
