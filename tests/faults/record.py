"""The record of points, classes and repairs in `docs/faults.json`, from which a page is made."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from tests.house.source import ROOT

FILE = ROOT / "docs/faults.json"
Points = dict[str, dict[str, int]]


def points_of(traces: Iterable[tuple[str, Sequence[str]]]) -> Points:
    """Return how often each site is reached, by story."""
    return {story: dict(Counter(point.rpartition("#")[0] for point in trace)) for story, trace in traces}


def read() -> dict[str, Any]:
    """Return the record."""
    kept: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return kept


def write(**changes: object) -> None:
    """Replace parts of the record."""
    kept = read() if FILE.exists() else {}
    FILE.write_text(json.dumps({**kept, **changes}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def first_points() -> dict[str, tuple[str, ...]]:
    """Return the first point of each site by story, as they were recorded."""
    return {story: tuple(f"{site}#1" for site in sites) for story, sites in read()["points"].items()}
