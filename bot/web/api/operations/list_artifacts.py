"""List a run's files, oldest first."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import Field

from bot.render.run.artifacts import DROPPED
from bot.web.api import jobs
from bot.web.api.jobs import RunName
from bot.web.api.operation import ApiModel, ApiRequest
from ledger.log import event_store
from ledger.views import artifacts
from ledger.views.artifacts import ArtifactRow
from runner.text.untrusted import without_invisible as clean

PATH = "/runs/{run}/artifacts"
EXAMPLE: Mapping[str, Any] = {"run": "r1"}
COLUMNS = ("name", "kind", "size_bytes", "at", "gone", "digest")


class Artifact(ApiModel):
    """A file of a run."""

    name: str
    kind: str
    digest: str = Field(description="SHA-256 of its bytes; empty if it was never kept")
    size_bytes: int
    at: datetime
    dropped: str = Field(description="Why it is gone: age, space, share or store; empty if it is not")
    gone: str = Field(description="The same in words")


class ArtifactList(ApiModel):
    """All of them."""

    artifacts: list[Artifact]


Input, Output = RunName, ArtifactList


def run(call: ApiRequest, given: RunName) -> ArtifactList:
    """Return them. Raises ApiError, BusyError."""
    return ArtifactList(artifacts=list(map(summary, list_visible_files(call, given))))


def list_visible_files(call: ApiRequest, given: RunName) -> tuple[ArtifactRow, ...]:
    """Return the files of a run that the account may open. Raises ApiError, BusyError."""
    row = jobs.require_run(call, given.run)
    with event_store.reading(call.site.engine) as db:
        return tuple(it for it in artifacts.of_run(db, row.run_id) if may_open(call, it))


def may_open(call: ApiRequest, file: ArtifactRow) -> bool:
    """Tell whether the account may open a file of a run that it may see: some are the operator's alone."""
    return call.is_operators or file.is_for_readers


def summary(row: ArtifactRow) -> Artifact:
    """Return a file in a list."""
    return Artifact(
        name=clean(row.name),
        kind=clean(row.kind),
        digest=row.digest,
        size_bytes=row.size_bytes,
        at=row.at,
        dropped=row.dropped,
        gone=DROPPED.get(row.dropped, row.dropped),
    )
