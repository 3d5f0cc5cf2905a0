"""The report of a rehearsal: lines for the terminal, and a document without names, texts and ids."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.admin.rehearsal.belief import Belief, BeliefVerdict, Comparison
from bot.admin.rehearsal.mail import ListedDelivery
from bot.admin.rehearsal.stage import RehearsalStage
from bot.system import release


@dataclass(frozen=True, slots=True)
class RehearsalReport:
    """The findings, in the order of the beliefs, and the rehearsal's price."""

    server: str
    beliefs: tuple[Belief[RehearsalStage], ...]
    findings: tuple[Comparison, ...]
    deliveries: tuple[ListedDelivery, ...]
    calls: Mapping[str, int]
    points: int
    hour: Mapping[str, int]
    removed: Mapping[str, int]
    seconds: float

    @property
    def otherwise(self) -> tuple[str, ...]:
        """The names of the beliefs that do not hold here."""
        return tuple(it.name for it in self.findings if it.verdict is BeliefVerdict.OTHERWISE)

    def document(self) -> dict[str, Any]:
        """Return the report as plain JSON; it may be attached to an issue."""
        return {
            "cardinal": release.version(),
            "github": self.server,
            "beliefs": [_of_belief(*pair) for pair in zip(self.beliefs, self.findings, strict=True)],
            "deliveries": delays(self.deliveries),
            "calls": dict(self.calls),
            "points_of_secondary_limits": self.points,
            "points_of_the_hour": dict(self.hour),
            "removed": dict(self.removed),
            "seconds": round(self.seconds, 1),
        }

    def summary(self) -> Iterator[str]:
        """Yield the lines after those of the findings."""
        verdicts = Counter(finding.verdict for finding in self.findings)
        yield ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in BeliefVerdict)
        calls = ", ".join(f"{count} {name}" for name, count in sorted(self.calls.items()))
        yield f"{sum(self.calls.values())} calls ({calls}), {self.points} points, {self.seconds:.0f} s"
        removed = ", ".join(f"{count} {kind}" for kind, count in self.removed.items() if kind != "left")
        yield f"removed: {removed or 'nothing'}"
        if left := self.removed.get("left"):
            yield f"{left} things are left over: `cardinal rehearse --clean` removes them"


def _of_belief(belief: Belief[RehearsalStage], finding: Comparison) -> dict[str, Any]:
    record: dict[str, Any] = {"name": belief.name, "says": belief.says, "verdict": finding.verdict.value}
    if finding.differences:
        record["differences"] = {
            name: {"believed": believed, "came": came}
            for name, (believed, came) in finding.differences.items()
        }
    if finding.because:
        record["because"] = finding.because
    return {
        **record,
        "used": belief.used,
        "source": belief.source,
        "seconds": finding.seconds,
    }


def line_of(finding: Comparison) -> str:
    """Return the finding's name and reason for a person, with GitHub's own words."""
    differences = (
        f"{name}: {came}, not {believed}" for name, (believed, came) in finding.differences.items()
    )
    because = ": ".join(filter(None, (finding.because or "; ".join(differences), finding.reply)))
    return f"{finding.name}{': ' if because else ''}{because}"


def delays(deliveries: Sequence[ListedDelivery]) -> dict[str, dict[str, float]]:
    """Return count, least and greatest delay by kind of delivery."""
    by_kind = defaultdict[str, list[float]](list)
    for delivery in deliveries:
        by_kind[f"{delivery.event}.{delivery.action}"].append(delivery.delay_s)
    return {
        kind: {"count": len(seconds), "least_s": min(seconds), "most_s": max(seconds)}
        for kind, seconds in sorted(by_kind.items())
    }
