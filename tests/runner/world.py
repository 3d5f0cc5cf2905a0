"""A small world for the runner: a real ledger, a real repository to push to, scenarios, and claims as bot
makes them.
"""

import dataclasses
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from sqlalchemy import Engine

from ledger.event import Event
from ledger.events.run import (
    PlanApproved,
    PlanRedirected,
    RunClaimed,
    RunEnded,
    RunQueued,
    RunRequeued,
)
from ledger.ids import CardId, RunId
from ledger.lifecycle.backup import backup, restore
from ledger.log import event_store
from ledger.queue import leases
from ledger.queue.leases import Lease
from ledger.rows.limit_answers import answer_question
from ledger.rows.threads import ThreadRow
from ledger.states import RunKind
from runner.errors import UnverifiedCommitError
from runner.exec.child import StopGrace
from runner.run.log import RunLog
from runner.run.provider import Provider
from runner.run.run_spec import (
    Authorship,
    Briefing,
    Committer,
    HostPaths,
    Limits,
    MadeCommit,
    RunSpec,
    ValidationSpec,
)
from runner.supervisor import execute_run
from tests.ledgers import new_ledger

RUN = RunId("r1")
CARD = CardId("PVTI_1")
BRANCH = "cardinal/12-hello"
REPOSITORY = "acme/shop"
COMMITTER = Committer("cardinal[bot]", "cardinal@example.org")
GIT_ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ann",
    "GIT_AUTHOR_EMAIL": "ann@example.org",
    "GIT_COMMITTER_NAME": "Ann",
    "GIT_COMMITTER_EMAIL": "ann@example.org",
}
HURRY = StopGrace(ask_s=0.5, close_s=0.2, term_s=0.2)  # for who never obeys, or cannot
LIMITS = Limits(timeout_s=240, silence_s=120, max_turns=20, budget_usd=1.0, iterations=2, full_runs=2)


def review_thread(thread_id: str, path: str, line: int, text: str, author: str = "") -> ThreadRow:
    """Return an open thread; `line` is 0 for the whole file."""
    return ThreadRow(
        thread_id, CARD, 1, 1, author, path, line, text, datetime(2026, 11, 29, tzinfo=UTC), None
    )


def limited(**changes: Any) -> Limits:
    """Return the limits of these runs with changes, beyond what a policy may say."""
    return LIMITS.model_copy(update=changes)


