"""Checks of a clone's commit: the gate, as a run in a ledger that is thrown away."""

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex

from sqlalchemy import Engine

from bot.admin.clone.commit import ClonedCommit, FolderRemote, borrow
from bot.admin.clone.own_git import CloneError, git, git_output, no_beat
from bot.render import missing_checks
from bot.runspec.policy_fields import from_policy, validation_of
from bot.system.clock import WALL
from bot.system.config import Config
from ledger.events.bounds import RoundFailed
from ledger.events.run import CHECK, RunClaimed, RunEnded, RunQueued
from ledger.ids import CardId, RunId
from ledger.lifecycle.open import open_ledger
from ledger.log import event_store
from ledger.queue import leases
from ledger.queue.leases import Lease
from ledger.states import Ending
from ledger.views import checks
from ledger.views.checks import CheckRow
from rules.policy.column import ColumnPolicy
from runner import supervisor, workspaces
from runner.checks.by_path import checks_of
from runner.git.mirror import Mirror
from runner.git.object_files import write_ref
from runner.run.log import RunLog
from runner.run.run_spec import Authorship, Briefing, Committer, HostPaths, RunSpec, ValidationSpec
from runner.text.plain import one_line

BRANCH, BASE = "commit", "base"  # the only branches of the copy that is checked
HOLDER = "check"
OWN = "the file of your last commit"
STEP = "commit what `cardinal policy propose` prints, or `repository: {validation: none}`"
LEASE_S = 3600.0  # nobody else is there to take it
PREFIX, LOCK = "cardinal-check.", "lock"


@dataclass(frozen=True, slots=True)
class LocalResult:
    """End of the checks: `detail` is empty when all passed, `agent_view` is the report that an agent gets.

    `rows` are the commands with the word of the gate's witnesses.
    """

    passed: bool
    detail: str
    definition: str
    agent_view: str
    set_up_failed: bool
    rows: tuple[CheckRow, ...]


def has_checks(cloned: ClonedCommit, *, fast: bool) -> bool:
    """Tell whether the policy names checks for the commit, or fast ones.

    Raises CloneError where it should name some, and GitError.
    """
    policy = _validation(cloned, fast=fast)
    if policy.absent:
        own = f"; `cardinal check --base HEAD` goes by {OWN}" if cloned.base != cloned.commit else ""
        lacks = missing_checks.lack(cloned.name, has_file=cloned.has_file)
        raise CloneError(f"{lacks} ({cloned.source} applies): {STEP}{own}")
    with tempfile.TemporaryDirectory(prefix="cardinal-paths.") as name:
        mirror = Mirror(Path(name), cloned.name, FolderRemote(""), no_beat)
        borrow(mirror.path, cloned.repository, cloned.objects)
        policy = checks_of(mirror, policy, cloned.base, cloned.commit)
    return bool(policy.fast or policy.full)


def _validation(cloned: ClonedCommit, *, fast: bool) -> ValidationSpec:
    """Return set-up and checks in one tier: all checks, or only the fast ones."""
    rules = cloned.policy.repository
    spec = validation_of(cloned.name, cloned.base, rules, has_file=cloned.has_file)
    paths = tuple(replace(path, full=() if fast else (*path.fast, *path.full)) for path in spec.paths)
    return replace(spec, full=() if fast else (*spec.fast, *spec.full), paths=paths, quick=fast)


def run_checks(
    cloned: ClonedCommit, config: Config, column: ColumnPolicy, *, fast: bool, say: Callable[[CheckRow], None]
) -> LocalResult:
    """Run set-up and all checks, or only the fast ones, on a clean checkout; `say` gets each result.

    Raises RunnerError where git or the workspace were killed from outside.
    """
    with check_folder() as root:
        spec = _order(cloned, config, column, root, fast=fast)
        mirror = Mirror(spec.paths.mirrors, spec.repository, FolderRemote(""), no_beat).path
        remote = FolderRemote(str(_source(root, mirror, cloned)))
        engine = open_ledger(f"sqlite:///{root / 'cardinal.db'}")
        said: list[CheckRow] = []

        def follow() -> None:
            with event_store.reading(engine) as db:
                fresh = checks.of_run(db, spec.run_id)[len(said) :]
            said.extend(fresh)
            for row in fresh:
                say(row)

        try:
            spec, lease = _claim(engine, spec)
            log = RunLog(engine, spec.run_id, lease, WALL, ttl_s=LEASE_S, on_append=follow)
            supervisor.execute_run(spec, log, remote, WALL, allow_unsandboxed=config.allow_unsandboxed)
            events = [recorded.event for recorded in log.events()]
            with event_store.reading(engine) as db:
                rows = checks.of_run(db, spec.run_id)
            ended = next(event for event in events if isinstance(event, RunEnded))
        finally:
            engine.dispose()
        passed, failure = ended.ending is Ending.SUCCEEDED, log.history.rounds.newest_output()
        set_up_failed = any(isinstance(event, RoundFailed) and event.set_up for event in events)
        return LocalResult(
            passed=passed,
            detail=ended.detail,
            definition=spec.validation.definition,
            agent_view=failure,
            set_up_failed=set_up_failed,
            rows=rows,
        )


