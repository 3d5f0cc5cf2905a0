"""A repository's part of the policy, proposed from its files."""

import json
import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from rules.policy.paths import folder_problem
from rules.policy.repository import MAX_PATHS, ROOT

MARKERS = (
    "pyproject.toml",
    "pytest.ini",
    "setup.cfg",
    "tox.ini",
    "package.json",
    "go.mod",
    "Cargo.toml",
    "Makefile",
)
MAX_MARKERS = 200  # each of them is read
_ELSES = re.compile(r"(?:^|/)(?:node_modules|vendor|third_party|testdata|fixtures|\.[^/]*)/")
_PYTEST = re.compile(r"(?m)^\[(?:tool\.pytest[.\w]*|tool:pytest|pytest)\]")
_MAKE_TEST = re.compile(r"(?m)^(?:test|check)(?= *:(?![:=]))")
_VENV = "~/venv"  # outside of the work tree, so that nobody commits it
_REQUIREMENTS = ("requirements.txt", "requirements-dev.txt", "requirements-test.txt", "requirements/dev.txt")
_EXTRAS = ("test", "tests", "testing", "dev")
_NPM_PLACEHOLDER = "no test specified"  # docs.npmjs.com/cli/commands/npm-init writes it


@dataclass(frozen=True, slots=True)
class Proposal:
    """Shell lines to set up and to check a repository, and the files that they were taken from."""

    setup: tuple[str, ...] = ()
    full: tuple[str, ...] = ()
    because: tuple[str, ...] = ()
    paths: Mapping[str, "Proposal"] = field(default_factory=dict)

    def text(self) -> str:
        """Return the policy file."""
        return "\n".join(["version: 1", "repository:", *(f"  {line}" for line in self.rules()), ""])

    def rules(self) -> list[str]:
        """Return the lines of the `repository:` part; without checks they say `none`."""
        lines = self._lines() if self.full else [*self._lines(), "validation: none"]
        if self.paths:
            lines.append("paths:")
        for name, part in self.paths.items():
            lines.append(f"  {json.dumps(name, ensure_ascii=False)}: {{{', '.join(part._lines())}}}")
        return lines

    def needs_setup(self) -> bool:
        """Tell whether something is to be prepared, and so mostly to be fetched, before the checks run."""
        return any(part.setup for part in (self, *self.paths.values()))

    def _lines(self) -> list[str]:
        setup = [f"setup: {json.dumps(self.setup)}"] if self.setup else []
        return [*setup, *([f"validation: {{full: {json.dumps(self.full)}}}"] if self.full else [])]


def markers(names: Collection[str]) -> tuple[str, ...]:
    """Return the files that `propose` wants to read, those of the root first."""
    known = (name for name in names if PurePosixPath(name).name in MARKERS and not _ELSES.search(name))
    return tuple(sorted(known, key=lambda name: (name.count("/"), name))[:MAX_MARKERS])


def propose(names: Collection[str], texts: Mapping[str, str]) -> Proposal:
    """Return the checks to run in a repository with these files; `texts` are those of `markers`.

    Where the root has no checks, each outermost folder that has some becomes a path.
    """
    own = _propose_in(names, texts)
    if own.full:
        return own
    paths: dict[str, Proposal] = {}
    for folder in dict.fromkeys(str(PurePosixPath(name).parent) for name in texts):
        outer = any(f"{folder}/".startswith(f"{path}/") for path in paths)
        if folder == ROOT or outer or folder_problem(folder) or len(paths) == MAX_PATHS:
            continue
        below = {name.removeprefix(f"{folder}/") for name in names if name.startswith(f"{folder}/")}
        read = {name: texts[f"{folder}/{name}"] for name in below if f"{folder}/{name}" in texts}
        part = _propose_in(below, read)
        if part.full:
            paths[folder] = part
    because = (f"{path}/{file}" for path, part in paths.items() for file in part.because)
    return replace(own, because=(*own.because, *because), paths=paths)


