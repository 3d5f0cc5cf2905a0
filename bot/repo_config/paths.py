"""Paths of a monorepo, as the policy names them and as the files of a clone have them."""

from collections.abc import Iterator
from pathlib import Path

from rules.policy.messages import locate
from rules.policy.repository import RepositoryRules, folder
from rules.policy.yaml_reader import read


def links(root: Path, text: str, rules: RepositoryRules) -> Iterator[str]:
    """Yield a sentence for each path of the policy `text` that is a link: no gate goes there."""
    for where, place in _places(rules):
        if any(part.is_symlink() for part in _parts(root, place)):
            said = "is a link here, or below one: name the folder it points to"
            yield locate(read(text), where, said)


def missing(root: Path, text: str, rules: RepositoryRules) -> Iterator[str]:
    """Yield a sentence for each path that is no folder of the clone."""
    for where, place in _places(rules):
        if not (root / place).is_dir():
            yield locate(read(text), where, "is not a folder here: check upper and lower case")


def _places(rules: RepositoryRules) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield each folder that the policy names, with where it does."""
    for name, path in rules.paths.items():
        yield ("repository", "paths", name), folder(name)
        if path.working_directory:
            yield ("repository", "paths", name, "working_directory"), folder(path.working_directory)


def _parts(root: Path, place: str) -> Iterator[Path]:
    for part in place.split("/"):
        root = root / part
        yield root
