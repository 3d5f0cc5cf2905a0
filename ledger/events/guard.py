"""The guards' findings in a change before it left: file, rule and consequence, never the secret itself."""

from dataclasses import dataclass

from ledger.event import Zoom
from ledger.events.run import RunEvent


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that a guard found. `action`: ask or deny; `rule` is the policy's key with its value.

    `path` is as git has it, bytes that are not UTF-8 escaped; `line` is 0 where it is about the whole file.
    `commit` is empty for a finding at the head, else the commit in which it was and later was not. `mark`
    tells this content from another in the same place.
    """

    guard: str
    rule: str
    path: str
    line: int
    commit: str
    action: str
    what: str
    advice: str
    mark: str

    def describe(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{self.action}: {place} {self.what} (rule {self.rule})"


@dataclass(frozen=True, slots=True)
class GuardsJudged(RunEvent, zoom=Zoom.ACTIVITY, shows_payload=True):
    """All guards looked at `head` and at every commit that GitHub did not have, since `base`.

    `rules` is the digest of the rules that they went by, `digest` that of all findings; `left_out` counts
    those that are not listed here, none of more weight than the listed: denied ones come first.

    `start` is given where the work goes on, and `head` is to be published early: the commit at which the work
    began. `withheld` then says for people why it is not published; empty where it is about to be.
    """

    head: str
    base: str
    rules: str
    findings: tuple[Violation, ...]
    left_out: int
    digest: str
    start: str = ""
    withheld: str = ""

    def describe(self) -> str:
        if self.withheld:
            return f"early publication of {self.head[:12]} withheld: {self.withheld}"
        listed = "; ".join(finding.describe() for finding in self.findings)
        return f"guards on {self.head[:12]}: {listed or 'nothing found'}"