def _propose_in(names: Collection[str], texts: Mapping[str, str]) -> Proposal:
    """Return the proposed commands of one folder.

    Every language that is there is checked. A target `test` or `check` of a Makefile comes before all others:
    whoever wrote it has chosen the commands.
    """
    made = _make(names, texts)
    proposals = [made] if made else [part for look in _LANGUAGES if (part := look(names, texts))]
    return Proposal(
        tuple(line for part in proposals for line in part.setup),
        tuple(line for part in proposals for line in part.full),
        tuple(file for part in proposals for file in part.because),
    )


def _make(_names: Collection[str], texts: Mapping[str, str]) -> Proposal | None:
    target = _MAKE_TEST.search(texts.get("Makefile", ""))
    return Proposal(full=(f"make {target[0]}",), because=("Makefile",)) if target else None


def _python(names: Collection[str], texts: Mapping[str, str]) -> Proposal | None:
    settings = ("pyproject.toml", "setup.cfg", "tox.ini")
    file = next((name for name in settings if _PYTEST.search(texts.get(name, ""))), None)
    file = "pytest.ini" if "pytest.ini" in texts else file
    file = file or next((name for name in ("conftest.py", "tests/conftest.py") if name in names), None)
    if file is not None:
        return Proposal(
            _venv(("pytest", *_declared(names, texts))), (f"{_VENV}/bin/python -m pytest -q",), (file,)
        )
    tests = sorted(name for name in names if _is_python_test(name))
    if not tests:
        return None
    folder = PurePosixPath(tests[0]).parts[0] if "/" in tests[0] else "."
    top = " -t ." if f"{folder}/__init__.py" in names else ""
    declared = _declared(names, texts)
    python = f"{_VENV}/bin/python" if declared else "python3"
    return Proposal(_venv(declared), (f"{python} -m unittest discover -s {folder}{top}",), (tests[0],))


def _venv(packages: tuple[str, ...]) -> tuple[str, ...]:
    """Return the line that installs them; packages of the system are not fetched again."""
    made = f"python3 -m venv --system-site-packages {_VENV}"
    return (f"{made} && {_VENV}/bin/pip install -q {' '.join(packages)}",) if packages else ()


def _declared(names: Collection[str], texts: Mapping[str, str]) -> tuple[str, ...]:
    """Return pip's arguments: the repository's lists, and itself where it is a package."""
    lists = tuple(f"-r {name}" for name in _REQUIREMENTS if name in names)
    try:
        project = tomllib.loads(texts.get("pyproject.toml", "")).get("project")
    except (ValueError, RecursionError):
        project = None  # pip would refuse it as well
    if not isinstance(project, dict):
        return lists
    extras = project.get("optional-dependencies")
    known = [name for name in _EXTRAS if isinstance(extras, dict) and name in extras]
    return (*lists, f"-e '.[{','.join(known)}]'" if known else "-e .")


def _is_python_test(name: str) -> bool:
    """Tell whether unittest would find the file where it is looked for: at the top, in `test` or `tests`."""
    path = PurePosixPath(name)
    return bool(re.fullmatch(r"test\w*\.py", path.name)) and str(path.parent) in {".", "test", "tests"}


def _npm(names: Collection[str], texts: Mapping[str, str]) -> Proposal | None:
    try:
        package = json.loads(texts.get("package.json", "{}"))
        script = package["scripts"]["test"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None  # no script to run: npm would refuse the file as well
    if not isinstance(script, str) or _NPM_PLACEHOLDER in script:
        return None
    wants = "workspaces" in package or any(key.casefold().endswith("dependencies") for key in package)
    setup = ("npm ci",) if "package-lock.json" in names else ("npm install",) if wants else ()
    return Proposal(setup, ("npm test",), ("package.json",))


def _go(names: Collection[str], _texts: Mapping[str, str]) -> Proposal | None:
    return Proposal((), ("go test ./...",), ("go.mod",)) if "go.mod" in names else None


def _cargo(names: Collection[str], _texts: Mapping[str, str]) -> Proposal | None:
    return Proposal((), ("cargo test",), ("Cargo.toml",)) if "Cargo.toml" in names else None


_LANGUAGES: tuple[Callable[[Collection[str], Mapping[str, str]], Proposal | None], ...] = (
    _python,
    _npm,
    _go,
    _cargo,
)