def _claim(engine: Engine, spec: RunSpec) -> tuple[RunSpec, Lease]:
    """Queue the run and claim it, as dispatch does."""
    with event_store.writing(engine) as db:
        lease = leases.take(db, f"run:{spec.run_id}", HOLDER, ttl_s=LEASE_S)
        if lease is None:
            raise CloneError("the check's ledger is in use by another process: try again")
        queued = RunQueued(
            run_id=spec.run_id,
            card_id=spec.card_id,
            attempt=0,
            kind=CHECK,
            column="",
            repository=spec.repository,
            branch=spec.branch,
            agent=spec.agent,
            by="",
            session_id="",
            settings="{}",
            plan_required=False,
        )
        claimed = RunClaimed(spec.run_id, lease.generation, HOLDER)
        event_store.append(db, queued, claimed, at=WALL.now())
    return replace(spec, generation=lease.generation), lease


def _order(cloned: ClonedCommit, config: Config, column: ColumnPolicy, root: Path, *, fast: bool) -> RunSpec:
    rules = cloned.policy.repository
    run_id = RunId(f"local-{token_hex(4)}")
    return RunSpec(
        run_id=run_id,
        card_id=CardId(run_id),
        attempt=0,
        kind=CHECK,
        generation=0,
        repository=cloned.name,
        number=0,
        title="",
        branch=BRANCH,
        base_branch=BASE,
        agent=column.agent,
        session_id="",
        plan_required=False,
        briefing=Briefing(""),
        paths=replace(places_of(root), packages=cloned.packages or config.packages, runtime=config.runtime),
        authorship=Authorship(Committer("Cardinal", "cardinal@localhost")),  # no commit of it leaves
        validation=_validation(cloned, fast=fast),
        **from_policy(config, column, rules),
    )


def _source(root: Path, mirror: Path, cloned: ClonedCommit) -> Path:
    """Fill the mirror, and return a repository with the two branches, and the tags, that it fetches.

    The mirror goes into the workspace, so it borrows nothing; the clone's objects are linked, not copied,
    where they are on the same disk. Raises CloneError.
    """
    mirror.parent.mkdir(parents=True)
    whole = ("clone", "--quiet", "--bare")
    made = git(root, *whole, "--", str(cloned.repository), str(mirror))
    borrowed = mirror / "objects" / "info" / "alternates"
    if made.exit_code == 0 and borrowed.exists():  # of a clone that borrows itself
        made = git(mirror, "--git-dir=.", "repack", "-a", "-d", "-q")
        borrowed.unlink()
    if made.exit_code != 0:
        raise CloneError(f"{cloned.repository} cannot be cloned: {one_line(made.tail)}")
    source = borrow(root / "source.git", mirror, (mirror / "objects",))
    for branch, commit in ((BRANCH, cloned.commit), (BASE, cloned.base)):
        write_ref(source, "refs/heads", branch, commit)
    tags = git_output(mirror, "--git-dir=.", "for-each-ref", "--format=%(objectname) %(refname)", "refs/tags")
    (source / "packed-refs").write_text(tags, encoding="utf-8")
    return source


def places_of(root: Path) -> HostPaths:
    """Return the runner's places in the folder."""
    return HostPaths(*(root / each for each in ("mirrors", "workspaces", "logs", "scenarios")))


@contextmanager
def check_folder() -> Iterator[Path]:
    """Give a folder that is gone after the block; those of killed processes go first."""
    for left in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(FileNotFoundError):  # its own process, or another one's next check, was faster
            _remove_left(left)
    with tempfile.TemporaryDirectory(prefix=PREFIX) as name, (Path(name) / LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield Path(name)


def _remove_left(root: Path) -> None:
    """Remove the folder unless it is somebody else's, or its process lives and so holds the lock."""
    known = root.lstat()
    if not stat.S_ISDIR(known.st_mode) or known.st_uid != os.geteuid():
        return
    with (root / LOCK).open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        for name in workspaces.names():
            for leftover in workspaces.load(name).leftovers(places_of(root), lambda _run, _generation: False):
                leftover.remove()
        shutil.rmtree(root, ignore_errors=True)
