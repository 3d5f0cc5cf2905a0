"""The worker of a run as the state machine plays it: the run's real log, claim and limits, and no agent."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from bot.scheduler import dispatch
from ledger.errors import StaleClaimError
from ledger.events.run import (
    CHECK,
    RERUN,
    BranchPushed,
    FinalReported,
    PlanProposed,
    Progressed,
    RunEnded,
    RunEvent,
    RunParked,
    RunStepped,
    ThreadAnswered,
    UsageMetered,
    ValidationEnded,
)
from ledger.ids import RunId
from ledger.log import event_store
from ledger.queue.leases import Lease
from ledger.rows.limit_answers import GO_ON, LIMITS, STOP, Code, Subject, of_agent, question
from ledger.rows.runs import RunRow
from ledger.states import RUN_HELD, Ending, RunState
from ledger.views import cards, threads
from rules.policy.column import ColumnPolicy
from runner.run.limits import Allowance, ExceededLimit, RunUsage
from runner.run.log import RunLog
from runner.run.run_spec import Limits
from tests.bot.flows.cardinal import Cardinal

CALL_USD = 0.75  # of one call of a model: it may be over the bound before anybody can know
BASE = "b" * 40


@dataclass(frozen=True, slots=True)
class StoryClock:
    """The story's time, as a run's log reads it."""

    cardinal: Cardinal

    def now(self) -> datetime:
        return self.cardinal.clock()

    def monotonic(self) -> float:
        return self.cardinal.clock().timestamp()


@dataclass(slots=True)
class Worker:
    """A worker with one run: each method of a step does what an agent or its supervisor would do next."""

    cardinal: Cardinal
    run_id: RunId
    lease: Lease
    log: RunLog

    @classmethod
    def claim(cls, cardinal: Cardinal, run_id: RunId) -> "Worker | None":
        """Claim the run and prepare it; None where it may not start, or has nothing to do yet."""
        if not cardinal.claim(run_id):
            return None
        config, lease = cardinal.services.config, cardinal.leases[run_id]
        clock = StoryClock(cardinal)
        log = RunLog(cardinal.services.engine, run_id, lease, clock, ttl_s=config.lease_s)
        worker = cls(cardinal, run_id, lease, log)
        return worker if worker.take(Worker._prepare) else None

    def take(self, step: Callable[["Worker"], None]) -> bool:
        """Do a step, unless people want a stop; tell whether the worker holds the run still."""
        try:
            self.log.fold_new()
            if not self._obey():
                step(self)
            self.log.fold_new()
            holds = self.log.history.state in RUN_HELD
        except StaleClaimError:
            return False
        if not holds:
            self.leave()
        return holds

    def leave(self) -> None:
        """Give the claim back, as a worker does with each run that it is done with."""
        dispatch.let_go(self.cardinal.services.engine, self.run_id, self.lease, now=self.cardinal.clock())

    @property
    def run(self) -> RunRow:
        return self.cardinal.run(self.run_id)

    def _obey(self) -> bool:
        """Stop where people asked for it; else tell that nobody did."""
        stop = self.log.history.stop
        if stop is None:
            return False
        if stop.how == "pause":
            self.log.append_unless_requeued(RunParked(self.run_id, "pause"))
        else:
            self._end(Ending.CANCELLED, "cancelled", f"stopped by {stop.by}")
        return True

    def _prepare(self) -> None:
        self._step(RunState.PREPARING)
        run, history = self.run, self.log.history
        asked, newest = history.open_question, history.own
        if asked is not None:
            self._park(asked.subject)
        elif newest is not None and newest.code is Code.STOP:
            self._end(Ending.CANCELLED, "stopped", f"{newest.answered_by} stopped it")
        elif run.kind == CHECK:
            self._step(RunState.VALIDATING)
        elif run.plan_required and not run.plan_approved:
            self._step(RunState.PLANNING)
        else:
            self._step(RunState.WORKING)

    def say(self) -> None:
        self.log.append(Progressed(self.run_id, f"at it, {self.log.history.version}"))

    def ask(self) -> None:
        """Ask as an agent; before its plan is approved it cannot, and plans."""
        if self.log.history.state is not RunState.WORKING:
            self.plan()
            return
        question_id = self.log.history.next_question_id(self.run_id)
        self.log.append(of_agent(self.run_id, question_id, "Which one?", ("a", "b")))
        self._park(Subject.WORK)

    def plan(self) -> None:
        """Propose a plan where one is due."""
        if self.log.history.state is RunState.PLANNING:
            revision = self.run.plan_revision + 1
            self.log.append(PlanProposed(self.run_id, revision, "Add them up", ("One", "Two")))
            step = RunStepped(self.run_id, RunState.PLANNING, RunState.AWAITING_APPROVAL)
            self.log.append_unless_requeued(step)

    def spend(self) -> None:
        """Pay for one call; ask and park where a limit is reached by then, as a run's supervisor does."""
        if self.log.history.state is not RunState.WORKING:
            return
        self.log.append(UsageMetered(self.run_id, CALL_USD, 100, 10, 1, 20.0))
        history = self.log.history
        tokens = history.tokens_used
        usage = RunUsage(history.active_s, 0.0, history.usd, history.turns_used, tokens, output_bytes=0)
        allowance = self._allowance()
        if allowance.find_exceeded(usage) is not ExceededLimit.BUDGET:
            return
        subject = Subject.SHARED if allowance.shared else Subject.BUDGET
        text = f"The run reached {allowance.describe_reached(ExceededLimit.BUDGET, usage)}. Continue?"
        question_id = history.next_question_id(self.run_id)
        self.log.append(question(self.run_id, question_id, subject, text, (GO_ON, STOP)))
        self._park(subject)

    def deliver(self, content: str = "one") -> None:
        """Push the work and end well; a run that only checks says that all is well."""
        run = self.run
        if self.log.history.state is RunState.PLANNING:
            self.plan()
            return
        if self.log.history.state is RunState.WORKING:
            self._step(RunState.VALIDATING)
        self._step(RunState.PUBLISHING)
        events: list[RunEvent] = []
        if run.kind == CHECK:
            head = self._head()
        else:
            head = self.cardinal.push(self.run_id, {f"{run.card_id}.txt": f"{content}\n".encode()})
            events.append(BranchPushed(self.run_id, run.branch, head))
            with event_store.reading(self.cardinal.services.engine) as db:
                pending = () if run.kind == RERUN else threads.pending(db, run.card_id)
            events += [ThreadAnswered(self.run_id, it.thread_id, "Did it.") for it in pending]
        passed = ValidationEnded(self.run_id, 1, "full", True, head, BASE, "local", clean=True)
        self.log.append(passed, *events, FinalReported(self.run_id, "Done.", (), (), ()), self._ended())

    def fail(self) -> None:
        self._end(Ending.FAILED, "agent_error", "the agent crashed")

    def _head(self) -> str:
        with event_store.reading(self.cardinal.services.engine) as db:
            card = cards.get(db, self.run.card_id)
        pulls, number = self.cardinal.forge.store.pulls, card.pull_number if card else None
        return pulls.get(self.cardinal.repo, number).head_sha if number else BASE

    def _ended(self) -> RunEnded:
        return RunEnded(self.run_id, Ending.SUCCEEDED, "", "", "publishing")

    def _end(self, ending: Ending, reason: str, detail: str) -> None:
        self.log.append(RunEnded(self.run_id, ending, reason, detail, self.log.history.state))

    def _park(self, subject: Subject) -> None:
        self.log.append_unless_requeued(RunParked(self.run_id, "limit" if subject in LIMITS else "question"))

    def _step(self, after: RunState) -> None:
        self.log.append(RunStepped(self.run_id, self.log.history.state, after))

    def _allowance(self) -> Allowance:
        """Return what the run may use, as its context has it."""
        history, settings = self.log.history, ColumnPolicy.model_validate_json(self.run.settings)
        reserved = history.reserved
        return Allowance(
            limits=Limits(budget_usd=settings.budget_usd),
            extensions=[(it.extends, it.used) for it in history.questions if it.extends is not None],
            added_usd=history.added_usd,
            ceiling_usd=history.ceiling_usd if reserved is not None else None,
            rule=reserved.by_rule if reserved is not None else "",
            rule_usd=reserved.limit_usd if reserved is not None else 0.0,
        )
