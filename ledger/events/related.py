"""Links between cards: those that GitHub has of an issue, and those that the agent of a run reports."""

from dataclasses import dataclass

from ledger.event import Zoom
from ledger.events.board import CardEvent
from ledger.events.run import RunEvent

RELATIONS = {"blocks": "blocks", "blocked_by": "is blocked by", "relates": "is related to"}


@dataclass(frozen=True, slots=True)
class CardProposed(
    RunEvent, zoom=Zoom.CONVERSATION, line="wants a new card: {title} ({reason})", section="related"
):
    """The agent wants a new card for work that is not its own. `proposal` counts in the run from 1.

    `repository` is where, if it is another one than the card's: people are asked by `question_id` first. The
    card's `relation` to the new one is blocked_by or blocks there; empty here.

    Here the new one waits for `parents` (owner/repository#number) and for the run's proposals in `after`. It
    goes into `column`, or with `start` into the run's own; without either into the inbox. It gets `skills`,
    and `agent` shall work on it; empty: its column's own.
    """

    proposal: int
    title: str
    body: str
    reason: str
    repository: str = ""
    relation: str = ""
    question_id: str = ""
    parents: tuple[str, ...] = ()
    after: tuple[int, ...] = ()
    column: str = ""
    start: bool = False
    skills: tuple[str, ...] = ()
    agent: str = ""


@dataclass(frozen=True, slots=True)
class CardLinked(RunEvent, zoom=Zoom.CONVERSATION, section="related"):
    """The card relates to `target` (owner/repository#number). `relation`: blocks, blocked_by or relates."""

    target: str
    relation: str
    reason: str

    def describe(self) -> str:
        return f"this card {RELATIONS.get(self.relation, self.relation)} {self.target}: {self.reason}"


@dataclass(frozen=True, slots=True)
class CardMade(RunEvent, zoom=Zoom.ACTIVITY, line="made card {repository}#{number}", section="related"):
    """The card that the run's agent proposed is an issue now: `number` in `repository`."""

    proposal: int
    title: str
    repository: str
    number: int


@dataclass(frozen=True, slots=True)
class PipelineLimited(
    RunEvent,
    zoom=Zoom.CONVERSATION,
    line="reached the limit of {limit} that an agent may make ({most})",
    section="related",
):
    """The agent wanted more than the policy's `pipelines` allow. `limit`: cards, links or depth."""

    limit: str
    most: int


@dataclass(frozen=True, slots=True)
class Blocker:
    """An issue that another one is blocked by. `state`: open, completed, not_planned or duplicate."""

    repository: str
    number: int
    title: str
    state: str


@dataclass(frozen=True, slots=True)
class LinksSeen(CardEvent):
    """GitHub's links of the card's issue differ from those that were known.

    `hidden` counts open blockers that Cardinal may not see; `parent` is owner/repository#number, or empty.
    `public` has those of their repositories that everybody may read; any other counts as private.
    `parent_before` is the parent that it had, where that is another one.
    """

    blocked_by: tuple[Blocker, ...]
    hidden: int
    parent: str
    public: tuple[str, ...] = ()
    parent_before: str = ""
