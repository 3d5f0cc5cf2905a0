"""A measured figure beside the goal it is held to, and how times become figures."""

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value; `most` is the goal, None where there is none.

    `note` says what was measured, `parts` what it is made of, by kind.
    """

    name: str
    value: float
    unit: str
    most: float | None = None
    note: str = ""
    parts: Mapping[str, float] = field(default_factory=dict)

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None without one."""
        return None if self.most is None else self.value <= self.most

    def shown(self) -> dict[str, object]:
        """Return what the document says of it."""
        told: dict[str, object] = {"value": round(self.value, 3), "unit": self.unit}
        if self.most is not None:
            told |= {"goal": f"at most {self.most:g} {self.unit}", "met": self.met}
        told |= {"note": self.note} if self.note else {}
        return told | ({"parts": dict(self.parts)} if self.parts else {})


def percentile(values: Iterable[float], share: float) -> float:
    """Return the value that `share` of all values do not exceed (nearest rank)."""
    ranked = sorted(values)
    return ranked[max(0, math.ceil(share * len(ranked)) - 1)]


def say(text: str) -> None:
    """Tell the progress on stderr; stdout belongs to the document."""
    print(text, file=sys.stderr, flush=True)
