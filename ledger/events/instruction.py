"""The instructions of a run's agent: their layers, and the skills that were considered.

The text of a private skill is in no event: its name, version and digest say which it was.
"""

from dataclasses import dataclass

from ledger.event import RuleEvent, Zoom
from ledger.events.board import CardEvent
from ledger.events.run import RunEvent


@dataclass(frozen=True, slots=True)
class LayerTold:
    """One layer. `kind`: system, mode, profile, column, card or skill; `digest` is its contents' SHA-256.

    `source` says where it comes from. `text` is empty for a private one, and for the card, whose text is the
    briefing.
    """

    kind: str
    name: str
    source: str
    version: str
    digest: str
    private: bool
    text: str


@dataclass(frozen=True, slots=True)
class SkillConsidered:
    """One skill that the run could have had; `why` says why it was loaded or skipped, as people read it.

    `source` is repository or operator, empty where no such skill was found; `digest` is the SHA-256 of its
    contents, of its SKILL.md alone where it was skipped, and empty where nothing could be read. `asked`: by
    something of the policy, the card or a person, whether it was heeded or not.
    """

    name: str
    source: str
    version: str
    digest: str
    private: bool
    asked: bool
    loaded: bool
    why: str


@dataclass(frozen=True, slots=True)
class SkillsChosen(RunEvent, zoom=Zoom.ACTIVITY):
    """Every skill that was considered for the run, those that were loaded in the order of their loading."""

    considered: tuple[SkillConsidered, ...]

    def describe(self) -> str:
        loaded = [f"{it.name} ({it.why})" for it in self.considered if it.loaded]
        skipped = [f"{it.name} ({it.why})" for it in self.considered if it.asked and not it.loaded]
        return f"skills: {', '.join(loaded) or 'none'}" + (
            f"; skipped: {', '.join(skipped)}" if skipped else ""
        )


@dataclass(frozen=True, slots=True)
class InstructionsStacked(RunEvent):
    """The layers of the agent's instructions in their order; `digest` is the SHA-256 of all of theirs."""

    digest: str
    layers: tuple[LayerTold, ...]

    def describe(self) -> str:
        return f"instructed in {len(self.layers)} layers"


@dataclass(frozen=True, slots=True)
class SkillsPinned(CardEvent, RuleEvent, zoom=Zoom.CONVERSATION, is_audited=True):
    """A person chose skills for the card's next runs, in place of those chosen so before; none: no more."""

    names: tuple[str, ...]
    by: str

    def describe(self) -> str:
        return f"{self.by} chose skills: {', '.join(self.names) or 'none'}"


@dataclass(frozen=True, slots=True)
class AgentPinned(CardEvent, RuleEvent, zoom=Zoom.CONVERSATION, is_audited=True):
    """A person chose who works in the card's next runs: `agent`, `agent/model` or `@specialist`; empty: the
    column's own.
    """

    choice: str
    by: str

    def describe(self) -> str:
        return f"{self.by} chose {self.choice or 'no other agent'} for the next runs"


@dataclass(frozen=True, slots=True)
class WorkflowPinned(CardEvent, RuleEvent, zoom=Zoom.CONVERSATION, is_audited=True):
    """A person chose the workflow of the card's next runs; empty: as its labels and column say."""

    name: str
    by: str

    def describe(self) -> str:
        return (
            f"{self.by} chose {f'the workflow {self.name}' if self.name else 'no workflow'} for the next runs"
        )
