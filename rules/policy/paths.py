"""Paths of a monorepo: folders below the root of the repository, and the faults of a name."""

import re
from collections.abc import Iterator

from rules.policy.messages import locate
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
        said = "files outside these paths have no checks: give the repository's `validation`, or write none"
        yield locate(written, at, said)
    seen: dict[str, str] = {}
    for name, path in rules.paths.items():
        if problem := folder_problem(folder(name)):
            yield locate(written, (*at, name), problem)
        twin = seen.setdefault(folder(name).casefold(), name)
        if twin != name:
            yield locate(written, (*at, name), f"differs from {code(twin)} only in case or a trailing slash")
        where = folder(path.working_directory)
        if where not in ("", ROOT) and (problem := folder_problem(where)):
            yield locate(written, (*at, name, "working_directory"), problem)
        if not (path.validation.fast or path.validation.full):
            said = (
                "has no checks, so its files would not be checked: add `fast` or `full`, or remove the path"
            )
            yield locate(written, (*at, name, "validation"), said)


def folder_problem(name: str) -> str:
    """Return why this is no folder below the repository's root; empty when it may be one."""
    parts = name.split("/")
    if name.startswith(("/", "~")) or _DRIVE.match(name):
        return "is absolute: give the folder relative to the repository's root"
    if ".." in parts:
        return "contains `..`: give the folder relative to the repository's root"
    if "" in parts or ROOT in parts or "\\" in name or name != name.strip() or not name.isprintable():
        return "is not a folder below the root: write it as git does, such as `services/api`"
    if parts[0].casefold() == ".git":
        return "is git's own folder, which no commit contains: remove it"
    if _PATTERN.search(name):
        return "is a pattern: list each folder"
    return ""
