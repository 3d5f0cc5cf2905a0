"""Checkpoint: branch, uncommitted files and session go to the store, and come back on another host."""

import gzip
import hashlib
import io
import json
import logging
import re
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from io import FileIO
from pathlib import Path

from ledger.events.artifact import TRANSCRIPT
from ledger.events.run import Progressed, RunEvent
from ledger.events.workspace import Checkpointed, WorkspaceRestored
from ledger.ids import RunId
from ledger.states import Ending
from ledger.views.checkpoints import CheckpointRow
from runner.artifacts.backend import CHUNK_BYTES, Beat, StoreError
from runner.artifacts.store import CAP_BYTES, BlobStore, open_store, store_of
from runner.checks.places import tenancy
from runner.errors import (
    CommandTimeoutError,
    OversizedRepositoryError,
    RemoteAwayError,
    RepositoryError,
    RunnerError,
    WorkspaceError,
)
from runner.git.checkout import Checkout
from runner.git.commits import PATCHED_FILE
from runner.phases.patience import wait_for_store
from runner.run.exits import fail
from runner.run.run_spec import Origin, RunSpec
from runner.session.context import CheckpointPace, RunContext
from runner.session.keep import keep
from runner.session.records import transcript_of
from runner.text.plain import each_text, one_line, redact
from runner.text.untrusted import flat

MAX_FILES = 1_000
_LINES = (".jsonl", ".json")


class SessionArchiveError(RunnerError):
    """The session's files cannot be kept; the message says why."""


