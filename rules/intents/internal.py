"""Inward intents: `bot/reactor/apply.py` makes events of them, from the ledger as it then is."""

from dataclasses import dataclass

from ledger.ids import NO_RUN, CardId, RunId
from ledger.states import CardState, Reason, RunKind
from rules.intents.outbound import Decision, Intent

_THIS_CARD = CardId("")


@dataclass(frozen=True, slots=True)
class ShowCard(Intent, only_shows=True):
    """Show how the card that is decided about stands: `conclude_decision` does so at the end.

    `state` None: the one that run, pull request and column give, with `because` for its sentence if there is
    one. `stays`: only the sentence is new. Without `on_face`, nothing is written on the board.
    """

    card_id: CardId = _THIS_CARD
    state: CardState | None = None
    because: str = ""
    reason: Reason = Reason.OTHER
    stays: bool = False
    on_face: bool = True


def show_card(
    state: CardState | None = None, because: str = "", reason: Reason = Reason.OTHER, *, on_face: bool = True
) -> Decision:
    """Return that the card is shown: in a state, or in the one that it is in now."""
    shown = ShowCard(state=state, because=because, reason=reason, on_face=on_face)
    return Decision((shown,), (shown,))


def show_sentence(because: str, reason: Reason = Reason.OTHER) -> Decision:
    """Return only the sentence, for a card whose state stays as it is."""
    return Decision((ShowCard(because=because, reason=reason, stays=True),), (because,))


@dataclass(frozen=True, slots=True)
class ChangeCardState(Intent, only_shows=True):
    """Move the card's state; `because` is read by people, `reason` by rules."""

    after: CardState
    because: str
    reason: Reason = Reason.OTHER


@dataclass(frozen=True, slots=True)
class QueueRun(Intent):
    """Queue a new run.

    `mode` and its rule, `asked`, `reproduces`, `door`, `rebases`, `waits_for_parts`, `other_agent`,
    `again_of`, `base_commit` and `forked_at` are as in RunQueued; a rerun's `other_agent` may be
    `agent/model`.
    """

    kind: RunKind
    by: str
    plan_required: bool
    mode: str = "fix"
    mode_rule: str = "column"
    mode_value: str = ""
    asked: str = ""
    reproduces: bool = False
    door: str = ""
    rebases: bool = False
    waits_for_parts: bool = False
    other_agent: str = ""
    again_of: RunId = NO_RUN
    base_commit: str = ""
    forked_at: str = ""
