"""A run while a supervisor holds it: what its stages share."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from ledger.events.run import QuestionAsked, RunStepped
from ledger.ids import QuestionId
from ledger.model import limit_answers
from ledger.model.limit_answers import LIMITS, NOTHING, AnswerChoice, Code, Size, Subject
from ledger.states import RunState
from runner.agents.contract import Agent
from runner.gateway.control.link import Gateway
from runner.git.checkout import Checkout
from runner.git.mirror import Mirror
from runner.run.exits import Park, StopRequested, failed
from runner.run.history import History
from runner.run.limits import Allowance
from runner.run.log import RunLog
from runner.run.run_spec import Clock, RunSpec, StageSpec
from runner.run.secrecy import Secrecy
from runner.workspaces.contract import Workspace

WEIGH_S = 5.0
_REST = 10  # so many times as long as counting took, nothing is counted
_BYTES_PER_MB = 1_000_000


@dataclass(slots=True)
class Scales:
    """When the workspace is weighed next."""

    due_at: float = float("-inf")


@dataclass(frozen=True, slots=True)
class RunContext:
    """One claimed run with its parts; every write of it is fenced by its log.

    `gateway` is None where the agent pays for nothing and the policy grants no network.
    """

    order: RunSpec
    log: RunLog
    clock: Clock
    agent: Agent
    workspace: Workspace
    mirror: Mirror
    checkout: Checkout
    gateway: Gateway | None = None
    scales: Scales = field(default_factory=Scales)

    @property
    def history(self) -> History:
        """What the run's events say."""
        return self.log.history

    @property
    def stage(self) -> StageSpec | None:
        """The stage that is open, if the run has stages and is in one."""
        visit = self.history.stages.open
        return next((one for one in self.order.stages if visit and one.name == visit.stage), None)

    @property
    def secrecy(self) -> Secrecy:
        """What of the run's private skills nobody else may read."""
        return self.log.secrecy

    @property
    def allowance(self) -> Allowance:
        """The limits with what people added, and what the claim reserved."""
        history, reserved = self.history, self.history.reserved
        return Allowance(
            self.order.limits,
            Counter(asked.extends for asked in history.questions if asked.extends is not None),
            history.added_usd,
            history.ceiling_usd if reserved is not None else None,
            reserved.by_rule if reserved is not None else "",
            reserved.limit_usd if reserved is not None else 0.0,
        )

    def published(self, subject: Subject) -> tuple[QuestionAsked, ...]:
        """Return the questions about that on which people let the change be published."""
        return tuple(one.event for one in self.history.questions if one.permits(subject, Code.PUBLISH))

    def may_publish(self, subject: Subject, digest: str) -> bool:
        """Whether a person agreed to exactly what that digest is of."""
        return any(asked.digest == digest for asked in self.published(subject))

    def beat(self) -> None:
        """Keep the claim alive while a command runs; raises StopRequested when the run was told to stop, and
        Finish when its place grew too large.
        """
        self.log.beat()
        overweight = self.overweight()
        if overweight:
            raise failed("guardrail", overweight)
        self.obey()

    def overweight(self) -> str:
        """Look every few seconds how much disk the workspace takes and how many files it has; return the
        sentence for people when either is more than its share. A large one is looked at less often:
        counting it may take a while.
        """
        began = self.clock.monotonic()
        if began < self.scales.due_at:
            return ""
        heavy = self.weigh()
        now = self.clock.monotonic()
        self.scales.due_at = now + max(WEIGH_S, _REST * (now - began))
        return heavy

    def weigh(self) -> str:
        """Return the sentence for people when the workspace is over its share; else nothing."""
        share = self.order.resources
        if self.workspace.count_files(share.files) > share.files:  # first: it ends early, weighing does not
            return (
                f"the workspace has more than {share.files:,} files and folders, its share: make fewer, or"
                " raise `resources: {files: …}` of the column, then retry"
            )
        used_mb = self.workspace.used_bytes() / _BYTES_PER_MB
        if used_mb <= share.disk_mb:
            return ""
        return (
            f"the workspace takes {used_mb:.0f} MB of disk, and {share.disk_mb} MB are its share: make the"
            " work smaller, or raise `resources: {disk_mb: …}` of the column, then retry"
        )

    def network(self, *, of_column: bool = False) -> dict[str, str]:
        """Let the gateway reach what the policy grants in the stage that is open, or outside of any, which is
        the column's; return the environment that leads commands there; empty: none.
        """
        stage = None if of_column else self.stage
        layout, tools = self.workspace.layout, stage.tools if stage else self.order.tools
        if self.gateway is not None:
            self.gateway.narrow(tools.network, tools.hosts)
        if self.gateway is None or tools.network == "none" or not layout.proxy:
            return {}
        at = {name: layout.proxy for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")}
        return at | {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}

    def obey(self) -> None:
        """Raise StopRequested when the run was told to stop."""
        stop = self.log.stop_asked()
        if stop is not None:
            raise StopRequested(stop.how, stop.by)

    def step(self, after: RunState) -> None:
        """Move the run's state, unless it is there already."""
        if self.history.state is not after:
            self.log.append(RunStepped(self.order.run_id, self.history.state, after))

    def ask(
        self,
        subject: Subject,
        text: str,
        choices: Sequence[AnswerChoice],
        *,
        size: Size = NOTHING,
        digest: str = "",
    ) -> NoReturn:
        """Ask people and park. `size` and `digest` are as in QuestionAsked."""
        run_id = self.order.run_id
        question_id = QuestionId(f"{run_id}-q{self.history.next_question_id}")
        self.log.append(
            limit_answers.question(run_id, question_id, subject, text, choices, size=size, digest=digest)
        )
        raise Park("limit" if subject in LIMITS else "question")

    def deliver_answers(self) -> None:
        """Park again on an open question; end the run when the answer to a limit was to stop."""
        asked = self.history.open_question
        if asked is not None:
            raise Park("limit" if asked.subject in LIMITS else "question")
        newest = self.history.own
        if newest is not None and newest.code is Code.STOP:
            raise failed("stopped", f"{newest.answered_by} stopped it, asked: {newest.text}")
