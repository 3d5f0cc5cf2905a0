"""What a reproduction leaves in its place, kept for people: trace, video, screenshots, console."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ledger.events.artifact import ArtifactDropped, ArtifactKept
from runner.artifacts import keep
from runner.artifacts.store import Store
from runner.errors import OversizedRepositoryError, WorkspaceError
from runner.run.context import RunContext
from runner.workspaces.contract import Workspace

SIZE, SHAPE = "size", "shape"
MAX_BYTES = 40_000_000  # of all files of one reproduction
MAX_STEPS = 40
_MB = 1_000_000
_PNG, _ZIP, _WEBM = b"\x89PNG\r\n\x1a\n", b"PK\x03\x04", b"\x1aE\xdf\xa3"


@dataclass(frozen=True, slots=True)
class Expected:
    """A file that may be there. `begins`: how its bytes must begin; empty for text, which is redacted."""

    file: str
    kind: str
    cap_bytes: int
    begins: bytes = b""


FILES = (
    Expected("console.txt", "console", 2 * _MB),
    Expected("app.txt", "log", 2 * _MB),
    Expected("final.png", "screenshot", 2 * _MB, _PNG),
    Expected("trace.zip", "trace", 20 * _MB, _ZIP),
    Expected("video.webm", "video", 15 * _MB, _WEBM),
    *(Expected(f"step-{number:02}.png", "screenshot", 2 * _MB, _PNG) for number in range(1, MAX_STEPS + 2)),
)


def keep_files(run: RunContext, room: Workspace, phase: str) -> tuple[str, ...]:
    """Put what is there into the store and return the kinds of what was kept, one for each.

    Only these names, only plain files, and of each only so much: one that is larger, or is not what its name
    says, is dropped with an event, and never cut. Text is redacted, also of what private skills say.
    """
    kept, left = [], MAX_BYTES
    with tempfile.TemporaryDirectory(dir=run.order.places.workspaces.parent, prefix="browser-") as folder:
        for one in FILES:
            run.log.beat()
            copy = Path(folder) / "file"
            name = f"{phase}-{one.file}"
            try:
                room.collect(one.file, copy, min(one.cap_bytes, left))
            except WorkspaceError:  # it is not there, or it is no plain file
                continue
            except OversizedRepositoryError:
                run.log.append(ArtifactDropped(run.order.run_id, name, "", SIZE))
                continue
            raw = copy.read_bytes()
            left -= len(raw)
            for event in _stored(run, one, name, raw):
                run.log.append(event)
                kept += [one.kind] if isinstance(event, ArtifactKept) else []
    return tuple(kept)


def _stored(
    run: RunContext, one: Expected, name: str, raw: bytes
) -> Iterator[ArtifactKept | ArtifactDropped]:
    if not raw:
        return
    if not raw.startswith(one.begins):
        yield ArtifactDropped(run.order.run_id, name, "", SHAPE)
        return
    content = raw if one.begins else run.secrecy.redact_private_skills(raw.decode("utf-8", "replace"))
    stored = Store(run.order.places.artifacts).keep(content, one.cap_bytes)
    for event in keep.artifact_events(run, name, one.kind, stored):
        if isinstance(event, ArtifactKept | ArtifactDropped):
            yield event
