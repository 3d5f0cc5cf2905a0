"""Package managers that can put a repository's packages into one folder of it, where checks find them."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from shlex import quote

from rules.policy.projects.installers import VENV
from rules.policy.projects.proposal import Proposal
from rules.policy.repository import ROOT


@dataclass(frozen=True, slots=True)
class InFolder:
    """A language's packages in `folder`, once somebody has run `line` there: then `made` is in it."""

    language: str
    folder: str
    made: str
    line: str


IN_FOLDER = (
    # go.dev/ref/mod#go-mod-vendor
    InFolder("go", "vendor", "modules.txt", "go mod vendor"),
    # doc.rust-lang.org/cargo/commands/cargo-vendor.html
    InFolder(
        "rust",
        ".cargo",
        "vendor",
        "mkdir -p .cargo && cargo vendor .cargo/vendor > .cargo/config.toml",
    ),
    # bundler.io/man/bundle-config.1.html
    InFolder("ruby", ".bundle", "ruby", "bundle config set --local path .bundle && bundle install"),
    # getcomposer.org/doc/06-config.md#vendor-dir
    InFolder("php", "vendor", "autoload.php", "composer install"),
)
NODE = InFolder("node", "node_modules", "", "")  # each of its managers has a line
# Programs that make `.venv` at the top of a project, and what that takes.
_MAKES_VENV = {
    "uv": "",
    "pdm": "",
    "poetry": "POETRY_VIRTUALENVS_IN_PROJECT=1 ",  # python-poetry.org/docs/configuration
    "pipenv": "PIPENV_VENV_IN_PROJECT=1 ",  # pipenv.pypa.io/en/latest/configuration.html
}
_SETTINGS = ("config.toml", "config")  # of Cargo and Bundler, which cannot do without
_PASSWORD = re.compile(r"token|secret|password|BUNDLE_\w+__", re.IGNORECASE)  # Bundler's name a host


def folders_of(row: InFolder, proposal: Proposal) -> Iterator[str]:
    """Yield the folders that the row's packages would stand in for this set-up, from the top of the clone."""
    for path, part in ((ROOT, proposal), *proposal.paths.items()):
        if any(language == row.language for language, _ in part.installs):
            yield str(PurePosixPath(path, row.folder))


def find_password_file(folder: Path) -> str:
    """Return the name of a file of settings there that may hold one; else nothing."""
    for name in _SETTINGS:
        file = folder / name
        if file.is_file() and _PASSWORD.search(file.read_text(encoding="utf-8", errors="replace")):
            return name
    return ""


def lines_in_clone(proposal: Proposal, tracked: Collection[str], known: Collection[str]) -> tuple[str, ...]:
    """Return what to type at the top of the clone in place of its set-up, so that checks find the packages.

    `known` lines need nothing. A line is empty where no folder would do, or where the one is committed.
    """
    steps: dict[str, None] = {}
    for path, part in ((ROOT, proposal), *proposal.paths.items()):
        for language, line in part.installs:
            if line not in known:
                step = _line_in_clone(path, language, line, tracked)
                steps[f"(cd {quote(path)} && {step})" if step and path != ROOT else step] = None
    return tuple(steps)


def _line_in_clone(path: str, language: str, line: str, tracked: Collection[str]) -> str:
    if language == "python" and VENV in line:  # the environment is that of the whole clone
        return line.replace(VENV, "/".join((*(".." for _ in PurePosixPath(path).parts), ".venv")))
    if language == "python":
        before = _MAKES_VENV.get(line.split()[0])
        return f"{before}{line}" if before is not None and path == ROOT else ""
    row = next((row for row in (*IN_FOLDER, NODE) if row.language == language), None)
    is_free = row and not any(name.startswith(f"{PurePosixPath(path, row.folder)}/") for name in tracked)
    return row.line or line if row and is_free else ""
