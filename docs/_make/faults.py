"""Tables of the points at which every fault is tried, from the record of `scripts/faults`."""

import json
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from docs._make import wording

RECORD = Path(__file__).parents[1] / "faults.json"
_FOUND = Path(__file__).parents[2] / "tests/faults/found.toml"
KINDS = {
    "commit": (
        "a transaction that writes is committed",
        "killed before, killed after, disk full; in the soak also its answer lost, as by a cut connection",
    ),
    "send": (
        "GitHub is called",
        "killed before, killed after, lost without effect, lost after its effect, a stale answer",
    ),
    "program": ("a program is started", "killed before, killed after"),
    "push": ("a worker is woken through Redis", "killed before, killed after, lost"),
    "blob": ("a file goes into the store", "killed before, killed after, disk full"),
}


def kinds() -> str:
    """Return the kinds of points with their faults, how many there are, and how many cells and classes."""
    record = _record()
    counts: Counter[str] = Counter()
    for points in record["points"].values():
        for point, times in points.items():
            counts[point.partition(":")[0]] += times
    rows = ((f"`{kind}`", what, faults, f"{counts[kind]:,}") for kind, (what, faults) in KINDS.items())
    total = f"{record['cells']:,} cells of {record['classes']:,} classes."
    return f"{wording.table(('point', 'when', 'faults', 'traced'), rows)}\n\n{total}"


def stories() -> str:
    """Return the stories with the number of their points."""
    record = _record()
    rows = (
        (f"`{name}`", wording.cell(about), f"{sum(record['points'][name].values()):,}")
        for name, about in record["stories"].items()
    )
    return wording.table(("story", "what happens", "points"), rows)


def sites() -> str:
    """Return the sites of all points, with the stories that reach them."""
    reached: dict[str, list[str]] = {}
    for name, points in _record()["points"].items():
        for point in points:
            reached.setdefault(point, []).append(name)
    rows = ((f"`{wording.cell(point)}`", ", ".join(names)) for point, names in sorted(reached.items()))
    return wording.table(("point", "stories"), rows)


def _record() -> dict[str, Any]:
    record: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return record


def repairs() -> str:
    """Return what the product does against faults, each with the cell that fails without it."""
    record = _record()
    rows = ((wording.cell(what), f"`{wording.cell(cell)}`") for what, cell in record["repairs"].items())
    head = f"There are {len(record['repairs'])}. Without any one of them, a cell fails."
    return f"{head}\n\n{wording.table(('repair', 'a cell that fails without it'), rows)}"


def forge_rules() -> str:
    """Return how many rules the forge has, by module."""
    forge: dict[str, str] = _record()["forge"]
    counts = Counter(key.partition(".")[0] for key in forge)
    refusals = sum(": raise " in key for key in forge)
    rows = ((f"`{module.replace('/', '.')}`", str(count)) for module, count in counts.items())
    head = (
        f"There are {len(forge)}: {refusals} refuse something, the others do more than was asked, such as a "
        "delivery. Without any one of them, a test fails."
    )
    return f"{head}\n\n{wording.table(('module', 'rules'), rows)}"


def found() -> str:
    """Return the faults that cells found, and how each was mended."""
    faults = tomllib.loads(_FOUND.read_text(encoding="utf-8"))["found"]
    rows = (
        (f"`{wording.cell(it['cell'])}`", wording.cell(it["was"]), wording.cell(it["now"])) for it in faults
    )
    return wording.table(("cell", "what happened", "now"), rows)