class SystemClock:
    """The machine's time."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


@dataclass(frozen=True, slots=True)
class FileRemote:
    """A repository in a folder."""

    url: str

    def git_environment(self) -> Mapping[str, str]:
        return {}

    def make_commit(self, _tree: str, _parents: tuple[str, ...], _message: str, /) -> MadeCommit:
        raise UnverifiedCommitError("a folder signs nothing")


def git(folder: Path, *words: str) -> str:
    """Run git as a person would, and return its output."""
    done = subprocess.run(
        ("git", *words),
        cwd=folder,
        env=GIT_ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout.strip()


def packed(folder: Path, target: Path, *revisions: str) -> Path:
    """Write a pack of what these revisions reach to `target`, and return it."""
    given = "".join(f"{revision}\n" for revision in revisions).encode()
    command = ("git", "pack-objects", "--quiet", "--revs", "--stdout")
    done = subprocess.run(command, cwd=folder, input=given, capture_output=True, timeout=120, check=True)
    target.write_bytes(done.stdout)
    return target


@dataclass(slots=True)
class World:
    """One board's machine with one repository and one card."""

    root: Path
    engine: Engine
    clock: SystemClock = field(default_factory=SystemClock)
    lease: Lease | None = None
    providers: Mapping[str, Provider] = field(default_factory=dict)
    tool_secrets: Mapping[str, str] = field(default_factory=dict)

    @property
    def origin(self) -> Path:
        return self.root / "origin.git"

    @property
    def places(self) -> HostPaths:
        return HostPaths(*(self.root / name for name in ("mirrors", "workspaces", "logs", "scenarios")))

    @property
    def remote(self) -> FileRemote:
        return FileRemote(str(self.origin))

    def commit(
        self,
        files: Mapping[str, str],
        branch: str = "main",
        message: str = "By a person",
        author: str = "Ann <ann@example.org>",
    ) -> str:
        """Commit files to a branch of the repository, as a person unless told otherwise."""
        ref, refs = f"refs/heads/{branch}", git(self.origin, "for-each-ref", "--format=%(refname)").split()
        start = ref if ref in refs else git(self.origin, "symbolic-ref", "HEAD")
        rows = [f"commit {ref}", f"committer {author} {int(time.time())} +0000"]
        rows += [f"data {len(message.encode())}", message, *([f"from {start}^0"] if start in refs else [])]
        for name, text in files.items():
            rows += [f"M 100644 inline {name}", f"data {len(text.encode())}", text]
        command, given = ("git", "fast-import", "--quiet"), "\n".join((*rows, "")).encode()
        subprocess.run(command, cwd=self.origin, input=given, capture_output=True, timeout=120, check=True)
        return git(self.origin, "rev-parse", ref)

    def head(self, branch: str = BRANCH) -> str:
        return git(self.origin, "rev-parse", f"refs/heads/{branch}")

    def show(self, path: str, branch: str = BRANCH) -> str:
        return git(self.origin, "show", f"{branch}:{path}")

    def scenario(self, **sections: Any) -> None:
        """Write the scenario `test`."""
        self.places.scenarios.mkdir(exist_ok=True)
        (self.places.scenarios / "test.yml").write_text(yaml.safe_dump(sections))

    def write(self, *events: Event) -> None:
        """Append as bot does, without a fence."""
        with event_store.writing(self.engine) as db:
            event_store.append(db, *events, at=self.clock.now())

    def queue(self, spec: RunSpec) -> None:
        self.write(
            RunQueued(
                spec.run_id, spec.card_id, spec.attempt, RunKind(spec.kind), "In Progress",
                spec.repository, spec.branch, spec.agent, "ann", spec.session_id, "{}", spec.plan_required,
            )
        )  # fmt: skip

    def claim(self, spec: RunSpec, *, ttl_s: float = 60.0, worker: str = "w1") -> tuple[RunSpec, RunLog]:
        """Take the lease and claim the run, as bot's dispatch does; ends an older claim by force."""
        now = self.clock.now()
        with event_store.writing(self.engine) as db:
            if self.lease is not None:
                leases.release(db, self.lease)
            self.lease = leases.take(db, f"run:{spec.run_id}", worker, ttl_s=ttl_s)
            assert self.lease is not None
            event_store.append(db, RunClaimed(spec.run_id, self.lease.generation, worker), at=now)
        spec = dataclasses.replace(spec, generation=self.lease.generation)
        return spec, RunLog(self.engine, spec.run_id, self.lease, self.clock, ttl_s=ttl_s)

    def run(self, spec: RunSpec, **options: Any) -> Any:
        """Claim and execute; return the newest event of the run, of whichever kind."""
        spec, log = self.claim(spec, **options)
        execute_run(
            spec, log, self.remote, self.clock, providers=self.providers, tool_secrets=self.tool_secrets
        )
        return self.events(spec.run_id)[-1]

    def meanwhile(self, spec: RunSpec, when: str, act: Callable[[], object]) -> float:
        """Execute, and do something as bot would once the agent said `when`; return the seconds from then to
        the end.
        """
        claimed, log = self.claim(spec)
        acted_at: list[float] = []

        class Watched(RunLog):
            """Lets the test act at a moment of the run."""

            def beat(self) -> None:
                if self.history.last_line == when and not acted_at:
                    acted_at.append(time.monotonic())
                    act()
                super().beat()

        log.__class__ = Watched
        execute_run(claimed, log, self.remote, self.clock, providers=self.providers)
        assert acted_at, self.events()[-3:]
        return time.monotonic() - acted_at[0]

    def again(self, spec: RunSpec, why: str) -> Any:
        """Let the run go on, as bot does after `why`."""
        self.write(RunRequeued(spec.run_id, why))
        return self.run(spec)

    def answer(self, spec: RunSpec, text: str, code: str = "") -> Any:
        asked = self.only("QuestionAsked", spec.run_id, newest=True)
        self.write(answer_question(asked, by="ann", text=text, code=code))
        return self.again(spec, "answered")

    def approve(self, spec: RunSpec) -> Any:
        plan = self.only("PlanProposed", spec.run_id, newest=True)
        self.write(PlanApproved(spec.run_id, plan.revision, "ann"))
        return self.again(spec, "approved")

    def redirect(self, spec: RunSpec, text: str) -> Any:
        plan = self.only("PlanProposed", spec.run_id, newest=True)
        self.write(PlanRedirected(spec.run_id, plan.revision, "ann", text))
        return self.again(spec, "redirected")

    @contextmanager
    def taken_back(self) -> Iterator[None]:
        """Restore the ledger at the end of the block as it was before; what lies beside it stays."""
        copy, lease = self.root / "copy.db", self.lease
        backup(self.engine, copy)
        yield
        self.engine.dispose()
        restore(copy, str(self.engine.url), overwrite_newer=True)
        self.lease = lease

    def events(self, run_id: str = RUN) -> tuple[Any, ...]:
        with event_store.reading(self.engine) as db:
            return tuple(one.event for one in event_store.read(db, limit=100_000, stream=f"run:{run_id}"))

    def kinds(self, run_id: str = RUN) -> list[str]:
        return [type(event).__name__ for event in self.events(run_id)]

    def of(self, kind: str, run_id: str = RUN) -> list[Any]:
        return [event for event in self.events(run_id) if type(event).__name__ == kind]

    def only(self, kind: str, run_id: str = RUN, *, newest: bool = False) -> Any:
        found = self.of(kind, run_id)
        assert found, f"no {kind} in {self.kinds(run_id)}"
        assert newest or len(found) == 1, found
        return found[-1]

    def ended(self, run_id: str = RUN) -> RunEnded:
        event: RunEnded = self.only("RunEnded", run_id)
        return event

    def spec(self, **changes: Any) -> RunSpec:
        """Return a specification of a run of the scenario `test`, queued in the ledger."""
        spec = RunSpec(
            run_id=RUN, card_id=CARD, attempt=1, kind="first", generation=0, repository=REPOSITORY, number=12,
            title="Say hello", branch=BRANCH, base_branch="main", agent="scripted", model="test",
            session_id="", plan_required=False, instructions="", briefing=Briefing("# Say hello\n"),
            limits=LIMITS, paths=self.places, authorship=Authorship(COMMITTER), validation=checks(),
        )  # fmt: skip
        spec = dataclasses.replace(spec, **changes)
        self.queue(spec)
        return spec


def make_world(root: Path, *, files: Mapping[str, str] | None = None) -> World:
    """Return a world whose repository has one commit on main."""
    engine = new_ledger(f"sqlite:///{root / 'ledger.db'}")
    world = World(root, engine)
    git(root, "init", "--quiet", "--bare", "--template=", "--initial-branch=main", str(world.origin))
    (world.origin / "hooks").mkdir()
    world.scenario()
    if files is not None:
        world.commit(files)
    return world


def copy_world(template: Path, root: Path) -> World:
    """Return a world of its own that is like the one made in `template`, whose engine is closed."""
    shutil.copytree(template, root, dirs_exist_ok=True)
    return World(root, new_ledger(f"sqlite:///{root / 'ledger.db'}"))


def checks(fast: Iterable[str] = (), full: Iterable[str] = (), setup: Iterable[str] = ()) -> ValidationSpec:
    """Return these checks; without any, the policy says `validation: none`."""
    fast, full = tuple(fast), tuple(full)
    return ValidationSpec(tuple(setup), fast, full, waived=not (fast or full))
