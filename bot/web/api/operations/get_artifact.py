"""Get the text of a run's file, up to 200,000 bytes."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from pydantic import Field

from bot.runspec.host_paths import open_host_store
from bot.web.api.jobs import RunName
from bot.web.api.operation import ApiError, ApiRequest, not_found
from bot.web.api.operations import list_artifacts
from bot.web.api.operations.list_artifacts import Artifact
from bot.web.pages.artifacts import OTHER, SHAPES
from runner.artifacts.backend import StoreError
from runner.text.untrusted import without_invisible as clean

PATH = "/runs/{run}/artifacts/{digest}"
EXAMPLE: Mapping[str, Any] = {"run": "r1", "digest": "0" * 64}
MAX_BYTES = 200_000
LATER_S = 60


class ArtifactName(RunName):
    """A file of a run."""

    digest: str = Field(pattern=r"^[0-9a-f]{64}$", description="Its digest, from list_artifacts")


class ArtifactText(Artifact):
    """A file with its text, in which U+FFFD stands for bytes that are no UTF-8."""

    text: str
    more: bool = Field(description="The file continues after `text`")


Input, Output = ArtifactName, ArtifactText


def run(call: ApiRequest, given: ArtifactName) -> ArtifactText:
    """Return it. Raises ApiError, BusyError."""
    rows = (it for it in list_artifacts.list_visible_files(call, given) if it.digest == given.digest)
    row = next(rows, None)
    if row is None:
        raise not_found()
    if SHAPES.get(row.kind, OTHER).content_type != "text/plain":
        because = "files of this kind are not shown as text"
        remedy = "open the file on the run's page"
        raise ApiError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "not_text", because, remedy)
    try:
        file = None if row.dropped else open_host_store(call.site.config, call.site.engine).opened(row.digest)
    except StoreError as error:
        because, remedy = "the file store does not answer", "send it again in a minute"
        raise ApiError(HTTPStatus.SERVICE_UNAVAILABLE, "busy", because, remedy, LATER_S) from error
    if file is None:
        because, remedy = "the file is no longer in the store", "list_artifacts shows which files are"
        raise ApiError(HTTPStatus.GONE, "gone", because, remedy)
    with file:
        raw = file.read(MAX_BYTES + 1)
    text = clean(raw[:MAX_BYTES].decode("utf-8", "replace"))
    summary = list_artifacts.summary(row)
    return ArtifactText(**summary.model_dump(), text=text, more=len(raw) > MAX_BYTES)