def rewrite(source: Path, target: Path, patterns: Sequence[str]) -> None:
    """Write the archive that a workspace left as one of only these files; the same files make the same bytes.

    Lines of JSON lose texts that look like a secret. Raises SessionArchiveError for any other file that holds
    one.
    """
    try:
        with (
            tarfile.open(source, "r:") as given,
            gzip.GzipFile(target, "wb", mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w") as kept,
        ):
            for number, member in enumerate(given):
                if number >= MAX_FILES:
                    raise SessionArchiveError(f"it has more than {MAX_FILES:,} files")
                content = given.extractfile(member) if member.isreg() and not member.issparse() else None
                if content is None or not _is_one_of(member.name, patterns):
                    raise SessionArchiveError("it has other files than an agent's")
                entry = tarfile.TarInfo(member.name)
                clean = _clean(member.name, content.read())
                entry.size, entry.mode = len(clean), 0o600
                kept.addfile(entry, io.BytesIO(clean))
    except (tarfile.TarError, ValueError, EOFError) as error:
        raise SessionArchiveError(f"it cannot be read: {error}") from error


def _is_one_of(name: str, patterns: Sequence[str]) -> bool:
    return ".." not in name.split("/") and any(fnmatchcase(name, pattern) for pattern in patterns)


def _clean(name: str, raw: bytes) -> bytes:
    if not name.endswith(_LINES):
        text = raw.decode("latin-1")
        if redact(text) != text:
            raise SessionArchiveError("it holds what looks like a secret")
        return raw
    whole = raw if name.endswith(".json") else raw[: raw.rfind(b"\n") + 1]  # it may end in half a line
    return b"\n".join(map(_clean_line, whole.split(b"\n")))


def _clean_line(raw: bytes) -> bytes:
    line = raw.decode("utf-8", "replace")
    if redact(line) == line:
        return raw
    try:
        return json.dumps(each_text(json.loads(line), redact), ensure_ascii=False).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        return redact(line).encode("utf-8", "replace")


MAX_BUNDLE_BYTES = 200_000_000  # commits and uncommitted files together, as git packs them
MAX_SESSION_BYTES = 100_000_000
HOLD_S = 900.0  # nothing else renews the claim while blobs move
KEPT_WITHIN_S = 30.0  # how long a run that halts waits for a store that is away or full
LIVE_TRIES = 3
LIVE_HOLD_S = 120.0  # the same at an interval: longer than a store may be silent
KEPT, FILES = "kept", "files"  # the run's names in the mirror
_WHY_CHARS = 200
_NAME_CHARS = 120
_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")
log = logging.getLogger(__name__)


def checkpoint(run: RunContext, point: str = "") -> None:
    """Keep the work in the store, unless it is there already. The card names the parts that could not be
    kept. `point` is as in Checkpointed.
    """
    # Not the run's own beat: that obeys a stop, and a stopped run is kept as well.
    run.log.append(*_transcript(run))
    _keep(run, run.log.beat, HOLD_S, point=point, within_s=KEPT_WITHIN_S)


def claim_signature(run_id: RunId, generation: int) -> str:
    """Return a claim's signature of the workspace that has its files."""
    return f"{run_id}-{generation}"


def pace_of(spec: RunSpec) -> CheckpointPace:
    log_file = transcript_of(spec.paths.logs, spec.run_id)
    return CheckpointPace(logged_bytes=log_file.stat().st_size if log_file.exists() else 0)


def _transcript(run: RunContext) -> tuple[RunEvent, ...]:
    """Store the new part of the transcript, as a file of its own."""
    log_file = transcript_of(run.spec.paths.logs, run.spec.run_id)
    if not log_file.exists() or log_file.stat().st_size <= run.pace.logged_bytes:
        return ()
    with log_file.open("rb") as file:
        file.seek(run.pace.logged_bytes)
        text = file.read().decode("utf-8", "replace")
        run.pace.logged_bytes = file.tell()
    number = 1 + sum(name.startswith("transcript-") for name, _ in run.history.artifacts)
    return keep(run, f"transcript-{number}.log", TRANSCRIPT, text)


def checkpoint_live(run: RunContext, meanwhile: Beat) -> None:
    """Keep the work while the agent is at it; `meanwhile` is called all the time, and may raise to end it."""
    for _ in range(LIVE_TRIES):
        before = _mark_of_history(run)
        if _keep(run, meanwhile, LIVE_HOLD_S, before=before):
            return


def _mark_of_history(run: RunContext) -> tuple[int, int, bool]:
    """Return a mark of the agent's ends and answers so far; its ticks and lines change no work."""
    history, visit = run.history, run.history.stages.open
    return history.finish_seq, len(history.threads), visit is not None and visit.target is not None


def _keep(
    run: RunContext,
    beat: Beat,
    hold_s: float,
    *,
    before: tuple[int, int, bool] | None = None,
    point: str = "",
    within_s: float = 0.0,
) -> bool:
    """Return whether the reading counts: not where the agent said more since `before` than was read.

    A store that is away is waited for `within_s`.
    """
    spec = run.spec
    if (
        run.workspace.fresh
        or claim_signature(spec.run_id, spec.generation) not in run.workspace.read_signatures()
    ):
        return True  # the files are of an older claim, and there may be newer ones elsewhere
    try:
        event = wait_for_store(
            lambda: _store_checkpoint(run, beat, hold_s, point), beat, writes=True, within_s=within_s
        )
        if before not in (None, _mark_of_history(run)):
            return False
        said = f"Not kept for other hosts: {'; '.join(event.left_out)}." if event and event.left_out else ""
    except RunnerError as error:
        log.warning("work not kept run=%s reason=%s", spec.run_id, error)
        event, said = None, f"The work so far is on this host alone: {one_line(str(error), _WHY_CHARS)}"
    if said == run.pace.said:
        said = ""  # once is enough
    run.pace.said = said or run.pace.said
    lines = (Progressed(spec.run_id, said),) if said else ()
    run.log.append(*((event,) if event is not None else ()), *lines)
    return True


def _store_checkpoint(run: RunContext, beat: Beat, hold_s: float, point: str) -> Checkpointed | None:
    """Store the new part, and return its event; None where there is none, and no `point`.

    Raises RunnerError.
    """
    spec, card_id = run.spec, tenancy(run.spec).card_id
    before = run.log.checkpoint(card_id)
    before = before if before is not None and before.run_id == spec.run_id else None
    checkout = Checkout(run.workspace, run.mirror, spec.authorship.author, beat)
    known = f"{before.head} {before.files}" if before is not None else ""
    patterns = session_patterns(run)
    kept = checkout.keep(run.mirror.head(spec.base_branch), known, patterns, MAX_BUNDLE_BYTES)
    head, files = kept.head, kept.files
    names = run.mirror.beating(beat).names_of(spec.run_id)
    left_out = [] if kept.whole else ["uncommitted files that git could not take"]
    with _folder(run) as folder, run.log.holding(hold_s):
        session = _session(run, folder, patterns, left_out, beat)
        if not session and before is not None:
            session = before.session  # who knows less than the files say does no harm
        if before is not None and known == f"{head} {files}":
            bundle, patch, files_changed = before.bundle, before.patch, before.files_changed
            if (session, spec.generation, point) == (before.session, before.generation, ""):
                return None
        elif spec.investigates:
            bundle, patch, files_changed = "", "", 0  # what it writes is thrown away
        else:
            bundle = _store_bundle(run, folder, left_out, beat)
            patch, files_changed = _patch(run, folder, left_out)
    if not head:
        left_out.append("files: the workspace's `.git` cannot be read")
    return Checkpointed(
        run_id=spec.run_id,
        place=card_id,
        generation=spec.generation,
        host=spec.host,
        head=head,
        files=files,
        bundle=bundle,
        session=session,
        patch=patch,
        refs=names,
        stood_on=run.workspace.read_base(),
        left_out=tuple(left_out),
        files_changed=files_changed,
        uncommitted=tuple(flat(redact(name), _NAME_CHARS) for name in kept.uncommitted),
        uncommitted_files=kept.uncommitted_files,
        disk_bytes=run.scales.disk_bytes,
        point=point,
    )


def session_patterns(run: RunContext) -> tuple[str, ...]:
    history = run.history
    sessions = (history.session(run.spec.session_id), *(visit.session_id for visit in history.stages.visits))
    known = dict.fromkeys(name for name in sessions if _NAME.fullmatch(name))
    return tuple(dict.fromkeys(file for name in known for file in run.agent.session_files(name)))


def _session(
    run: RunContext, folder: Path, patterns: tuple[str, ...], left_out: list[str], beat: Beat
) -> str:
    """Store the session's archive and return its digest; empty without one."""
    archive, clean = folder / "kept.tar", folder / "session.tar.gz"
    if not _took_out(run, archive, MAX_SESSION_BYTES, "the session: it is", left_out):
        return ""
    try:
        rewrite(archive, clean, patterns)
    except SessionArchiveError as error:
        left_out.append(f"the session: {error}")
        return ""
    return _put(run, clean, beat)


def _store_bundle(run: RunContext, folder: Path, left_out: list[str], beat: Beat) -> str:
    """Store the bundle that the workspace left, and return its digest; empty without one."""
    bundle = folder / "kept.bundle"
    taken = _took_out(run, bundle, MAX_BUNDLE_BYTES, "commits and files: they are", left_out)
    return _put(run, bundle, beat) if taken else ""  # the base has it all


def _patch(run: RunContext, folder: Path, left_out: list[str]) -> tuple[str, int]:
    """Store the whole change as text; return its digest and how many files it has, nothing without one."""
    patch = folder / "kept.patch"
    if not _took_out(run, patch, CAP_BYTES, "the patch: it is", left_out):
        return "", 0
    text = patch.read_text(encoding="utf-8", errors="replace")
    stored = store_of(run.spec.paths).keep_work(run.secrecy.redact_private_skills(text))
    return stored.digest, len(PATCHED_FILE.findall(text))


def _took_out(run: RunContext, file: Path, most_bytes: int, what: str, left_out: list[str]) -> bool:
    """Take the file of that name out of the workspace; False without one, or where it is too large."""
    try:
        run.workspace.collect(file.name, file, most_bytes)
    except WorkspaceError:
        return False
    except OversizedRepositoryError:
        left_out.append(f"{what} larger than {most_bytes // 1_000_000} MB")
        return False
    return True


def _put(run: RunContext, path: Path, beat: Beat) -> str:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        _store(run).put(file, digest, beat=beat)
    return digest


def _store(run: RunContext) -> BlobStore:
    return open_store(run.spec.paths.store, run.spec.paths.artifacts)


@dataclass(slots=True)
class Brought:
    """The stored parts of a checkpoint. `exact`: the run did nothing since. `head` is empty without files.

    `refused`: the store gave an error.
    """

    row: CheckpointRow
    exact: bool
    head: str = ""
    files: str = ""
    session: FileIO | None = None
    missing: list[str] = field(default_factory=list)
    refused: bool = False


def bring(run: RunContext) -> Brought | None:
    """Fetch the newest checkpoint of the workspace into the mirror, or that with which a fork begins; None
    where there is none that counts.

    A run that succeeded left its work on GitHub: of it the session counts alone. Nothing is changed yet.
    Raises Finish where the store has not all files that a fork needs.
    """
    spec, card_id = run.spec, tenancy(run.spec).card_id
    row = run.log.checkpoint(card_id)
    last = run.log.workspace(card_id)
    if row is None and spec.origin is not None:
        return _bring_origin(run, spec.origin)
    cleaned = row is not None and last is not None and last.cleaned_run == row.run_id
    is_here = row is not None and row.host == spec.host and not cleaned
    if row is None or (is_here and run.workspace.fresh and row.run_id != spec.run_id):
        return None  # a folder of this host that is gone was removed on purpose
    if is_here and run.history.stages.visits:
        return None  # its mirror has what the stages handed over
    own = row.run_id == spec.run_id
    published = not own and run.log.ending_of(row.run_id) is Ending.SUCCEEDED
    moved = any(recorded.seq > row.seq and recorded.event.changes_workspace for recorded in run.log.events())
    return _bring_all(run, Brought(row, own and not moved), published=published)


def _bring_all(run: RunContext, brought: Brought, *, published: bool = False) -> Brought | None:
    row = brought.row
    if not published:
        _bring_files(run, brought)
    if row.session:
        brought.session = _fetch_blob(run, row.session, "the session", brought)
    if brought.session is None and not (brought.head and row.bundle):
        if brought.refused:
            _tell(run, f"Nothing came from host {row.host}: {'; '.join(brought.missing)}.")
        return None  # what GitHub has is as much
    brought.exact = brought.exact and brought.session is not None  # who remembers nothing does it again
    if not (published or row.session or run.spec.origin):
        brought.missing.append("the session: it was not kept")
    return brought


def _bring_origin(run: RunContext, origin: Origin) -> Brought | None:
    row = origin.checkpoint
    brought = Brought(row, exact=False, missing=list(row.left_out))
    found = _bring_all(run, brought)
    if not (brought.head or run.spec.investigates):
        if brought.session is not None:
            brought.session.close()
        why = "; ".join(brought.missing) or "its commits are not in the repository's copy"
        raise fail(
            "repository", f"what {row.run_id} had made is not in the store: {why}. A rerun needs none of it"
        )
    return found


def _bring_files(run: RunContext, brought: Brought) -> None:
    row, run_id = brought.row, run.spec.run_id
    if row.bundle:
        file = _fetch_blob(run, row.bundle, "commits and files", brought)
        if file is None:
            return
        bundle = run.spec.paths.mirrors / f"{run_id}-{run.log.generation}.bundle"
        try:
            with file, bundle.open("wb") as copy:
                shutil.copyfileobj(file, copy, CHUNK_BYTES)
            files = run.mirror.take_bundle(bundle, f"{run_id}-{FILES}", f"refs/cardinal/{FILES}")
        except (RepositoryError, CommandTimeoutError) as error:
            brought.missing.append(f"commits and files: {one_line(str(error), _WHY_CHARS)}")
            return
        finally:
            bundle.unlink(missing_ok=True)
        brought.files = files
    if row.head and run.mirror.has(row.head):
        brought.head = row.head
        run.mirror.remember(f"{run_id}-{KEPT}", row.head)
    if brought.head and row.run_id == run_id:
        for line in row.refs:
            ref, _, commit = line.partition(" ")
            if ref not in (KEPT, FILES) and run.mirror.has(commit):
                run.mirror.remember(f"{run_id}-{ref}", commit)


def _fetch_blob(run: RunContext, digest: str, what: str, brought: Brought) -> FileIO | None:
    """Return the blob; while the store is away, for as long as a start waits for GitHub, ask again."""

    def get() -> FileIO | None:
        with run.log.holding(HOLD_S):
            return _store(run).get(digest, beat=run.log.beat)

    def say(error: StoreError) -> None:
        _tell(run, f"Waits for {what}: {one_line(str(error), _WHY_CHARS)}.")

    try:
        file = wait_for_store(get, run.log.beat_or_stop, say=say)
    except (StoreError, RemoteAwayError) as error:
        why = error.__cause__ if isinstance(error, RemoteAwayError) else error
        brought.missing.append(f"{what}: {one_line(str(why), _WHY_CHARS)}")
        brought.refused = True
        return None
    if file is None:
        brought.missing.append(f"{what}: the store of this host does not have it")
    return file


def _tell(run: RunContext, text: str) -> None:
    run.log.append(Progressed(run.spec.run_id, text))


@contextmanager
def _folder(run: RunContext) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=run.spec.paths.workspaces.parent, prefix="kept-") as name:
        yield Path(name)


@contextmanager
def as_folder(run: RunContext, archive: FileIO) -> Iterator[Path]:
    with _folder(run) as folder:
        folder.chmod(0o755)  # the user inside reads it
        with archive, (folder / "session.tar.gz").open("wb") as copy:
            shutil.copyfileobj(archive, copy, CHUNK_BYTES)
        yield folder


def record_restored(run: RunContext, brought: Brought) -> WorkspaceRestored:
    row = brought.row
    card_id = tenancy(run.spec).card_id
    return WorkspaceRestored(
        run_id=run.spec.run_id,
        place=card_id,
        host=run.spec.host,
        source=row.run_id,
        source_host=row.host,
        missing=tuple(brought.missing),
    )
