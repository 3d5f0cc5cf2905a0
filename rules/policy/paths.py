"""Paths of a monorepo: folders below the root of the repository, and the faults of a name."""

import re
from collections.abc import Iterator

from rules.policy.messages import located
from rules.policy.repository import ROOT, RepositoryRules, folder
from rules.policy.yaml_reader import Path, Written
from rules.text import code

_DRIVE = re.compile(r"[A-Za-z]:")
_PATTERN = re.compile(r"[*?\[\]]")


def path_problems(rules: RepositoryRules, written: Written, at: Path) -> Iterator[str]:
    """Yield a sentence for each path that is no folder below the root, is there twice, or has no checks.

    `at` is where the paths are in the file.
    """
    if rules.paths and not (rules.waived or rules.checked):
        said = "files outside of these paths have no checks: name the repository's `validation`, or say none"
        yield located(written, at, said)
    seen: dict[str, str] = {}
    for name, path in rules.paths.items():
        if problem := folder_problem(folder(name)):
            yield located(written, (*at, name), problem)
        twin = seen.setdefault(folder(name).casefold(), name)
        if twin != name:
            yield located(
                written, (*at, name), f"differs from {code(twin)} only by case, or a slash at the end"
            )
        where = folder(path.working_directory)
        if where not in ("", ROOT) and (problem := folder_problem(where)):
            yield located(written, (*at, name, "working_directory"), problem)
        if not (path.validation.fast or path.validation.full):
            said = (
                "names no checks, so its files would skip all: name `fast` or `full`, or leave the path out"
            )
            yield located(written, (*at, name, "validation"), said)


def folder_problem(name: str) -> str:
    """Return why this is no folder below the repository's root; empty when it may be one."""
    parts = name.split("/")
    if name.startswith(("/", "~")) or _DRIVE.match(name):
        return "is absolute: name the folder from the repository's root on"
    if ".." in parts:
        return "leads out with `..`: name the folder from the repository's root on"
    if "" in parts or ROOT in parts or "\\" in name or name != name.strip() or not name.isprintable():
        return "is no folder below the root: write it as git does, `services/api`"
    if parts[0].casefold() == ".git":
        return "is git's own folder: no commit has files in it"
    if _PATTERN.search(name):
        return "is a pattern: name each folder"
    return ""
