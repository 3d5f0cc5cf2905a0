"""Packages that a person has installed in a clone, and whether checks of other commits may use them.

Checks get them read-only. They must not hold a copy of the repository's own packages: it would be tested in
place of the files of the commit.
"""

import json
import os
import re
import stat
import tomllib
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from bot.admin.trial.in_folder import IN_FOLDER, InFolder, find_password_file, folders_of
from rules.policy.projects.proposal import Proposal
from runner.workspaces import bubblewrap
from runner.workspaces.packages import Packages, find_copies

ENVIRONMENTS = (".venv", "venv")
_AT = "home/venv"  # where the set-up of a proposal makes its own: `~/venv`
_CONFIGURATION = ("pip.conf", "credentials", "credentials.toml")  # of package indexes, often with a password
_HIDDEN = "Checks cannot see packages below /{0}, where they have a folder of their own: move this clone"
_COPY = "{0} has a copy of {1}, which would be tested in place of the agent's files: `{2}` there"
_MAY_LEAK = "{0} may hold a password, so checks do not see {1}: move it to your user settings"
_ELSEWHERE = "{0} uses {1}, which is outside this repository, so checks do not see it: make {0} again"
_MOVED = "{0} was made as {1}, so its programs do not start here: make {0} again"
_COMPILED = (
    "{0} has {1} as it was compiled here, which would be tested in place of the agent's files: choose an "
    "agent that works in a container, where the set-up compiles them"
)
_STARTED = re.compile(rb"#!(?:/bin/sh\n'''exec' \"?)?(/[^\"\n]+?)/bin/python")  # as pip and uv write it
_MODULE = re.compile(r"~/venv/bin/(?:python -m )?(?P<name>[A-Za-z0-9][\w.-]*)")
_MAX_FOLDERS, _MAX_LINES, _HEAD_BYTES = 50, 200, 300
_PROJECTS = ("pyproject.toml", "setup.cfg", "setup.py")
_SOURCES = ("src", "lib", "python")  # folders of modules, below a project
# Other packages bring folders of these names by mistake, and nobody imports them.
_NOT_IMPORTED = ("benchmarks", "conftest", "docs", "examples", "scripts", "setup", "test", "tests", "tools")


@dataclass(frozen=True, slots=True)
class InstalledPackages:
    """The folders by where checks see them, and their languages; `problems` say why others are not used."""

    binds: dict[str, str]
    languages: frozenset[str] = frozenset()
    shown: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    own: tuple[str, ...] = ()

    def packages(self, top: Path, proposal: Proposal | None) -> Packages:
        """Return what the workspaces of this machine are told; the proposal's set-up is not run there."""
        lines = setup_covered_by(self, proposal) if proposal else ()
        names = dict.fromkeys(self.binds.values())
        covered = tuple(f"{name}/{file}" for name in names for file in _CONFIGURATION)
        return Packages(
            clone=str(top), binds=self.binds, setup=lines, shown=self.shown, covered=covered, own=self.own
        )


def setup_covered_by(installed: InstalledPackages, proposal: Proposal) -> tuple[str, ...]:
    """Return the set-up lines that need not be run, since their packages are there."""
    parts = (proposal, *proposal.paths.values())
    lines = (line for part in parts for language, line in part.installs if language in installed.languages)
    return tuple(dict.fromkeys(lines))


def needs_more(installed: InstalledPackages, proposal: Proposal) -> bool:
    """Tell whether a line of the set-up is left that nothing stands for."""
    known = {*setup_covered_by(installed, proposal)}
    return any(line not in known for part in (proposal, *proposal.paths.values()) for line in part.setup)


