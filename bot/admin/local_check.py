"""Checks of a person's clone: the gate on one of its commits, as a run in a ledger that is thrown away."""

import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex

from sqlalchemy import Engine

from bot.bootstrap import WALL
from bot.repo_config.policy_file import PATH, installed
from bot.repo_config.profiles import ROOT
from bot.runspec.builder import COMMITTER, from_policy, validation_of
from bot.system.config import Config
from ledger.errors import CardinalError
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
from rules.policy.model import DEFAULT_TEXT, Policy, parse
from runner import supervisor
from runner.exec.child import Ran
from runner.git.cli import run_git
from runner.git.mirror import Mirror
from runner.git.object_files import write_ref
from runner.run.log import RunLog
from runner.run.run_spec import HostPaths, RunSpec
from runner.text.plain import one_line

BRANCH, BASE = "commit", "base"  # the only branches of the copy that is checked
ALTERNATES = Path("objects/info/alternates")  # gitrepository-layout(5)
GIT_S = 300.0
HOLDER = "check"
LEASE_S = 3600.0  # nobody else is there to take it
BASES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")


class LocalCheckError(CardinalError):
    """The clone cannot be checked as it is; `because` ends with what to do."""

    def __init__(self, because: str) -> None:
        self.because = because
        super().__init__(because)


@dataclass(frozen=True, slots=True)
class LocalCheck:
    """What is checked: a commit, by the policy file at `base`. `repository` is the clone's git folder."""

    folder: Path
    commit: str
    base: str
    base_name: str
    repository: Path
    uncommitted: bool
    policy: Policy
    has_file: bool


@dataclass(frozen=True, slots=True)
class LocalResult:
    """How it ended: `detail` is empty when all passed, `agent_view` is what an agent would be told."""

    passed: bool
    detail: str
    definition: str
    agent_view: str


@dataclass(frozen=True, slots=True)
class _Folder:
    """A repository in a folder, to be fetched from without credentials."""

    url: str

    def git_environment(self) -> Mapping[str, str]:
        """Return nothing: the folder is this user's."""
        return {}


def find(folder: Path, commit: str, base: str) -> LocalCheck:
    """Return the check of `commit` in the repository around `folder`; an empty `base` is looked for.

    Nothing is written. Raises LocalCheckError, and PolicyError for the file at the base.
    """
    repository = _git(folder, "rev-parse", "--path-format=absolute", "--git-common-dir").strip()
    if not repository:
        raise LocalCheckError(f"{folder} is in no git repository: go into your clone, or name it with -C")
    head = _commit(folder, commit)
    if not head:
        raise LocalCheckError(f"there is no commit {commit!r} here: fetch it, or name another")
    bases = {name: _commit(folder, name) for name in ((base,) if base else BASES)}
    name = next((name for name, known in bases.items() if known), "")
    if base and not name:
        raise LocalCheckError(
            f"there is no commit {base!r} to compare with: fetch it, or name another --base"
        )
    at = bases.get(name) or head
    text = _git(folder, "cat-file", "blob", f"{at}:{PATH}")
    own = _git(folder, "ls-tree", "--name-only", at, f"{ROOT}/").splitlines()
    profiles = tuple(Path(path).stem for path in own if path.endswith(".md"))
    return LocalCheck(
        folder=folder,
        commit=head,
        base=at,
        base_name=name or commit,
        repository=Path(repository),
        uncommitted=head == _commit(folder, "HEAD") and bool(_git(folder, "status", "--porcelain", "-uno")),
        policy=parse(text or DEFAULT_TEXT, home=None, installed=installed(), profiles=profiles),
        has_file=bool(text),
    )


def column_of(check: LocalCheck, name: str) -> tuple[str, ColumnPolicy]:
    """Return the column whose place and network are used: the first one with an agent, unless named.

    Raises LocalCheckError.
    """
    columns = check.policy.board.columns
    working = [each for each, column in columns.items() if column.archetype == "execution"]
    chosen = next((each for each in working if not name or each.casefold() == name.casefold()), "")
    if not chosen:
        known = ", ".join(working) or "none"
        raise LocalCheckError(f"no column {name!r} has an agent in {PATH}; those that have: {known}")
    return chosen, columns[chosen]


