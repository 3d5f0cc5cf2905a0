"""Inward intents: `bot/reactor/apply.py` makes events of them, from the ledger as it then is."""

from dataclasses import dataclass

from ledger.states import CardState, Reason
from rules.intents.outbound import Intent


@dataclass(frozen=True, slots=True)
class ChangeCardState(Intent, only_shows=True):
    """Move the card's state; `because` is read by people, `reason` by rules."""

    after: CardState
    because: str
    reason: Reason = Reason.OTHER


@dataclass(frozen=True, slots=True)
class QueueRun(Intent):
    """Queue a new run. `kind`: first, revision, retry, or repair of checks that are red.

    `mode` and its rule, `asked`, `reproduces`, `door`, `rebases`, `waits_for_parts` and `other_agent` are as
    in RunQueued.
    """

    kind: str
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