def find_installed(
    top: Path, tracked: Collection[str], manifests: dict[str, str], proposal: Proposal
) -> InstalledPackages:
    """Return what is installed in the clone at `top`, of whose commit these are the files and the proposal.

    A folder that the commit has, or that is a link, counts for nothing: it may be anybody's.
    """
    if top.parts[1:2] and top.parts[1] in bubblewrap.OWN_FOLDERS:
        return InstalledPackages({}, problems=(_HIDDEN.format(top.parts[1]),))
    own = {name for file, text in manifests.items() for name in _names_in(file, text)}
    modules = _modules_in(tracked)
    binds: dict[str, str] = {}
    problems: list[str] = []
    languages, shown = set[str](), dict[str, None]()
    for name in ENVIRONMENTS:
        if not (_is_own(top, name, tracked) and (top / name / "pyvenv.cfg").is_file()):
            continue
        faults = [*_faults_of_environment(top, name, own)]
        if not faults:
            advice = f"{name}/bin/pip install -e ."
            faults += (_COPY.format(*leak, advice) for leak in _copies(top, (name,), modules))
        problems += faults
        if not faults:
            binds |= {f"repo/{name}": name, _AT: name}
            shown |= dict.fromkeys(_interpreters(top / name))
            languages.add("python")
        break
    folders = [
        str(PurePosixPath(each).parent) for each in manifests if PurePosixPath(each).name == "package.json"
    ]
    with_packages = [
        folder for folder in sorted(folders)[:_MAX_FOLDERS] if _is_own(top, _below(folder), tracked)
    ]
    shared = [_below(folder) for folder in with_packages]
    packages = tuple(f"{name}/package" for name in sorted(own))
    faults = [fault for name in shared for fault in _faults_of_modules(top, name)]
    faults += (_COPY.format(*leak, f"npm install {leak[1]}") for leak in _copies(top, shared, packages))
    problems += faults
    if with_packages and not faults:
        binds |= {f"repo/{_below(folder)}": _below(folder) for folder in with_packages}
        if "." in with_packages or {*folders} <= {*with_packages}:
            languages.add("node")
    for row, names in _find_in_folders(top, tracked, proposal):
        leaks = [(f"{name}/{file}", name) for name in names if (file := find_password_file(top / name))]
        problems += (_MAY_LEAK.format(*leak) for leak in leaks)
        if not leaks:
            binds |= {f"repo/{name}": name for name in names}
            languages.add(row.language)
    return InstalledPackages(
        binds, frozenset(languages), tuple(shown), tuple(problems), (*modules, *packages)
    )


def _find_in_folders(
    top: Path, tracked: Collection[str], proposal: Proposal
) -> Iterator[tuple[InFolder, list[str]]]:
    """Yield each manager that put packages into every folder where this set-up needs them."""
    for row in IN_FOLDER:
        names = [*folders_of(row, proposal)]
        if names and all(_is_own(top, at, tracked) and (top / at / row.made).exists() for at in names):
            yield row, names


def lacking_modules(top: Path, installed: InstalledPackages, proposal: Proposal) -> dict[str, str]:
    """Return the lines that start a Python program which the environment does not have, with its name."""
    if _AT not in installed.binds:
        return {}
    folder = top / installed.binds[_AT]
    lacking = {}
    for line in proposal.commands():
        named = _MODULE.match(line)
        if named and line not in proposal.setup:
            name = named["name"]
            there = (folder / "bin" / name).exists() or any(
                (site / name).is_dir() or (site / f"{name}.py").is_file() for site in _sites(folder)
            )
            if not there and name not in ("python", "unittest"):
                lacking[line] = name
    return lacking


def _below(folder: str) -> str:
    return str(PurePosixPath(folder) / "node_modules")


def _is_own(top: Path, name: str, tracked: Collection[str]) -> bool:
    """Tell whether it is a real folder of this user, at each step, and no commit has brought it."""
    at = top
    with suppress(OSError):
        for part in PurePosixPath(name).parts:
            at /= part
            known = at.lstat()
            if not stat.S_ISDIR(known.st_mode) or known.st_uid != os.geteuid():
                return False
        return not any(each == name or each.startswith(f"{name}/") for each in tracked)
    return False


def _sites(folder: Path) -> list[Path]:
    return [each for each in sorted(folder.glob("lib/python3*/site-packages")) if each.is_dir()]


def _faults_of_environment(top: Path, name: str, own: Collection[str]) -> Iterator[str]:
    folder = top / name
    if not (folder / "bin" / "python").exists() or not _sites(folder):
        yield f"{name} has no Python that starts: make it again"
        return
    yield from _faults_of_programs(top, name)
    for site in _sites(folder):
        for metadata in sorted(site.glob("*.dist-info")):
            package = metadata.name.partition("-")[0]
            source, is_link = _source_of(metadata / "direct_url.json")
            inside = source is not None and source.is_relative_to(top)
            if is_link and not inside:
                yield _ELSEWHERE.format(name, source)
            elif is_link and _holds_code(metadata, (".so",)):
                yield _COMPILED.format(name, package)
            elif not is_link and (inside or _plain(package) in own) and _holds_code(metadata):
                yield _COPY.format(name, package, f"{name}/bin/pip install -e .")
        for line in _list_linked_folders(site):
            if not line.is_relative_to(top) and not line.is_relative_to(folder.resolve()):
                yield _ELSEWHERE.format(name, line)


def _modules_in(tracked: Collection[str]) -> tuple[str, ...]:
    """Return the modules that Python imports from the repository, for `find_copies`: the outermost packages,
    and modules outside of packages.
    """
    paths = [PurePosixPath(name) for name in tracked]
    homes = {PurePosixPath("."), *(path.parent for path in paths if path.name in _PROJECTS)}
    roots = homes | {home / name for home in homes for name in _SOURCES}
    packages = {path.parent for path in paths if path.name == "__init__.py"}
    modules = set[str]()
    for path in paths:
        is_package = path.name == "__init__.py"
        if path.suffix != ".py" or (path.parent.parent if is_package else path.parent) in packages:
            continue
        for root in roots.intersection(
            (path.parent.parent if is_package else path.parent, *path.parent.parents)
        ):
            module = path.relative_to(root).with_suffix("")
            if module.parts[0] not in _NOT_IMPORTED:
                modules.add(str(module))
    return tuple(sorted(modules))


