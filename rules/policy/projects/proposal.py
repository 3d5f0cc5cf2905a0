"""A repository's part of the policy, proposed from its files."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

from rules.policy.projects import checks as known
from rules.policy.projects.checks import FULL, ProjectCheck
from rules.policy.projects.files import SEPARATOR, Project, is_manifest, requirement_names
from rules.policy.projects.installers import GROUPS, INSTALLERS, LANGUAGES, TARGETS, VENV, Installer
from rules.policy.repository import MAX_PATHS, ROOT
from rules.policy.validate import folder_problem

MAX_MARKERS = 200  # each of them is read
_ELSES = re.compile(r"(?:^|/)(?:node_modules|vendor|third_party|testdata|fixtures|\.[^/]*)/")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")  # of a group or preset; others are not put into a shell line
_REQUIREMENTS = (
    *("requirements.txt", "requirements-dev.txt", "requirements-test.txt", "requirements/dev.txt"),
    *("dev-requirements.txt", "test-requirements.txt", "requirements/test.txt"),
)


@dataclass(frozen=True, slots=True)
class Proposal:
    """Shell lines to set up and to check a repository, and the files that they were taken from.

    `needs` are programs that the lines start, and do not name. `installs` are the lines of `setup` that
    install a language's packages, each after that language.
    """

    setup: tuple[str, ...] = ()
    full: tuple[str, ...] = ()
    because: tuple[str, ...] = ()
    paths: Mapping[str, "Proposal"] = field(default_factory=dict)
    fast: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    installs: tuple[tuple[str, str], ...] = ()

    def text(self) -> str:
        return "\n".join(["version: 1", "repository:", *(f"  {line}" for line in self.rules()), ""])

    def rules(self) -> list[str]:
        """Return the lines of the `repository:` part; without checks they say `none`."""
        checked = self.full or self.fast
        lines = self._lines() if checked else [*self._lines(), "validation: none"]
        if self.paths:
            lines.append("paths:")
        for name, part in self.paths.items():
            lines.append(f"  {json.dumps(name, ensure_ascii=False)}: {{{', '.join(part._lines())}}}")
        return lines

    def needs_setup(self) -> bool:
        """Tell whether something is to be prepared, and so mostly to be fetched, before the checks run."""
        return any(part.setup for part in (self, *self.paths.values()))

    def commands(self) -> Iterator[str]:
        """Yield all shell lines, and the programs that they need besides."""
        for part in (self, *self.paths.values()):
            yield from (*part.setup, *part.fast, *part.full, *part.needs)

    def _lines(self) -> list[str]:
        setup = [f"setup: {json.dumps(self.setup)}"] if self.setup else []
        tiers = {"fast": self.fast, "full": self.full}
        named = ", ".join(f"{tier}: {json.dumps(lines)}" for tier, lines in tiers.items() if lines)
        return [*setup, *([f"validation: {{{named}}}"] if named else [])]


def markers(names: Collection[str]) -> tuple[str, ...]:
    """Return the files that `propose` wants to read, those of the root first."""
    manifests = (name for name in names if is_manifest(PurePosixPath(name).name) and not _ELSES.search(name))
    return tuple(sorted(manifests, key=lambda name: (name.count("/"), name))[:MAX_MARKERS])


def propose(
    names: Collection[str], texts: Mapping[str, str], installed: frozenset[str] = frozenset()
) -> Proposal:
    """Return the checks to run in a repository with these files; `texts` are those of `markers`.

    Where the root has no tests, each outermost folder that has checks becomes a path. Checks of `installed`
    languages start what pip would have installed, and make no environment of their own.
    """
    root = Project(names, texts, installed)
    own = _propose_in(root, {})
    if own.full:
        return own
    used = ((language, _installer(language, root)) for language in LANGUAGES)
    shared = {language: it for language, it in used if it and any(map(root.has, it.workspace))}
    paths: dict[str, Proposal] = {}
    for folder in dict.fromkeys(str(PurePosixPath(name).parent) for name in texts):
        outer = any(f"{folder}/".startswith(f"{path}/") for path in paths)
        if folder == ROOT or outer or folder_problem(folder) or len(paths) == MAX_PATHS:
            continue
        below = {name.removeprefix(f"{folder}/") for name in names if name.startswith(f"{folder}/")}
        read = {name: texts[f"{folder}/{name}"] for name in below if f"{folder}/{name}" in texts}
        part = _propose_in(Project(below, read, installed), shared)
        if part.full or part.fast:
            paths[folder] = part
    because = (f"{path}/{file}" for path, part in paths.items() for file in part.because)
    common = [
        (language, line)
        for language, it in (shared.items() if paths else ())
        for line in _setup(it, root, frozenset())
    ]
    return replace(
        own,
        setup=tuple(dict.fromkeys((*own.setup, *(line for _, line in common)))),
        installs=tuple(dict.fromkeys((*own.installs, *common))),
        because=(*own.because, *because),
        paths=paths,
    )


def _propose_in(project: Project, shared: Mapping[str, Installer]) -> Proposal:
    """Return the proposed commands of one folder; `shared` managers have set it up from above, by language.

    Every language that is there is checked. A target `test` of a Makefile and the like comes before their
    tests: whoever wrote it has chosen the commands. The set-up of their packages stays.
    """
    targets = _of_language(TARGETS, project, {})
    by_language = {language: _of_language(language, project, shared) for language in LANGUAGES}
    if not targets.full:
        parts = tuple(part for part in by_language.values() if part.full or part.fast)
        return _merge(parts or (targets,))
    parts = tuple(
        part
        if part.fast and not targets.fast
        else Proposal(setup=part.setup, needs=part.needs, installs=part.installs)
        for language, part in by_language.items()
        if (part.fast and not targets.fast) or not _is_pip(_installer(language, project))
    )
    return _merge((*(replace(part, full=()) for part in parts), targets))


def _merge(parts: Iterable[Proposal]) -> Proposal:
    parts = tuple(parts)

    def all_of(name: str) -> tuple[Any, ...]:
        return tuple(dict.fromkeys(line for part in parts for line in getattr(part, name)))

    return Proposal(
        setup=all_of("setup"),
        full=all_of("full"),
        because=all_of("because"),
        fast=all_of("fast"),
        needs=all_of("needs"),
        installs=all_of("installs"),
    )


def _installer(language: str, project: Project) -> Installer | None:
    """Return the installer of the packages of that language here; None where it is not used."""
    rows = [row for row in INSTALLERS if row.language == language]
    if language in project.installed:
        rows = [row for row in rows if _is_pip(row)] or rows
    here = [row for row in rows if all(map(project.has, row.here))]
    ways = (
        (row for row in rows if any(map(project.has, row.named))),
        (row for row in here if any(map(project.has, row.locks))),
        (row for row in here if any(map(project.has, row.hints))),
        iter(here[-1:]),
    )
    return next((row for way in ways for row in way), None)


def _is_pip(installer: Installer | None) -> bool:
    return installer is not None and installer.run.startswith(VENV)


def _of_language(language: str, project: Project, shared: Mapping[str, Installer]) -> Proposal:
    """Return set-up and checks of one language; without checks, the set-up alone."""
    own = _installer(language, project)
    if own is None:
        return Proposal()
    installer = shared.get(language, own)
    chosen = _choose(language, project, every_package=_is_pip(installer))
    tests = chosen.get(FULL)
    unit = _unittest(project) if language == "python" and tests is None else ""
    packages = frozenset(check.package for check in chosen.values() if check.package)
    setup: tuple[str, ...] = ()
    if language not in shared and (chosen or unit or installer.here):
        setup = _setup(installer, project, packages)
    lines = {kind: _lines(check, installer, project) for kind, check in chosen.items()}
    full = lines.pop(FULL, ())
    if tests and tests.prepare:
        setup = (tests.prepare,) if not lines else (*setup, tests.prepare)
    if unit:
        python = f"{installer.run}python" if setup or not _is_pip(installer) else "python3"
        full = (f"{python} -m unittest discover -s {unit}",)
    reasons = [check.when[0] if check.when else installer.here[0] for check in chosen.values()]
    first = [min(filter(_is_python_test, project.names))] if unit else []
    because = dict.fromkeys((*first, *map(project.file_of, (*reasons, *installer.locks))))
    return Proposal(
        setup=setup,
        full=full,
        because=tuple(filter(None, because)),
        fast=tuple(line for each in lines.values() for line in each),
        needs=installer.needs if setup or full else (),
        installs=tuple((language, line) for line in setup),
    )


def _choose(language: str, project: Project, *, every_package: bool) -> dict[str, ProjectCheck]:
    """Return the first check of each kind that the project names, and whose package it installs."""
    lists = (each for fact in known.DECLARED.get(language, ()) for each in project.values(fact))
    declared = {name for each in lists for name in requirement_names(each)}
    chosen: dict[str, ProjectCheck] = {}
    for check in known.CHECKS:
        if check.language != language or check.kind in chosen:
            continue
        installed = every_package or check.kind == FULL or not check.package or check.package in declared
        if installed and all(map(project.has, check.when)) and not any(map(project.has, check.unless)):
            is_own = check.prepare and check.kind == FULL and language in project.installed
            chosen[check.kind] = known.INSTALLED.get(language, check) if is_own else check
    return chosen


def _lines(check: ProjectCheck, installer: Installer, project: Project) -> tuple[str, ...]:
    name = check.when[0].rpartition(SEPARATOR)[2] if check.when else ""
    words = {"run": installer.run, "test": installer.test, "script": installer.script.format(name)}
    presets = _presets(project) if check.language == "cmake" else ()
    return presets or tuple(line.format(**words) for line in check.lines)


def _setup(installer: Installer, project: Project, packages: frozenset[str]) -> tuple[str, ...]:
    """Return the line that installs the project's declared packages; pip installs these packages besides."""
    if _is_pip(installer):
        return _venv((*sorted(packages), *_pip_arguments(project)), _groups(installer, project, packages))
    locked = any(map(project.has, installer.locks))
    if not locked and installer.wants and not any(map(project.has, installer.wants)):
        return ()
    options = [installer.group.format(name) for name in _groups(installer, project, packages)]
    options += [installer.extra.format(name) for name in _extras(project)] if installer.extra else []
    line = (installer.frozen if locked else installer.loose).format(groups="".join(options))
    return (line,) if line else ()


