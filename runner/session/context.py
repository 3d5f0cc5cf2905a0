"""State of a run while a supervisor holds it, shared by all its phases."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import NoReturn

from ledger.events.run import STOPPED, QuestionAsked, RunStepped
from ledger.rows import limit_answers
from ledger.rows.limit_answers import LIMITS, NOTHING, AnswerChoice, Code, Size, Subject
from ledger.states import Ending, RunState
from runner.agents.contract import AgentAdapter
from runner.errors import SpawnError
from runner.exec.proxy import proxy_environment, trust_environment
from runner.gateway.control.link import Gateway
from runner.git.checkout import Checkout
from runner.git.mirror import Mirror
from runner.run.exits import Finish, Park, fail
from runner.run.history import History
from runner.run.limits import Allowance
from runner.run.log import RunLog
from runner.run.run_spec import Clock, RunSpec, StageSpec
from runner.run.secrecy import Secrecy
from runner.workspaces.contract import CleanWorkspace, ToolServerProcess, Workspace

WEIGH_S = 5.0
_REST = 10  # so many times as long as counting took, nothing is counted
_BYTES_PER_MB = 1_000_000
Meanwhile = Callable[[], None]


def no_checkpoint(_run: "RunContext", _meanwhile: Meanwhile) -> None:
    """Keep nothing while the agent works."""


def no_servers(_run: "RunContext", *, checked_out: bool) -> CleanWorkspace:  # noqa: ARG001
    """Raise SpawnError: only a whole run has tool servers."""
    raise SpawnError("no tool server runs here")


@dataclass(slots=True)
class Ground:
    """The clean place of a claim's tool servers, once one was started; `stack` removes it."""

    stack: ExitStack = field(default_factory=ExitStack)
    workspace: CleanWorkspace | None = None


@dataclass(slots=True)
class Scales:
    """When the workspace is measured next, and how much disk it took the last time."""

    due_at: float = float("-inf")
    disk_bytes: int = 0


@dataclass(slots=True)
class CheckpointPace:
    """When the next checkpoint is due, and the results of the last ones."""

    due_at: float = 0.0  # 0 before the first turn
    said: str = ""
    unpublished: str = ""  # the last message about work that could not be published yet
    looked: str = ""  # the HEAD of a turn that was published, or is not to be
    logged_bytes: int = 0  # of the transcript on this host: in the store, or of an earlier claim