def _copies(top: Path, folders: Collection[str], own: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield each folder with the package of which a copy is there, once."""
    known = {
        (next(name for name in folders if file.startswith(f"{name}/")), str(PurePosixPath(file).parent))
        for file in find_copies(top, folders, own)
    }
    yield from sorted((name, at.removeprefix(f"{name}/")) for name, at in known)


def _list_linked_folders(site: Path) -> Iterator[Path]:
    """Yield other folders that Python takes modules from. Source: docs.python.org/3/library/site.html"""
    for file in sorted((*site.glob("*.pth"), *site.glob("*.egg-link"))):
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()[:_MAX_LINES]
        folders = (Path(line.strip()) for line in lines if line.startswith("/"))
        yield from (folder for folder in folders if folder.is_dir())


def _plain(name: str) -> str:
    """Return a package's name as all spellings of it. Source: PEP 503."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _source_of(record: Path) -> tuple[Path | None, bool]:
    """Return the folder that a package was installed from, and whether it is linked there.

    Source: packaging.python.org/en/latest/specifications/direct-url
    """
    try:
        given = json.loads(record.read_bytes())
        url, info = urlsplit(str(given["url"])), given.get("dir_info")
    except (ValueError, KeyError, TypeError, AttributeError, OSError):  # most packages have none
        return None, False
    if url.scheme != "file" or not isinstance(info, dict):
        return None, False
    return Path(unquote(url.path)), info.get("editable") is True


def _holds_code(metadata: Path, endings: tuple[str, ...] = (".py", ".so")) -> bool:
    """Tell whether the package has files of its own beside its metadata."""
    with suppress(OSError):
        rows = (metadata / "RECORD").read_text(encoding="utf-8", errors="replace").splitlines()
        names = (row.partition(",")[0] for row in rows)
        return any(name.endswith(endings) and not name.startswith(("__editable__", "..")) for name in names)
    return False


def _faults_of_programs(top: Path, name: str) -> Iterator[str]:
    if any(_is_wide(Path(interpreter), top) for interpreter in _interpreters(top / name)):
        yield f"the Python of {name} is in a folder with other things: make {name} with another Python"
    if elsewhere := next(_read_creation(top / name), ""):
        yield _MOVED.format(name, elsewhere)


def _read_creation(folder: Path) -> Iterator[str]:
    """Yield other environments whose Python the programs of this one start: it was moved, or copied."""
    for program in sorted((folder / "bin").iterdir()):
        if program.is_file() and not program.is_symlink():
            with program.open("rb") as opened:
                started = _STARTED.match(opened.read(_HEAD_BYTES))
            place = Path(os.fsdecode(started[1])) if started else folder
            if place.resolve() != folder.resolve() and not place.is_relative_to("/usr"):
                yield str(place)


def _interpreters(folder: Path) -> Iterator[str]:
    """Yield the folders of the environment's Python, where commands do not see it anyway."""
    at = folder / "bin" / "python"
    for _ in range(10):
        if not at.is_symlink():
            break
        at = at.parent / os.readlink(at)
        base = Path(os.path.normpath(at)).parent.parent
        if not base.is_relative_to("/usr") and not base.is_relative_to(folder) and base != Path("/"):
            yield str(base)


def _is_wide(base: Path, top: Path) -> bool:
    """Tell whether the folder is more than a Python: a home, say, or one around or in the clone."""
    holds = Path.home().is_relative_to(base) or top.is_relative_to(base)
    return holds or base.is_relative_to(top) or not any(base.glob("lib/python3*/os.py"))


def _names_in(file: str, text: str) -> Iterator[str]:
    """Yield the names that a manifest gives its package."""
    name = PurePosixPath(file).name
    with suppress(ValueError, RecursionError, AttributeError):
        if name == "package.json":
            given = [json.loads(text.removeprefix("\ufeff")).get("name")]
        elif name == "pyproject.toml":
            tree = tomllib.loads(text)
            given = [tree.get("project", {}).get("name"), tree.get("tool", {}).get("poetry", {}).get("name")]
        else:
            given = []
        yield from (
            _plain(each) if name == "pyproject.toml" else each for each in given if isinstance(each, str)
        )


def _faults_of_modules(top: Path, name: str) -> Iterator[str]:
    folder = top / name
    entries = [each for each in sorted(folder.iterdir()) if not each.name.startswith(".")]
    for entry in entries:
        for package in sorted(entry.iterdir()) if entry.name.startswith("@") and entry.is_dir() else [entry]:
            target = package.resolve()
            if package.is_symlink() and target != top and not target.is_relative_to(top):
                yield _ELSEWHERE.format(name, target)