def _groups(installer: Installer, project: Project, packages: frozenset[str]) -> list[str]:
    """Return the groups to be chosen: those of tests and checks, and those that have such a package.

    Poetry's are tables, and installed anyhow unless they are optional.
    """
    groups = next(project.values(SEPARATOR.join(("pyproject.toml", *installer.groups_at))), None)
    if not installer.groups_at or not isinstance(groups, Mapping):
        return []
    return [
        name
        for name, group in groups.items()
        if _NAME.fullmatch(name)
        and (name in GROUPS or packages.intersection(requirement_names(group)))
        and (group.get("optional") is True if isinstance(group, Mapping) else True)
    ]


def _extras(project: Project) -> list[str]:
    extras = next(project.values("pyproject.toml#project#optional-dependencies"), None)
    return [name for name in GROUPS if isinstance(extras, Mapping) and name in extras]


def _venv(packages: tuple[str, ...], groups: list[str]) -> tuple[str, ...]:
    """Return the line that installs them; packages of the system are not fetched again."""
    made = f"python3 -m venv --system-site-packages {VENV}"
    named = [*packages, *(f"--group {name}" for name in groups)]
    newer = f" && {VENV}/bin/pip install -q 'pip>=25.1'" if groups else ""  # the first that knows groups
    return (f"{made}{newer} && {VENV}/bin/pip install -q {' '.join(named)}",) if named else ()


