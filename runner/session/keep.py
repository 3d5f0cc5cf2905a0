"""Keeps artifacts of a run for people, each once: briefing, logs, patch, report, files of a browser."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ledger.events.artifact import FILE, PAGE, ArtifactDropped, ArtifactKept
from ledger.events.run import RunEvent
from ledger.model.metadata import metadata_lines
from runner.artifacts.store import Stored, store_of
from runner.errors import OversizedRepositoryError, WorkspaceError
from runner.session.context import RunContext
from runner.text.plain import one_line
from runner.workspaces.contract import Workspace

SIZE, SHAPE = "size", "shape"
# What a browser would run or draw if it were a page: people get it as a download.
_PAGES = (".html", ".htm", ".xhtml", ".xht", ".svg", ".xml", ".mht", ".mhtml")
MAX_BYTES = 40_000_000  # of all files of one reproduction
MAX_STEPS = 40
_MB = 1_000_000
_PNG, _ZIP, _WEBM = b"\x89PNG\r\n\x1a\n", b"PK\x03\x04", b"\x1aE\xdf\xa3"
SHARE = "share"
STORE = "store"


def keep(run: RunContext, name: str, kind: str, text: str) -> tuple[RunEvent, ...]:
    """Store a text and return its event; nothing where the run has it already."""
    return artifact_events(run, name, kind, store_of(run.spec.paths).keep(text))


def kind_of_file(name: str) -> str:
    """Return the artifact's kind of a file of the agent's."""
    return PAGE if name.lower().endswith(_PAGES) else FILE


def artifact_events(run: RunContext, name: str, kind: str, stored: Stored) -> tuple[RunEvent, ...]:
    run_id, known = run.spec.run_id, run.history.artifacts
    name = one_line(name, 200)
    if known.get((name, stored.digest)) is not None:
        return ()
    again = any(digest == stored.digest for _, digest in known)  # it is there once, under whatever name
    held = {digest: size for (_, digest), size in known.items()}
    has_room = again or sum(held.values()) + stored.size_bytes <= run.spec.limits.kept_bytes
    if stored.lost or not has_room:
        return (
            ArtifactDropped(
                run_id=run_id,
                name=name,
                digest=stored.digest,
                reason=STORE if stored.lost else SHARE,
                kind=kind,
                size_bytes=stored.size_bytes,
            ),
        )
    return (ArtifactKept(run_id, name, kind, stored.digest, stored.size_bytes),)


def patch(run: RunContext, base: str, head: str) -> tuple[RunEvent, ...]:
    """Keep the branch's diff against its base. Raises RepositoryError."""
    return keep(run, f"{run.spec.branch}.patch", "patch", run.mirror.patch(base, head))


def keep_report(run: RunContext) -> tuple[RunEvent, ...]:
    said = run.history.finish or {}
    lists = (("What changed", "changed"), ("What to check", "check"), ("Open questions", "open_questions"))
    parts = [f"# Report of {run.spec.run_id}", str(said.get("done") or "Nothing was reported.")]
    for title, key in lists:
        rows = [f"* {item}" for item in said.get(key) or ()]
        parts += [f"## {title}", "\n".join(rows)] if rows else []
    if metadata := said.get("metadata"):
        parts += ["## Metadata", "\n".join(f"* {line}" for line in metadata_lines(metadata))]
    return keep(run, "report.md", "report", "\n\n".join(parts) + "\n")


@dataclass(frozen=True, slots=True)
class Expected:
    """A file that may exist. `begins` is its magic number; empty for text, which is redacted."""

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


def keep_files(run: RunContext, workspace: Workspace, phase: str) -> tuple[str, ...]:
    """Store the files of a replay and return their kinds, one for each.

    Only these names, only plain files, only up to their caps: a larger or malformed file is dropped with an
    event, never truncated. Text is redacted, private skills included.
    """
    kept, left = [], MAX_BYTES
    with tempfile.TemporaryDirectory(dir=run.spec.paths.workspaces.parent, prefix="browser-") as folder:
        for expected in FILES:
            run.log.beat()
            copy = Path(folder) / "file"
            name = f"{phase}-{expected.file}"
            try:
                workspace.collect(expected.file, copy, min(expected.cap_bytes, left))
            except WorkspaceError:  # it is not there, or it is no plain file
                continue
            except OversizedRepositoryError:
                run.log.append(ArtifactDropped(run.spec.run_id, name, "", SIZE))
                continue
            raw = copy.read_bytes()
            left -= len(raw)
            for event in _store_text(run, expected, name, raw):
                run.log.append(event)
                kept += [expected.kind] if isinstance(event, ArtifactKept) else []
    return tuple(kept)


def _store_text(
    run: RunContext, expected: Expected, name: str, raw: bytes
) -> Iterator[ArtifactKept | ArtifactDropped]:
    if not raw:
        return
    if not raw.startswith(expected.begins):
        yield ArtifactDropped(run.spec.run_id, name, "", SHAPE)
        return
    content = raw if expected.begins else run.secrecy.redact_private_skills(raw.decode("utf-8", "replace"))
    stored = store_of(run.spec.paths).keep(content, expected.cap_bytes)
    for event in artifact_events(run, name, expected.kind, stored):
        if isinstance(event, ArtifactKept | ArtifactDropped):
            yield event
