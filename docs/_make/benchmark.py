"""The table of docs/benchmark.md, from the record that `scripts/bench --record` keeps."""

import json
from pathlib import Path
from typing import Any

RECORD = Path(__file__).parents[1] / "benchmark.json"
HEAD = """\
| figure | measured | goal | times the raw limit | what | commit |
| --- | ---: | --- | ---: | --- | --- |"""


def table() -> str:
    """Return the machine and a row for each figure."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    machine = ", ".join(
        f"{name} {value}" for name, value in record["machine"].items() if name != "load_before"
    )
    rows = (_row(name, figure) for name, figure in record["figures"].items())
    return f"Machine: {machine}.\n\n" + "\n".join([HEAD, *rows])


def _row(name: str, figure: dict[str, Any]) -> str:
    goal = figure.get("goal", "")
    missed = " **missed**" if figure.get("met") is False else ""
    times = f"{figure['times_raw']:g} × `{figure['raw']}`" if "raw" in figure else ""
    measured = f"{figure['value']:,.3g}" if figure["value"] < 1000 else f"{figure['value']:,.0f}"
    cells = (f"`{name}`", f"{measured} {figure['unit']}", f"{goal}{missed}", times, figure.get("note", ""))
    return "| " + " | ".join((*cells, f"{figure['commit']}, {figure['day']}")) + " |"
