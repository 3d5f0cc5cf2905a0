"""Claim a job for a worker of your own: a program that does the work and hands it in."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import Field

from bot.web.api import claims, jobs
from bot.web.api.jobs import JobName
from bot.web.api.operation import ApiModel, SiteRequest
from ledger.queue.api_tokens import Scope

METHOD, PATH = "POST", "/jobs/{owner}/{repository}/{number}/claim"
SCOPE = Scope.ACT
EXAMPLE: Mapping[str, Any] = {"owner": "acme", "repository": "shop", "number": 1, "lease_s": 600}


class JobClaim(JobName):
    """The job, and how long the claim lasts without a heartbeat."""

    lease_s: int = Field(
        claims.LEASE_S,
        ge=claims.MIN_LEASE_S,
        le=claims.MAX_LEASE_S,
        description="Seconds without a heartbeat after which the run is lost",
    )


class ClaimedRun(ApiModel):
    """The run is yours."""

    run: str = Field(description="The run's name, such as r12")
    generation: int = Field(description="Send it with each heartbeat and with the report")
    until: datetime = Field(description="When the claim runs out without a heartbeat")
    repository: str
    branch: str = Field(description="The card's branch, if the work changes files")
    attempt: int
    briefing: str = Field(
        description="What an agent would be told, as Markdown: the card, its conversation, earlier reports"
    )


Input, Output = JobClaim, ClaimedRun


def run(call: SiteRequest, given: JobClaim) -> ClaimedRun:
    """Claim it once. Raises ApiError, BusyError, GithubError, ReusedKeyError."""
    claim, briefing = claims.claim_card(call, jobs.card_of(call, given, acts=True), given.lease_s)
    return ClaimedRun(
        run=claim.run.run_id,
        generation=claim.generation,
        until=claim.until,
        repository=claim.run.repository,
        branch=claim.run.branch,
        attempt=claim.run.attempt,
        briefing=briefing,
    )
