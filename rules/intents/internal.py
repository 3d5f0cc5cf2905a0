"""Inward intents: `bot/reactor/apply.py` makes events of them, from the ledger as it then is."""

from dataclasses import dataclass

from ledger.ids import NO_RUN, RunId
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
    """Queue a new run. `kind`: first, revision, retry, check, rerun, or repair of checks that are red.

    `mode` and its rule, `asked`, `reproduces`, `door`, `rebases`, `waits_for_parts`, `other_agent`,
    `again_of`, `base_commit` and `forked_at` are as in RunQueued; a rerun's `other_agent` may be
    `agent/model`.
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
    again_of: RunId = NO_RUN
    base_commit: str = ""
    forked_at: str = ""
