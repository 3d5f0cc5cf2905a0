"""Figures on pages, from the record that `scripts/bench --record` keeps."""

import json
from pathlib import Path
from typing import Any

RECORD = Path(__file__).parents[1] / "benchmark.json"
MANY_BOARDS = 20  # in `idle_boards_…`
HEAD = """\
| figure | measured | goal | times the raw limit | what | commit |
| --- | ---: | --- | ---: | --- | --- |"""


def table() -> str:
    """Return the machine and a row for each figure."""
    record = read_record()
    machine = ", ".join(
        f"{name} {value}" for name, value in record["machine"].items() if name != "load_before"
    )
    rows = (_row(name, figure) for name, figure in record["figures"].items())
    return f"Machine: {machine}.\n\n" + "\n".join([HEAD, *rows])


def boards() -> str:
    """Return what one more board at rest costs, and what a thousand would."""
    figures = {name: figure["value"] for name, figure in read_record()["figures"].items()}
    memory_mb = figures["idle_memory_per_board"]
    cpu = (figures["idle_boards_cpu"] - figures["idle_cpu"]) / (MANY_BOARDS - 1)
    least, most = (figures[f"sweep_points_an_hour_{name}"] for name in ("quiet_100", "busy_2000"))
    first = (f"{figures['idle_memory_pss']:.0f} MB", f"{figures['idle_cpu']:.1f} % of a core")
    points, thousand = f"{least} to {most}", f"{least * 1000:,} to {most * 1000:,}"
    return f"""\
| of what | the first board | one more at rest | a thousand |
| --- | ---: | ---: | ---: |
| memory, over all processes | {first[0]} | {_more(memory_mb, "MB")} | {_more(memory_mb, "GB more")} |
| processor | {first[1]} | {_more(cpu, "%")} | {_more(cpu * 10, "cores more")} |
| GitHub's points an hour for sweeps | {points} | {points} | {thousand} |"""


def _more(value: float, unit: str) -> str:
    """Return the figure; a difference of two measurements may be less than their noise."""
    return f"{value:.2f} {unit}" if value >= 0.005 else "too little to measure"


def read_record() -> dict[str, Any]:
    """Return the machine and the figures by name."""
    record: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return record


def _row(name: str, figure: dict[str, Any]) -> str:
    goal = figure.get("goal", "")
    missed = " **missed**" if figure.get("met") is False else ""
    times = f"{figure['times_raw']:g} × `{figure['raw']}`" if "raw" in figure else ""
    measured = f"{figure['value']:,.3g}" if figure["value"] < 1000 else f"{figure['value']:,.0f}"
    cells = (f"`{name}`", f"{measured} {figure['unit']}", f"{goal}{missed}", times, figure.get("note", ""))
    busy = f", **busy machine: load {figure['load']:.0f}**" if "load" in figure else ""
    return "| " + " | ".join((*cells, f"{figure['commit']}, {figure['day']}{busy}")) + " |"
