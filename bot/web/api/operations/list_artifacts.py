"""List a run's files, oldest first."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import Field

from bot.web.api.jobs import RunName
from bot.web.api.operation import ApiModel, ApiRequest
from bot.web.api.operations import get_run
from ledger.ids import RunId
from ledger.log import event_store
from ledger.views import artifacts
from ledger.views.artifacts import ArtifactRow
from runner.text.untrusted import without_invisible as clean

PATH = "/runs/{run}/artifacts"
EXAMPLE: Mapping[str, Any] = {"run": "r1"}


class Artifact(ApiModel):
    """A file of a run."""

    name: str
    kind: str
    digest: str = Field(description="SHA-256 of its bytes; empty if it was never kept")
    size_bytes: int
    at: datetime
    dropped: str = Field(description="Why it is gone: age, space, share or store; empty if it is not")


class ArtifactList(ApiModel):
    """All of them."""

    artifacts: list[Artifact]


Input, Output = RunName, ArtifactList


def run(call: ApiRequest, given: RunName) -> ArtifactList:
    """Return them. Raises ApiError, BusyError."""
    return ArtifactList(artifacts=[summary(row) for row in readable_files(call, given)])


def readable_files(call: ApiRequest, given: RunName) -> tuple[ArtifactRow, ...]:
    """Return the run's files but those for the operator alone. Raises ApiError, BusyError."""
    get_run.visible(call, given)
    with event_store.reading(call.site.engine) as db:
        files = artifacts.of_run(db, RunId(given.run))
    return tuple(file for file in files if file.is_for_readers)


def summary(row: ArtifactRow) -> Artifact:
    """Return a file in a list."""
    return Artifact(
        name=clean(row.name),
        kind=clean(row.kind),
        digest=row.digest,
        size_bytes=row.size_bytes,
        at=row.at,
        dropped=row.dropped,
    )
