"""The findings of an investigating run, and the cards that people made of them."""

from dataclasses import dataclass

from ledger.event import Zoom
from ledger.events.board import CardEvent
from ledger.events.run import RunEvent
from ledger.ids import RunId


@dataclass(frozen=True, slots=True)
class Reference:
    """A place in the repository. `line` is 0 for a whole file, `end_line` is `line` for a single one.

    `found` is false where the commit that was investigated has no such file or line.
    """

    path: str
    line: int
    end_line: int
    found: bool


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found. `confidence`: low, medium or high."""

    title: str
    cause: str
    fix: str
    confidence: str
    references: tuple[Reference, ...]


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A card that the run proposes for work of its own; it is made when somebody says so."""

    title: str
    body: str
    reason: str


@dataclass(frozen=True, slots=True)
class InvestigationBegun(RunEvent, zoom=Zoom.ACTIVITY, line="investigates {base:.12}"):
    """The run reads the repository at the commit `base`, and goes on reading that one."""

    base: str


@dataclass(frozen=True, slots=True)
class FindingsReported(RunEvent, zoom=Zoom.CONVERSATION):
    """The findings at the commit `base`: the deliberate end of an investigation.

    `follow_ups` are counted from 1. `discarded` are paths that its place had changed nevertheless, and
    `discarded_omitted` at least how many more there are.
    """

    base: str
    summary: str
    findings: tuple[Finding, ...]
    follow_ups: tuple[FollowUp, ...]
    discarded: tuple[str, ...]
    discarded_omitted: int = 0

    def describe(self) -> str:
        return f"findings: {'; '.join(finding.title for finding in self.findings) or 'none'}"


@dataclass(frozen=True, slots=True)
class FollowUpMade(
    CardEvent,
    zoom=Zoom.CONVERSATION,
    line="follow-up {proposal} of {run_id} is {repository}#{number}",
    is_audited=True,
):
    """The run's follow-up numbered `proposal` became the issue `repository`#`number`."""

    run_id: RunId
    proposal: int
    repository: str
    number: int