@dataclass(frozen=True, slots=True)
class RunContext:
    """One claimed run with its parts; its log fences every write.

    `gateway` is None where the agent needs no provider and the policy grants no network. `keep` makes a
    checkpoint of a turn that goes on, publishes it where that is wanted, and calls its second argument
    meanwhile. `servers` are the tool servers that were started; None: one failed, and is not tried again.
    `stand` gives them the clean place of `ground`. `payer` names the provider that is paid for a model.
    """

    spec: RunSpec
    log: RunLog
    clock: Clock
    agent: AgentAdapter
    workspace: Workspace
    mirror: Mirror
    checkout: Checkout
    gateway: Gateway | None = None
    scales: Scales = field(default_factory=Scales)
    keep: Callable[["RunContext", Meanwhile], None] = no_checkpoint
    pace: CheckpointPace = field(default_factory=CheckpointPace)
    servers: dict[str, ToolServerProcess | None] = field(default_factory=dict)
    ground: Ground = field(default_factory=Ground)
    stand: Callable[..., CleanWorkspace] = no_servers
    payer: Callable[[str], str] = lambda _model: ""
    tool_secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def history(self) -> History:
        return self.log.history

    @property
    def stage(self) -> StageSpec | None:
        """The open stage; None outside of stages."""
        visit = self.history.stages.open
        return next((stage for stage in self.spec.stages if visit and stage.name == visit.stage), None)

    @property
    def secrecy(self) -> Secrecy:
        """The text of private skills, which nobody else may read."""
        return self.log.secrecy

    @property
    def allowance(self) -> Allowance:
        """The limits with people's extensions, and the claim's reservation."""
        history, reserved = self.history, self.history.reserved
        return Allowance(
            limits=self.spec.limits,
            extensions=[(it.extends, it.used) for it in history.questions if it.extends is not None],
            added_usd=history.added_usd,
            ceiling_usd=history.ceiling_usd if reserved is not None else None,
            rule=reserved.by_rule if reserved is not None else "",
            rule_usd=reserved.limit_usd if reserved is not None else 0.0,
        )

    def list_published(self, subject: Subject) -> tuple[QuestionAsked, ...]:
        """Return the questions on that subject at which people agreed to publish the change."""
        return tuple(
            question.event for question in self.history.questions if question.permits(subject, Code.PUBLISH)
        )

    def may_publish(self, subject: Subject, digest: str) -> bool:
        """Whether a person agreed to exactly the content of that digest."""
        return any(question.digest == digest for question in self.list_published(subject))

    def beat(self) -> None:
        """Keep the claim alive during a command. Raises StopRequested, or Finish for an oversized place."""
        self.log.beat()
        over_disk_limit = self.over_disk_limit()
        if over_disk_limit:
            raise fail("guardrail", over_disk_limit)
        self.log.raise_if_stopped()

    def over_disk_limit(self) -> str:
        """Measure the workspace every few seconds, a large one less often; return the result of `weigh`."""
        began = self.clock.monotonic()
        if began < self.scales.due_at:
            return ""
        heavy = self.weigh()
        now = self.clock.monotonic()
        self.scales.due_at = now + max(WEIGH_S, _REST * (now - began))
        return heavy

    def weigh(self) -> str:
        """Return a sentence for people when the workspace exceeds its disk or files; else nothing."""
        share = self.spec.resources
        usage = self.workspace.usage(share.files)
        self.scales.disk_bytes = usage.disk_bytes
        if usage.files > share.files:  # first: of more than these the disk is not measured
            return (
                f"the workspace has more than {share.files:,} files and folders, its share: make fewer, or"
                " raise `resources: {files: …}` of the column, then retry"
            )
        used_mb = usage.disk_bytes / _BYTES_PER_MB
        if used_mb <= share.disk_mb:
            return ""
        return (
            f"the workspace takes {used_mb:.0f} MB of disk, and {share.disk_mb} MB are its share: make the"
            " work smaller, or raise `resources: {disk_mb: …}` of the column, then retry"
        )

    def network(self, *, of_column: bool = False) -> dict[str, str]:
        """Let the gateway reach the hosts of the open stage, or of the column; return the proxy environment.

        The environment is empty where no network is granted.
        """
        stage = None if of_column else self.stage
        layout, tools = self.workspace.layout, stage.tools if stage else self.spec.tools
        if self.gateway is not None:
            self.gateway.narrow(tools.network, tools.hosts)
        if self.gateway is None or tools.network == "none" or not layout.proxy:
            return {}
        trust = trust_environment(layout.certificates) if self.spec.secrets else {}
        return proxy_environment(layout.proxy) | trust

    def step(self, after: RunState) -> None:
        """Move the run's state, unless it is there already."""
        self.log.append(*self.steps_to(after))

    def steps_to(self, after: RunState) -> tuple[RunStepped, ...]:
        """Return the event that moves the run's state; none where it is there already."""
        before = self.history.state
        return () if before is after else (RunStepped(self.spec.run_id, before, after),)

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
        run_id = self.spec.run_id
        question_id = self.history.next_question_id(run_id)
        self.log.append(
            limit_answers.question(run_id, question_id, subject, text, choices, size=size, digest=digest)
        )
        raise Park("limit" if subject in LIMITS else "question")

    def deliver_answers(self) -> None:
        """Park again on an open question; end the run when a limit was answered with stop."""
        question = self.history.open_question
        if question is not None:
            raise Park("limit" if question.subject in LIMITS else "question")
        newest = self.history.own
        if newest is not None and newest.code is Code.STOP:
            said = f"{newest.answered_by} stopped it, asked: {newest.event.text}"
            raise Finish(Ending.CANCELLED, STOPPED, said)