def carry_out(
    check: LocalCheck, config: Config, column: ColumnPolicy, *, fast: bool, say: Callable[[CheckRow], None]
) -> LocalResult:
    """Run set-up and all checks, or only the `fast` ones, on a clean checkout; `say` gets each result.

    Raises RunnerError where git or the workspace were killed from outside.
    """
    with tempfile.TemporaryDirectory(prefix="cardinal-check.") as name:
        root = Path(name)
        order = _order(check, config, column, root, fast=fast)
        mirror = Mirror(order.places.mirrors, order.repository, _Folder(""), _no_beat).path
        remote = _Folder(str(_source(root, mirror, check)))
        engine = open_ledger(f"sqlite:///{root / 'cardinal.db'}")
        said: list[CheckRow] = []

        def follow() -> None:
            with event_store.reading(engine) as db:
                fresh = checks.of_run(db, order.run_id)[len(said) :]
            said.extend(fresh)
            for row in fresh:
                say(row)

        try:
            order, lease = _claim(engine, order)
            log = RunLog(engine, order.run_id, lease, WALL, ttl_s=LEASE_S, on_append=follow)
            supervisor.execute(order, log, remote, WALL, allow_unsandboxed=config.allow_unsandboxed)
            ended = next(each.event for each in log.events() if isinstance(each.event, RunEnded))
        finally:
            engine.dispose()
        passed, failure = ended.ending is Ending.SUCCEEDED, log.history.rounds.newest_output()
        return LocalResult(passed, ended.detail, order.validation.definition, failure)


def _claim(engine: Engine, order: RunSpec) -> tuple[RunSpec, Lease]:
    """Queue the run and claim it, as dispatch does."""
    with event_store.writing(engine) as db:
        lease = leases.take(db, f"run:{order.run_id}", HOLDER, ttl_s=LEASE_S)
        if lease is None:
            raise LocalCheckError("the check's own ledger is held by another process: try again")
        queued = RunQueued(
            run_id=order.run_id,
            card_id=order.card_id,
            attempt=0,
            kind=CHECK,
            column="",
            repository=order.repository,
            branch=order.branch,
            agent=order.agent,
            by="",
            session_id="",
            settings="{}",
            plan_required=False,
        )
        claimed = RunClaimed(order.run_id, lease.generation, HOLDER)
        event_store.append(db, queued, claimed, at=WALL.now())
    return replace(order, generation=lease.generation), lease


def _order(check: LocalCheck, config: Config, column: ColumnPolicy, root: Path, *, fast: bool) -> RunSpec:
    rules, name = check.policy.repository, check.folder.resolve().name
    policy = validation_of(name, check.base, rules, has_file=check.has_file)
    validation = replace(policy, full=() if fast else (*policy.fast, *policy.full))
    if not (validation.fast or validation.full or validation.waived):
        raise LocalCheckError(policy.absent or f"{PATH} names no fast checks: leave out --fast")
    run_id = RunId(f"local-{token_hex(4)}")
    return RunSpec(
        run_id=run_id,
        card_id=CardId(run_id),
        attempt=0,
        kind=CHECK,
        generation=0,
        repository=name,
        number=0,
        title="",
        branch=BRANCH,
        base_branch=BASE,
        agent=column.agent,
        session_id="",
        plan_required=False,
        briefing="",
        places=HostPaths(*(root / each for each in ("mirrors", "workspaces", "logs", "scenarios"))),
        committer=COMMITTER,
        validation=validation,
        **from_policy(config, column, rules),
    )


def _source(root: Path, mirror: Path, check: LocalCheck) -> Path:
    """Fill the mirror, and return a repository with the two branches that it fetches.

    The clone's objects are linked, not copied, where they are on the same disk. Raises LocalCheckError.
    """
    mirror.parent.mkdir(parents=True)
    cloned = _run(
        root, "clone", "--quiet", "--bare", "--local", "--no-tags", "--", str(check.repository), str(mirror)
    )
    if cloned.exit_code == 0 and (mirror / ALTERNATES).exists():  # of a clone that borrows objects itself
        cloned = _run(mirror, "repack", "-a", "-d", "-q")
        (mirror / ALTERNATES).unlink()
    if cloned.exit_code != 0:
        raise LocalCheckError(f"{check.repository} cannot be cloned: {one_line(cloned.tail)}")
    source = root / "source.git"
    _run(root, "init", "--quiet", "--bare", str(source))
    (source / ALTERNATES).write_text(f"{mirror / 'objects'}\n")
    if (mirror / "shallow").exists():
        shutil.copy(mirror / "shallow", source)
    for branch, commit in ((BRANCH, check.commit), (BASE, check.base)):
        write_ref(source, "refs/heads", branch, commit)
    return source


def _commit(folder: Path, name: str) -> str:
    """Return the commit that a person's name stands for here; empty for none."""
    return _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}").strip()


def _git(folder: Path, *words: str) -> str:
    """Return git's output; empty where it failed."""
    ran = _run(folder, *words)
    return ran.out if ran.exit_code == 0 else ""


def _run(folder: Path, *words: str) -> Ran:
    return run_git(words, folder=folder, beat=_no_beat, timeout_s=GIT_S, transfers=True)


def _no_beat() -> None:
    """Hold no lease."""
