"""A measured figure beside the goal it is held to, and how times become figures."""

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value; the goal is to be at most `most`, or at least `least`, where one of them is given.

    `note` says what was measured, `parts` what it is made of, by kind, and `raw` names the figure of
    `tests.bench.limits` that is its floor.
    """

    name: str
    value: float
    unit: str
    most: float | None = None
    note: str = ""
    parts: Mapping[str, float] = field(default_factory=dict)
    least: float | None = None
    raw: str = ""

    @property
    def goal(self) -> str:
        """What the value is held to, in words; empty without a goal."""
        bounds = (("at most", self.most), ("at least", self.least))
        return ", ".join(f"{word} {bound:g} {self.unit}" for word, bound in bounds if bound is not None)

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None without one."""
        if not self.goal:
            return None
        return (self.most is None or self.value <= self.most) and (
            self.least is None or self.value >= self.least
        )

    def to_json(self, raw: "Figure | None" = None) -> dict[str, object]:
        """Return the document's entry; with `raw` of the same run, how many times its cost this one has."""
        entry: dict[str, object] = {"value": round(self.value, 3), "unit": self.unit}
        entry |= {"goal": self.goal, "met": self.met} if self.goal else {}
        entry |= {"raw": raw.name, "times_raw": round(self.times(raw), 2)} if raw else {}
        entry |= {"note": self.note} if self.note else {}
        return entry | ({"parts": dict(self.parts)} if self.parts else {})

    def times(self, raw: "Figure") -> float:
        """Return how many times the cost of `raw` this has: rates are divided the other way round."""
        return raw.value / self.value if self.unit.endswith("/s") else self.value / raw.value


def percentile(values: Iterable[float], share: float) -> float:
    """Return the value that `share` of all values do not exceed (nearest rank)."""
    ranked = sorted(values)
    return ranked[max(0, math.ceil(share * len(ranked)) - 1)]


def say(text: str) -> None:
    """Tell the progress on stderr; stdout belongs to the document."""
    print(text, file=sys.stderr, flush=True)
