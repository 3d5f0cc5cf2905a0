"""Explain why a job is moving or waiting."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from bot.state import policies, snapshots
from bot.web.api import jobs
from bot.web.api.jobs import JobName
from bot.web.api.operation import ApiModel, ApiRequest
from ledger.log import event_store
from ledger.rows.cards import CardRow
from ledger.states import CardState
from rules.explain import explain_with_workflow
from runner.text.untrusted import without_invisible as clean

PATH = "/jobs/{owner}/{repository}/{number}/explanation"
EXAMPLE: Mapping[str, Any] = {"owner": "acme", "repository": "shop", "number": 1}
Input = JobName


class Explanation(ApiModel):
    """The reason."""

    state: CardState
    why: str = Field(description="The reason, in one sentence")


Output = Explanation


def run(call: ApiRequest, given: JobName) -> Explanation:
    """Return it. Raises ApiError, BusyError."""
    return explain_card(call, jobs.card_of(call, given))


def explain_card(call: ApiRequest, card: CardRow) -> Explanation:
    """Return it of a card that the account may see."""
    with event_store.reading(call.site.engine) as db:
        snapshot = snapshots.of_card(db, card.card_id)
        policy = policies.in_force(db, card.board_id)
        place = snapshots.with_place(db, snapshot) if snapshot else None
        because = explain_with_workflow(policy, place) if place else card.because
    return Explanation(state=card.state, why=clean(because))
