"""Packages that a person has installed in a clone: checks see them, read-only, in place of a set-up."""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from glob import escape
from itertools import chain
from pathlib import Path, PurePosixPath

from ledger.lifecycle.in_place import put_in_place
from runner.agents.contract import Layout
from runner.errors import WorkspaceError
from runner.workspaces.bubblewrap import Bind

# Folders that Python takes modules from, below an environment. pip checks sources out in `src`.
_SITES = ("lib/python3*/site-packages", "lib/python3*/site-packages/*.egg", "src/*", "src/*/src")
_COPY = "{0} would be tested in place of the agent's files: start the board again, which says what to do"
_ENDINGS = (".py", ".pyc", ".so", ".json")


@dataclass(frozen=True, slots=True)
class Packages:
    """Folders of a clone that stand for the lines `setup` of a policy.

    `binds` are folders of the clone by where commands see them, below the workspace: `repo/node_modules`.
    `shown` are folders of the machine at their own paths, `covered` files that may hold passwords, `own` the
    modules for `find_copies`. Commands find the checkout at the clone's own path as well: packages name it,
    and mean the files that are checked.
    """

    clone: str
    binds: Mapping[str, str]
    setup: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    covered: tuple[str, ...] = ()
    own: tuple[str, ...] = ()


def write_packages(file: Path, packages: Packages) -> None:
    fresh = file.with_suffix(".new")
    fresh.write_text(json.dumps(asdict(packages), indent=1), encoding="utf-8")
    put_in_place(fresh, file)


def read_packages(file: Path | None) -> Packages | None:
    """Return what was written there; None without a file."""
    try:
        given = json.loads(file.read_text(encoding="utf-8")) if file else None
    except FileNotFoundError:
        return None
    if given is None:
        return None
    lists = {name: tuple(given[name]) for name in ("setup", "shown", "covered", "own")}
    return Packages(given["clone"], given["binds"], **lists)


def find_copies(clone: Path, folders: Collection[str], own: Collection[str]) -> Iterator[str]:
    """Yield copies of a repository's `own` modules in these folders of its clone.

    A link that leads out of the folders is none: it leads to the checkout.
    Modules are paths without an ending, such as `shop/__init__` in Python, and `shop/package` in Node.
    """
    tops = [clone / name for name in folders]
    for top in tops:
        for site in (top, *chain.from_iterable(top.glob(pattern) for pattern in _SITES)):
            there = {file.name.partition(".")[0] for file in site.iterdir()} if site.is_dir() else ()
            for module in own:
                if module.partition("/")[0].partition(".")[0] in there:
                    at = site / module
                    files = (
                        file for file in at.parent.glob(f"{escape(at.name)}.*") if file.suffix in _ENDINGS
                    )
                    for file in files:
                        real = file.resolve()
                        if any(real.is_relative_to(top) for top in tops):
                            yield str(file.relative_to(clone))


def binds_of(packages: Packages, root: Path, layout: Layout) -> Iterator[Bind]:
    """Yield the mounts for a workspace at `root`, where their places are made.

    Raises WorkspaceError where a folder is none any more, or got a copy of the repository's own modules: they
    were looked at when the board started.
    """
    tops = {"repo": layout.repo, "home": layout.home}
    copy = next(find_copies(Path(packages.clone), {*packages.binds.values()}, packages.own), None)
    if copy is not None:
        raise WorkspaceError("showing installed packages", _COPY.format(copy))
    for folder in packages.shown:
        yield Bind(Path(folder), folder)
    for place, name in packages.binds.items():
        source = Path(packages.clone, name)
        if source.resolve() != Path(packages.clone).resolve() / name or not source.is_dir():
            raise WorkspaceError("showing installed packages", f"{source} is gone: start the board again")
        if _make_place(root, place):
            top, _, rest = place.partition("/")
            yield Bind(source, f"{tops[top]}/{rest}")
            for covered in packages.covered:
                if covered.startswith(f"{name}/") and Path(packages.clone, covered).is_file():
                    yield Bind(root / "blank", f"{tops[top]}/{rest}{covered.removeprefix(name)}")


def _make_place(root: Path, place: str) -> bool:
    """Make the folder to mount on; False where the checkout has no such place, or files of its own in it. No
    link is followed: files there are an agent's.
    """
    at, parts = root, PurePosixPath(place).parts
    for part in parts[:-1]:
        at /= part
        if at.is_symlink() or not at.is_dir():
            return False
    at /= parts[-1]
    if at.is_symlink() or (at.exists() and not at.is_dir()):
        return False
    if parts[0] == "repo" and at.is_dir() and any(at.iterdir()):
        return False
    at.mkdir(exist_ok=True)
    return True
