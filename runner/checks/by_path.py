"""Checks of a monorepo by path: which of them a commit needs, by the files that it changes."""

import shlex
from collections.abc import Collection, Iterable
from dataclasses import replace

from runner.git.mirror import Mirror
from runner.run.run_spec import PathSpec, ValidationSpec

ROOT = "."


def checks_of(mirror: Mirror, validation: ValidationSpec, base: str, head: str) -> ValidationSpec:
    """Return the set-up and checks that the commit `head` needs, by its difference from where it left `base`.

    A file that was moved counts where it was and where it is. Raises GitError.
    """
    if not validation.paths:
        return validation
    changed = mirror.diff(base, head).paths
    return select_checks(validation, changed, _folders(mirror, head, _places(validation)))


def set_up_of(mirror: Mirror, validation: ValidationSpec, commit: str) -> tuple[str, ...]:
    """Return all set-up of the repository at a commit: its own, then that of each path that is there."""
    if not validation.paths:
        return validation.setup
    here = _folders(mirror, commit, _places(validation))
    path_specs = (path for path in validation.paths if not _first_missing_folder(path, here))
    return (*validation.setup, *_flat(_in(path, path.setup) for path in path_specs))


def all_lines(validation: ValidationSpec) -> tuple[str, ...]:
    """Return every shell line that the policy may run."""
    of_paths = _flat(_in(path, (*path.setup, *path.fast, *path.full)) for path in validation.paths)
    return (*validation.setup, *validation.fast, *validation.full, *of_paths)


def describe_paths(validation: ValidationSpec) -> str:
    """Return the agent's text about paths and their checks; empty without paths."""
    if not validation.paths:
        return ""
    rows = [(f"`{path.path}`", _in(path, (*path.fast, *path.full))) for path in validation.paths]
    rows.append(("files in none of these", (*validation.fast, *validation.full)))
    return "\n".join(
        (
            "The files that you change decide which checks run: those of the deepest of these folders."
            " A file that you move counts where it was, too. None of them may be removed, or become a link.",
            *(
                f"- {name}: {', then '.join(f'`{line}`' for line in lines) or 'no checks'}"
                for name, lines in rows
            ),
        )
    )


def covering(changed: Iterable[str], paths: Collection[str]) -> frozenset[str]:
    """Return the deepest of `paths` that holds each changed file, `.` for a file in none, and for no file."""
    return frozenset(_deepest(file, paths) for file in changed) or frozenset({ROOT})


def _deepest(file: str, paths: Collection[str]) -> str:
    """Return the longest path that is the file, or a folder above it."""
    return max((path for path in paths if f"{file}/".startswith(f"{path}/")), key=len, default=ROOT)


def select_checks(
    validation: ValidationSpec, changed: Iterable[str], folders: Collection[str]
) -> ValidationSpec:
    """Return the lines for these changed files; `folders` are those that are there.

    A path without full checks has its fast ones in the gate, as everywhere. The repository's own set-up comes
    first, always. A path whose folder is gone, or is a link, cannot be checked: that fails.
    """
    wanted = covering(changed, [path.path for path in validation.paths])
    needed = [path for path in validation.paths if path.path in wanted]
    path_specs = [path for path in needed if not _first_missing_folder(path, folders)]
    own = ROOT in wanted
    rows = [(validation.fast, validation.full)] if own else []
    rows += [(_in(path, path.fast), _in(path, path.full)) for path in path_specs]
    rows += [((), (_refusal(path, folders),)) for path in needed if path not in path_specs]
    gated = any(full for _, full in rows)
    return replace(
        validation,
        setup=(*validation.setup, *_flat(_in(path, path.setup) for path in path_specs)),
        fast=_flat(fast for fast, full in rows if full or not gated),
        full=_flat(full or fast for fast, full in rows) if gated else (),
        waived=validation.waived and not needed,
        paths=(),
        covers=(*((ROOT,) if own else ()), *(path.path for path in needed)),
    )


def _first_missing_folder(path: PathSpec, folders: Collection[str]) -> str:
    """Return the first of its folders that is not there, or nothing."""
    return next((place for place in (path.path, path.directory) if place not in folders), "")


def _refusal(path: PathSpec, folders: Collection[str]) -> str:
    """Return a shell line that fails, and says why."""
    said = (
        f"{_first_missing_folder(path, folders)} is not a folder at this commit, so the checks of {path.path}"
        " cannot run: put it back, or ask people to change `paths` in the policy on the default branch first"
    )
    return f"echo {shlex.quote(said)} >&2; exit 1"


def _in(path: PathSpec, lines: Iterable[str]) -> tuple[str, ...]:
    """Return shell lines that run in the path's directory."""
    if path.directory == ROOT:
        return tuple(lines)
    return tuple(f"cd {shlex.quote(path.directory)} || exit; {line}" for line in lines)


def _flat(rows: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """Return all lines, each once: two paths may share a check."""
    return tuple(dict.fromkeys(line for row in rows for line in row))


def _places(validation: ValidationSpec) -> tuple[str, ...]:
    return tuple(dict.fromkeys(place for path in validation.paths for place in (path.path, path.directory)))


def _folders(mirror: Mirror, commit: str, names: Collection[str]) -> frozenset[str]:
    """Return those of `names` that are folders at the commit, `.` for the root; a link is none."""
    queries = "".join(f"{commit}:{'' if name == '.' else name}\n" for name in names)
    kinds = mirror.query("cat-file", "--batch-check=%(objecttype)", given=queries.encode()).splitlines()
    return frozenset(name for name, kind in zip(names, kinds, strict=True) if kind == "tree")
