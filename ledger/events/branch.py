"""A card's branch with the same work and other commits: rebased, or signed by GitHub."""

from dataclasses import dataclass

from ledger.event import RuleEvent, Zoom
from ledger.events.board import CardEvent
from ledger.events.run import RunEvent
from ledger.ids import CardId, RunId


@dataclass(frozen=True, slots=True)
class BranchRebased(
    RunEvent,
    zoom=Zoom.ACTIVITY,
    line="put {branch} on {base:.12}: {before:.12} is {after:.12} now",
    shows_payload=True,
):
    """The branch of a card stands on GitHub at `after`: the work of `before`, put on the commit `base`.

    `same`: it adds and removes the very same lines, so an approval of `before` counts for `after`.
    """

    card_id: CardId
    branch: str
    before: str
    after: str
    base: str
    same: bool


@dataclass(frozen=True, slots=True)
class CommitsSigned(
    RunEvent,
    zoom=Zoom.ACTIVITY,
    line="GitHub signed {head:.12} as {signed:.12}, with the same files",
    shows_payload=True,
    affects_dispatch=False,
):
    """GitHub made the commits up to `signed` in place of those up to `head`, and signed them as the App's.

    Both have the files of `tree`, as they were read back from GitHub: evidence of one counts for the other.
    """

    head: str
    signed: str
    tree: str


@dataclass(frozen=True, slots=True)
class RunChosen(CardEvent, RuleEvent, zoom=Zoom.CONVERSATION, is_audited=True, changes_lane=True):
    """Somebody chose a run that stood beside the card's own: it is the card's now, with its `branch`.

    `before` was the card's run until then.
    """

    run_id: RunId
    branch: str
    before: RunId
    by: str

    def describe(self) -> str:
        return f"{self.by} chose {self.run_id} instead of {self.before}"
