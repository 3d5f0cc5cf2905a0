"""Package managers that can put a repository's packages into one folder of it, where checks find them."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

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
_SETTINGS = ("config.toml", "config")  # of Cargo and Bundler, which cannot do without
_PASSWORD = re.compile(r"token|secret|password|BUNDLE_\w+__", re.IGNORECASE)  # Bundler's name a host


def folders_of(row: InFolder, proposal: Proposal) -> Iterator[str]:
    """Yield the folders that the row's packages would stand in for this set-up, from the top of the clone."""
    for path, part in ((ROOT, proposal), *proposal.paths.items()):
        if any(language == row.language for language, _ in part.installs):
            yield str(PurePosixPath(path, row.folder))


def may_hold_password(folder: Path) -> str:
    """Return the name of a file of settings there that may hold one; else nothing."""
    for name in _SETTINGS:
        file = folder / name
        if file.is_file() and _PASSWORD.search(file.read_text(encoding="utf-8", errors="replace")):
            return name
    return ""


def line_in_clone(language: str, line: str, proposal: Proposal, tracked: Collection[str]) -> str:
    """Return the line to type in the clone in place of one of set-up, so that checks find the packages there.

    It is empty where they would not, and where the line would change a folder that is committed.
    """
    if language in ("python", "node"):
        return line.replace(VENV, ".venv")
    row = next((row for row in IN_FOLDER if row.language == language), None)
    folders = tuple(f"{folder}/" for folder in folders_of(row, proposal)) if row else ()
    return row.line if row and not any(name.startswith(folders) for name in tracked) else ""
