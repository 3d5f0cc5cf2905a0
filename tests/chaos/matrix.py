"""The crash matrix as it was run: who was killed when, how long the repair took, how the story ended."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.watch import Struck

REPORT = "CARDINAL_CHAOS_REPORT"  # the file to write it to as well
END = "merged, everything once"


@dataclass(frozen=True, slots=True)
class Row:
    """One blow of one story."""

    story: str
    struck: Struck
    end: str = END


def table(rows: Sequence[Row]) -> str:
    """Return the matrix as a Markdown table."""
    lines = [
        "| story | killed | when | repaired after | the story ended |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        hit = row.struck
        lines.append(f"| {row.story} | {hit.victim} | {hit.moment} | {hit.recovered_s:.2f} s | {row.end} |")
    return "\n".join(lines)


def write(text: str) -> None:
    """Write the matrix to the file that the environment names, if it does."""
    target = os.environ.get(REPORT)
    if target:
        Path(target).write_text(text + "\n", encoding="utf-8")
