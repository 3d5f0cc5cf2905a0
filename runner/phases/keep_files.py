"""Keep phase of a run without a repository: its files go to the blob store, and to people as artifacts."""

import hashlib
from functools import partial
from io import FileIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from ledger.events.artifact import ArtifactDropped
from ledger.events.run import RunEnded, RunEvent
from ledger.events.workspace import FolderKept
from ledger.states import Ending, RunState
from runner.artifacts.store import CAP_BYTES, Stored, open_store, store_of
from runner.branch.export import export_commit, read_base_head, record_base_head
from runner.errors import MovedBranchError
from runner.git.folder_mirror import SNAPSHOT, FolderMirror, PlainFile
from runner.git.mirror import Beat, Mirror
from runner.phases.checkpoint import HOLD_S
from runner.phases.guard import ask_people
from runner.phases.patience import wait_for_store
from runner.phases.publish import stands_as_checked
from runner.run.exits import fail
from runner.run.log import RunLog
from runner.run.run_spec import Remote, RunSpec
from runner.session.context import RunContext
from runner.session.keep import SHARE, SIZE, artifact_events, keep_report, kind_of_file
from runner.session.tool_effects import report
from runner.text.plain import one_line

T = TypeVar("T")
MAX_KEPT = 100  # files of one run that become artifacts
_MB = 1_000_000
_HISTORY = 4  # times the folder's limit, with its history packed; the history begins anew beyond


def mirror_of(spec: RunSpec, log: RunLog, remote: Remote, beat: Beat) -> Mirror:
    """Return the mirror of the run's repository, or of the files that it works on instead."""
    if spec.has_repository:
        stands_at = {spec.base_branch: spec.base_commit} if spec.base_commit else {}
        return Mirror(spec.paths.mirrors, spec.repository, remote, beat, stands_at=stands_at)
    return FolderMirror(
        spec.paths.mirrors,
        spec.folder,
        remote,
        beat,
        branch=spec.branch,
        newest=lambda: log.snapshot(spec.folder),
        get=lambda digest: wait_for_store(lambda: _get(spec, log, digest), beat),
    )


def _get(spec: RunSpec, log: RunLog, digest: str) -> FileIO | None:
    with log.holding(HOLD_S):
        return open_store(spec.paths.store, spec.paths.artifacts).get(digest, beat=log.beat)


def keep_work(run: RunContext, start: str) -> None:
    """Store the files as the snapshot in force, then write files, report and ending in one transaction.

    Raises Park for what the guards ask about, Finish where they refuse it or it is too large, and
    MovedBranchError where another run has stored its files meanwhile.
    """
    run.step(RunState.PUBLISHING)
    spec, mirror = run.spec, run.mirror
    assert isinstance(mirror, FolderMirror)
    head = export_commit(run, run.checkout.commit())
    if not spec.validation.waived:
        stands_as_checked(run, head)
    ask_people(run, head)
    files = mirror.list_plain_files(head)
    _demand_size(run, files)
    mirror.fetch(spec.base_branch)
    if mirror.head(spec.branch) not in ("", head, read_base_head(run)):
        raise MovedBranchError(spec.branch)
    since = mirror.head(spec.base_branch)
    changed = set(mirror.diff(since, head).paths)
    kept = _keep_files(run, mirror, [file for file in files if file.path in changed])
    ended = RunEnded(spec.run_id, Ending.SUCCEEDED, "", "", one_line(run.history.last_line))
    snapshot = _store_snapshot(run, mirror, head, start, files)
    run.log.append(*kept, snapshot, *report(spec, run.history), *keep_report(run), ended)
    record_base_head(run, snapshot.commit)


def _demand_size(run: RunContext, files: tuple[PlainFile, ...]) -> None:
    size, most = sum(file.size_bytes for file in files), run.spec.folder_mb
    if size > most * _MB:
        raise fail(
            "guardrail",
            f"the files have {size / _MB:,.1f} MB, and at most {most} MB are kept: tell the agent in a"
            " comment what to remove, or raise `folder_mb` of the column, then /cardinal retry",
        )


def _keep_files(run: RunContext, mirror: FolderMirror, files: list[PlainFile]) -> list[RunEvent]:
    events: list[RunEvent] = []
    for file in files[:MAX_KEPT]:
        run.beat()
        if file.size_bytes > CAP_BYTES:
            events.append(ArtifactDropped(run.spec.run_id, one_line(file.path, 200), "", SIZE))
            continue
        shown = _as_shown(run, mirror.read_blob(file.blob))
        stored = wait_for_store(partial(_keep_file, run, shown), run.beat, writes=True)
        events += artifact_events(run, file.path, kind_of_file(file.path), stored)
    if (more := len(files) - MAX_KEPT) > 0:
        events.append(ArtifactDropped(run.spec.run_id, f"{more:,} more files", "", SHARE))
    return events


def _keep_file(run: RunContext, content: str | bytes) -> Stored:
    with run.log.holding(HOLD_S):
        return store_of(run.spec.paths).keep_work(content)


def _as_shown(run: RunContext, raw: bytes) -> str | bytes:
    """Return text without private skills, from which the store takes secrets, and other bytes as they are."""
    try:
        return run.secrecy.redact_private_skills(raw.decode("utf-8"))
    except UnicodeDecodeError:
        return raw


def _store_snapshot(
    run: RunContext, mirror: FolderMirror, head: str, start: str, files: tuple[PlainFile, ...]
) -> FolderKept:
    spec, name = run.spec, f"{run.spec.run_id}-{SNAPSHOT}"
    change = mirror.diff(start, head)
    mirror.remember(name, head)
    with TemporaryDirectory(dir=spec.paths.workspaces.parent, prefix="kept-") as folder:
        bundle = Path(folder) / "snapshot.bundle"
        mirror.write_bundle(bundle, name)
        if bundle.stat().st_size > _HISTORY * spec.folder_mb * _MB:
            head = mirror.without_history(head)
            mirror.remember(name, head)
            mirror.write_bundle(bundle, name)
        digest = wait_for_store(lambda: _put(run, bundle), run.beat, writes=True)
    return FolderKept(
        run_id=spec.run_id,
        folder=spec.folder,
        commit=head,
        bundle=digest,
        files=len(files),
        size_bytes=sum(file.size_bytes for file in files),
        files_changed=change.files_changed,
        lines_changed=change.lines_changed,
    )


def _put(run: RunContext, path: Path) -> str:
    with path.open("rb") as file, run.log.holding(HOLD_S):
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        open_store(run.spec.paths.store, run.spec.paths.artifacts).put(file, digest, beat=run.log.beat)
    return digest
