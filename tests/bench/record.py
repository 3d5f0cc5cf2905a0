"""The record of the last full measurement: `docs/benchmark.json`, from which a reference page is made."""

import json
import re
import subprocess
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.bench.figures import Figure

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "docs" / "benchmark.json"
SIZE = re.compile(r"(?<=_)\d+(?=_|$)")  # in a figure's name: what it was measured with


def keep(machine: Mapping[str, Any], entries: Mapping[str, Mapping[str, Any]]) -> None:
    """Put these figures into the record, each with the commit and the day; older ones of other names stay.

    Where others kept the machine busy before, the record says so.
    """
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    measured: dict[str, Any] = {
        "commit": described.stdout.strip(),
        "day": datetime.now(UTC).date().isoformat(),
    }
    if machine["load_before"] > machine["cores"]:
        measured["load"] = machine["load_before"]
    figures = read()["figures"] | {name: {**entry, **measured} for name, entry in entries.items()}
    text = json.dumps({"machine": machine, "figures": figures}, indent=1, ensure_ascii=False)
    RECORD.write_text(f"{text}\n", encoding="utf-8")


def read() -> dict[str, Any]:
    """Return the record: `machine`, and `figures` by name."""
    if not RECORD.exists():
        return {"machine": {}, "figures": {}}
    found: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def strangers(figures: Iterable[Figure]) -> list[str]:
    """Return a line for each figure that the record has at no size, or with another goal at this size."""
    known = read()["figures"]
    kinds = {SIZE.sub("", name) for name in known}
    return [
        f"the benchmark's page lacks {figure.name} ({figure.goal or 'no goal'}): run scripts/bench --record"
        for figure in figures
        if SIZE.sub("", figure.name) not in kinds
        or (figure.name in known and known[figure.name].get("goal", "") != figure.goal)
    ]