def _pip_arguments(project: Project) -> tuple[str, ...]:
    """Return pip's arguments: the repository's lists, and itself where it is a package."""
    lists = tuple(f"-r {name}" for name in _REQUIREMENTS if name in project.names)
    if not project.has("pyproject.toml#project#name"):
        return lists
    extras = _extras(project)
    return (*lists, f"-e '.[{','.join(extras)}]'" if extras else "-e .")


def _unittest(project: Project) -> str:
    """Return the arguments of unittest's discovery: its first folder with tests, at the top or below it."""
    tests = sorted(name for name in project.names if _is_python_test(name))
    if not tests:
        return ""
    folder = PurePosixPath(tests[0]).parts[0] if "/" in tests[0] else "."
    return f"{folder} -t ." if f"{folder}/__init__.py" in project.names else folder


def _is_python_test(name: str) -> bool:
    """Tell whether unittest would find the file where it is looked for: at the top, in `test` or `tests`."""
    path = PurePosixPath(name)
    return bool(re.fullmatch(r"test\w*\.py", path.name)) and str(path.parent) in {".", "test", "tests"}


def _presets(project: Project) -> tuple[str, ...]:
    """Return the lines of CMake's first presets that everybody can start, one for each step; else nothing."""
    shown: dict[str, list[Mapping[str, object]]] = {}
    for kind in ("configure", "build", "test"):
        named = next(project.values(f"CMakePresets.json#{kind}Presets"), None)
        entries = [each for each in named if isinstance(each, Mapping)] if isinstance(named, list) else []
        shown[kind] = [
            each
            for each in entries
            if not each.get("hidden") and "condition" not in each and _NAME.fullmatch(str(each.get("name")))
        ]
    for test in shown["test"]:
        begun = test.get("configurePreset")
        build = next((each for each in shown["build"] if each.get("configurePreset") == begun), None)
        if build and any(each["name"] == begun for each in shown["configure"]):
            configured = f"cmake --preset {begun} && cmake --build --preset {build['name']}"
            return (configured, f"ctest --preset {test['name']} --output-on-failure")
    return ()
