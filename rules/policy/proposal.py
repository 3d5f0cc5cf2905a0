"""A repository's part of the policy, proposed from its files."""

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

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
_PYTEST = re.compile(r"(?m)^\[(?:tool\.pytest[.\w]*|tool:pytest|pytest)\]")
_MAKE_TEST = re.compile(r"(?m)^(?:test|check)(?= *:(?![:=]))")
_NPM_PLACEHOLDER = "no test specified"  # docs.npmjs.com/cli/commands/npm-init writes it


@dataclass(frozen=True, slots=True)
class Proposal:
    """Shell lines to set up and to check a repository, and the files that they were taken from."""

    setup: tuple[str, ...] = ()
    full: tuple[str, ...] = ()
    because: tuple[str, ...] = ()

    def text(self) -> str:
        """Return the policy file; without checks it says `none`."""
        lines = ["version: 1", "repository:"]
        if self.setup:
            lines.append(f"  setup: {json.dumps(self.setup)}")
        lines.append(
            f"  validation: {{full: {json.dumps(self.full)}}}" if self.full else "  validation: none"
        )
        return "\n".join([*lines, ""])


def propose(names: Collection[str], texts: Mapping[str, str]) -> Proposal:
    """Return what to run in a repository with these paths; `texts` are those of MARKERS that are there.

    Every language that is there is checked. A target `test` or `check` of a Makefile comes before all others:
    whoever wrote it has decided what is run.
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
        return Proposal(_python_setup(names), ("python3 -m pytest -q",), (file,))
    tests = sorted(name for name in names if _is_python_test(name))
    if not tests:
        return None
    folder = PurePosixPath(tests[0]).parts[0] if "/" in tests[0] else "."
    top = " -t ." if f"{folder}/__init__.py" in names else ""
    return Proposal(_python_setup(names), (f"python3 -m unittest discover -s {folder}{top}",), (tests[0],))


def _python_setup(names: Collection[str]) -> tuple[str, ...]:
    return ("pip install -r requirements.txt",) if "requirements.txt" in names else ()


def _is_python_test(name: str) -> bool:
    """Tell whether unittest would find the file where it is looked for: at the top, in `test` or `tests`."""
    path = PurePosixPath(name)
    return bool(re.fullmatch(r"test\w*\.py", path.name)) and str(path.parent) in {".", "test", "tests"}


def _npm(names: Collection[str], texts: Mapping[str, str]) -> Proposal | None:
    try:
        script = json.loads(texts.get("package.json", "{}"))["scripts"]["test"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None  # no script to run: npm would refuse the file as well
    if not isinstance(script, str) or _NPM_PLACEHOLDER in script:
        return None
    setup = "npm ci" if "package-lock.json" in names else "npm install"
    return Proposal((setup,), ("npm test",), ("package.json",))


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
