"""What lies beside a policy file on this disk: profiles, personas and skills, and what is wrong with them."""

from collections.abc import Iterator
from pathlib import Path

from bot.repo_config import persona_files, profiles, skills
from bot.repo_config.skill_sources import PrivateShelf
from rules.errors import PersonaError, PolicyError
from rules.policy.messages import capped
from rules.policy.persona import MAX_BYTES, parse_persona
from rules.policy.stages import is_persona
from rules.runs.skills import REPOSITORY

_SUFFIX = ".md"


def own_profiles(file: Path) -> tuple[str, ...]:
    """Return the names of the repository's own profiles, which lie beside its policy file."""
    return _names(_shelf(file), "profiles")[: profiles.MAX_OWN]


def problems(file: Path) -> tuple[str, ...]:
    """Return a sentence for each mistake that fails a run: in a profile of the repository, or a persona."""
    return capped((*_of_profiles(file), *_of_personas(file)))


def hints(file: Path) -> tuple[str, ...]:
    """Return a sentence for each skill that no run gets as it is; a run goes on without it."""
    here = PrivateShelf(_root(file) / "skills", source=REPOSITORY)
    return tuple(
        f"{here.root / one.name}: every run skips this skill: {one.problem}" for one in skills.unusable(here)
    )


def _of_profiles(file: Path) -> Iterator[str]:
    shelf = _shelf(file)
    for name in own_profiles(file):
        path = f"profiles/{name}{_SUFFIX}"
        try:
            profiles.parsed(str(shelf.root / path), shelf.read(path, profiles.PROFILE_BYTES))
        except PolicyError as error:
            yield from error.problems


def _of_personas(file: Path) -> Iterator[str]:
    shelf = _shelf(file)
    named = (name for name in _names(shelf, "personas") if is_persona(name))
    for name in [*named][: persona_files.MAX]:
        path = f"personas/{name}{_SUFFIX}"
        raw = shelf.read(path, MAX_BYTES)
        if raw is None:
            yield f"{shelf.root / path}: it is no plain file of at most {MAX_BYTES} bytes"
            continue
        try:
            parse_persona(name, raw.decode("utf-8-sig"))
        except UnicodeDecodeError:
            yield f"{shelf.root / path}: the file is not UTF-8"
        except PersonaError as error:
            yield from (f"{shelf.root / path}: {one}" for one in error.problems)


def _names(shelf: PrivateShelf, folder: str) -> tuple[str, ...]:
    """Return what Markdown files are called, as GitHub lists them: what is a link there is none of them."""
    listed = (one.name for one in shelf.listing(folder) if one.kind == "file")
    return tuple(name.removesuffix(_SUFFIX) for name in listed if name.endswith(_SUFFIX))


def _shelf(file: Path) -> PrivateShelf:
    return PrivateShelf(_root(file), source=REPOSITORY)


def _root(file: Path) -> Path:
    return file.parent / "cardinal"
