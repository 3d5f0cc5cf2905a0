"""Addresses of a run and its files, where Cardinal's pages are served; and harmless file names."""

import re

from ledger.ids import RunId

LONGEST = 100
_ODD = re.compile(r"[^A-Za-z0-9._]+")


def run_link(site: str, run_id: RunId) -> str:
    """Return the address of the page that shows the run at work; `site` is the address of the pages."""
    return f"{site}/runs/{run_id}"


def files_link(site: str, run_id: RunId) -> str:
    """Return the address of the page with the run's files."""
    return f"{run_link(site, run_id)}/artifacts"


def of_file(site: str, run_id: RunId, digest: str, name: str) -> str:
    """Return the address of one file; the digest says which, the name is for people."""
    return f"{site}/artifacts/{run_id}/{digest}/{slug(name)}"


def slug(name: str) -> str:
    """Return a file name that means the same everywhere: no folder, no dots in front, plain letters."""
    return _ODD.sub("-", name)[-LONGEST:].strip(".-") or "file"
