"""Extend the claim of a run that you claimed, and say how far it is."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import Field

from bot.web.api import claims, jobs
from bot.web.api.jobs import RunName
from bot.web.api.operation import ApiModel, SiteRequest
from ledger.queue.api_tokens import Scope
from runner.text.given import GivenText
from runner.text.untrusted import without_invisible as clean

METHOD, PATH = "POST", "/runs/{run}/heartbeat"
SCOPE = Scope.ACT
EXAMPLE: Mapping[str, Any] = {"run": "r1", "generation": 1, "progress": "Half of it is done"}
MAX_PROGRESS = 500


class SentHeartbeat(RunName):
    """The run, the claim, and a line for people."""

    generation: int = Field(ge=1, le=2**31, description="The claim's")
    progress: GivenText = Field("", max_length=MAX_PROGRESS, description="What it does now, in one line")
    lease_s: int = Field(
        0,
        ge=0,
        le=claims.MAX_LEASE_S,
        description=f"Seconds until the next heartbeat is due, {claims.MIN_LEASE_S} at least; 0: the claim's",
    )


class ExtendedClaim(ApiModel):
    """The claim lasts."""

    run: str
    until: datetime = Field(description="When the claim runs out without another heartbeat")
    messages: list[str] = Field(
        description="What people told its worker since it was claimed; the newest 20, oldest first"
    )


Input, Output = SentHeartbeat, ExtendedClaim


def run(call: SiteRequest, given: SentHeartbeat) -> ExtendedClaim:
    """Extend it. Raises ApiError where the claim is over or people stopped the run, and BusyError."""
    claim = claims.extend_claim(
        call,
        jobs.require_run(call, given.run),
        given.generation,
        progress=given.progress,
        lease_s=given.lease_s,
    )
    messages = [clean(message) for message in claim.messages]
    return ExtendedClaim(run=claim.run.run_id, until=claim.until, messages=messages)
