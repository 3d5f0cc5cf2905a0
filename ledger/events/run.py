"""The life of a run: queued, claimed, stepping, parked, ended; its agent's words and acts on the way."""

from dataclasses import dataclass, field, replace

from ledger.event import Event, RuleEvent, Zoom
from ledger.events.board import name_person
from ledger.ids import NO_RUN, CardId, QuestionId, RunId
from ledger.model.metadata import Metadata
from ledger.states import Door, Ending, Priority, RunKind, RunState

CHECK = RunKind.CHECK  # the kind of a run that only checks what is on GitHub: it is no attempt at the card
# The kind of a run that does again what an earlier one did, beside it: no attempt at the card either.
RERUN = RunKind.RERUN
BESIDE = (CHECK, RERUN)
CHOSEN = RunKind.CHOSEN  # the kind of a rerun that became the card's own run
OWN = "own"  # the agent of a run that a worker of somebody's own claims: Cardinal starts none for it
STOPPED = "stopped"  # the reason of a run that ended by a person's answer to a question
RESTORED = "restored"  # the door and the reason of runs that a ledger from a back-up finds on GitHub
BY_PUSH = "push"  # as whom one is started that nobody asked for

MAX_FILES = 300  # that BranchExported names


@dataclass(frozen=True, slots=True)
class RunEvent(Event, is_audited=True):
    """The base of events of one run."""

    run_id: RunId

    @property
    def stream(self) -> str:
        return f"run:{self.run_id}"


# Doors through which a person asks for a run, see RunQueued.
BY_PEOPLE = frozenset(Door) - {Door.CLI, Door.CHECKS, Door.POLICY, Door.RESTORED}


@dataclass(frozen=True, slots=True)
class RunQueued(RunEvent, zoom=Zoom.CONVERSATION, leads_to=RunState.QUEUED):
    """A run was asked for. `attempt` counts on the card from 1; `kind`: first, revision, retry, repair, or
    check or rerun, which are no attempts of their own.

    `settings` is the column's policy as JSON, fixed for the whole run. `session_id` is that of the run which
    it continues, or empty. `plan_required` is false for a retry whose plan was approved already.

    `mode` is one of ledger/model/run_modes.py. `folder` names the files on which a run without a repository
    works: other runs of the name work on them before and after it. `mode_rule` chose the mode: column, label
    (`mode_value` says which), command (who
    gave it), repeat or fork (of which run). `asked` is the request of whoever started it to this very run, or
    empty. `rebases`: a check puts the branch on its base first, and pushes it. `reproduces`: they want the
    card's steps played in a browser, and to hear why where they are not. `by` asked for the run through
    `door`: board (a drag), comment, box, button, page, parent (an answer there), checks (GitHub's results of
    a commit), policy (its `retry`) or restored (GitHub shows it, and the ledger had lost it); empty in older
    events. `other_agent` of the column's `agents` plays it,
    since the one before it failed; empty for no such retry. `waits_for_parts`: it begins when no sub-issue of
    the card's issue is left to do. `workflow` names the policy's workflow that it has, empty for none;
    `workflow_rule` chose it: column, label (`workflow_value` says which) or command (who gave it).
    `priority` is its place in the queue before that in the column: normal where the policy goes by the column
    alone. `played_by` is the choice of the column's `agents` that plays it; empty for the column's own agent,
    and in older events. A rerun does again what the run `again_of` did, on the default branch's commit
    `base_commit`; empty for today's. `forked_at` is the point of that run, as in Checkpointed, at which this
    one begins with its files, and in a copy of its session where `session_id` names that; empty for a rerun
    from the start.
    """

    card_id: CardId
    attempt: int
    kind: str
    column: str
    repository: str
    branch: str
    agent: str
    by: str
    session_id: str
    settings: str
    plan_required: bool
    mode: str = "fix"
    mode_rule: str = "column"
    mode_value: str = ""
    asked: str = ""
    reproduces: bool = False
    door: str = ""
    rebases: bool = False
    waits_for_parts: bool = False
    other_agent: str = ""
    workflow: str = ""
    workflow_rule: str = ""
    workflow_value: str = ""
    priority: Priority = Priority.NORMAL
    played_by: str = ""
    again_of: RunId = NO_RUN
    base_commit: str = ""
    folder: str = ""
    forked_at: str = ""

    def describe(self) -> str:
        who = "a push" if (self.kind, self.by) == (CHECK, BY_PUSH) else self.by
        of = f" for {who}" if name_person(self.by) == self.by else ""
        if self.kind == CHECK:  # it is no attempt, and its card may stand anywhere
            return f"run {self.run_id} queued{of} (checks only)"
        if self.kind == RERUN:
            how = f"from {self.again_of} at its {self.forked_at}" if self.forked_at else f"as {self.again_of}"
            return f"run {self.run_id} queued{of} ({how}, beside it)"
        kind = self.kind if self.mode == "fix" else f"{self.kind}, {self.mode}"
        chosen = f" by {self.workflow_rule} {self.workflow_value}" if self.workflow_value else ""
        flow = f", workflow {self.workflow}{chosen}" if self.workflow else ""
        return f"run {self.run_id} queued in {self.column}{of} (attempt {self.attempt}, {kind}{flow})"


@dataclass(frozen=True, slots=True)
class RunClaimed(
    RunEvent,
    zoom=Zoom.ACTIVITY,
    line="run {run_id} got a worker",
    shows_payload=True,
    leads_to=RunState.CLAIMED,
):
    """A worker of `host` holds the run; every later write of it carries this generation.

    `host` is empty in events of an older Cardinal. `lease_s`: the length of claim that a worker of
    somebody's own asked for; 0 for any other worker, and in older events.
    """

    generation: int
    worker: str
    host: str = ""
    lease_s: int = 0


@dataclass(frozen=True, slots=True)
class RunStepped(RunEvent, line="{before} → {after}", shows_payload=True):
    """The run's state moved along its table of legal steps."""

    before: RunState
    after: RunState


@dataclass(frozen=True, slots=True)
class BriefingMade(RunEvent, section="briefings", section_omits=("text",)):
    """The agent's briefing, as Markdown; `digest` is its SHA-256, `omitted` names the parts left out.

    `issue` is the SHA-256 of the issue's title and description as they were then, `base` the default branch's
    commit.
    """

    text: str
    digest: str
    omitted: tuple[str, ...]
    issue: str = ""
    base: str = ""


@dataclass(frozen=True, slots=True)
class SessionStarted(RunEvent, shows_payload=True, affects_dispatch=False):
    """The agent's resumable identity and its version, as the agent reported them."""

    session_id: str
    agent: str
    version: str


@dataclass(frozen=True, slots=True)
class PlanProposed(
    RunEvent, zoom=Zoom.CONVERSATION, line="plan {revision}: {summary}", has_words=True, shows_payload=True
):
    """The agent's plan, to be approved when the policy demands it. `revision` counts from 1.

    `base` is the default branch's commit, `policy` the digest of the policy file, as the claim found them.
    """

    revision: int
    summary: str
    steps: tuple[str, ...]
    base: str = ""
    policy: str = ""


@dataclass(frozen=True, slots=True)
class PlanRebound(RunEvent, RuleEvent, zoom=Zoom.ACTIVITY, line="plan {revision} is about {base:.12} now"):
    """Somebody was told that base or policy moved on since the plan; an approval is about these now."""

    revision: int
    base: str
    policy: str


@dataclass(frozen=True, slots=True)
class PlanApproved(
    RunEvent, RuleEvent, zoom=Zoom.CONVERSATION, line="plan {revision} approved by {by}", shows_payload=True
):
    """Somebody approved the plan; `by` is `policy` where no approval is demanded.

    `bound` is the SHA-256 of the things approved: plan, issue text, base commit and policy.
    """

    revision: int
    by: str
    bound: str = ""


@dataclass(frozen=True, slots=True)
class PlanRedirected(
    RunEvent,
    RuleEvent,
    zoom=Zoom.CONVERSATION,
    line="{by} redirected plan {revision}: {text}",
    has_words=True,
    in_full="text",
):
    """Somebody asked for another plan."""

    revision: int
    by: str
    text: str


@dataclass(frozen=True, slots=True)
class PlanTicked(
    RunEvent,
    zoom=Zoom.ACTIVITY,
    line="step {done} of the plan is done",
    shows_payload=True,
    affects_dispatch=False,
):
    """The first `done` steps of the plan are done."""

    done: int


@dataclass(frozen=True, slots=True)
class Progressed(RunEvent, zoom=Zoom.ACTIVITY, line="{text}", shows_payload=True, affects_dispatch=False):
    """The agent's latest line for people."""

    text: str


@dataclass(frozen=True, slots=True)
class AgentSaid(RunEvent, line="{text}", shows_payload=True, in_full="text", is_work=True):
    """Chatter of the agent: always collapsible."""

    text: str


@dataclass(frozen=True, slots=True)
class Noted(RunEvent, zoom=Zoom.ACTIVITY, line="note: {text}", affects_dispatch=False):
    """A finding that must survive the session."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolUsed(RunEvent, shows_payload=True, is_work=True):
    """The agent used a tool. `tool`: edit, run, commit, read …; `ok` is its own result."""

    tool: str
    summary: str
    ok: bool

    def describe(self) -> str:
        return f"{self.tool}: {self.summary}{'' if self.ok else ' (failed)'}"


@dataclass(frozen=True, slots=True)
class QuestionAsked(
    RunEvent,
    RuleEvent,
    zoom=Zoom.CONVERSATION,
    line="question: {text}",
    has_words=True,
    shows_payload=True,
    in_full="text",
):
    """The run needs a person. `asker`: agent, permission, elsewhere, budget, limit, rebase, workflows,
    guard, validation, stage, leave or part.

    `subject` and `codes`, one for each choice, are those of `limit_answers.py`; an agent's choices have no
    codes. About size, the numbers say how large the change is where that is over a limit; `digest` is of the
    other things that a yes would permit: findings, odd commits; `part` is the run of a sub-issue that failed.
    """

    question_id: QuestionId
    asker: str
    text: str
    choices: tuple[str, ...]
    subject: str = ""
    codes: tuple[str, ...] = ()
    files_changed: int = 0
    lines_changed: int = 0
    added_mb: int = 0
    digest: str = ""
    part: str = ""


@dataclass(frozen=True, slots=True)
class QuestionAnswered(
    RunEvent,
    RuleEvent,
    zoom=Zoom.CONVERSATION,
    line="{by} answered: {text}",
    has_words=True,
    shows_payload=True,
    in_full="text",
):
    """A person answered; `text` is the reply or the chosen choice's text, `code` its meaning.

    `asker` and `subject` are the question's; all three are empty where they were not kept.
    """

    question_id: QuestionId
    by: str
    text: str
    code: str = ""
    asker: str = ""
    subject: str = ""


@dataclass(frozen=True, slots=True)
class RunSteered(
    RunEvent,
    RuleEvent,
    zoom=Zoom.CONVERSATION,
    line="{by} to the agent: {text}",
    has_words=True,
    in_full="text",
):
    """A person's message that the agent gets at its next step. `comment_id` makes it unique."""

    by: str
    text: str
    comment_id: int


@dataclass(frozen=True, slots=True)
class RunParked(RunEvent, zoom=Zoom.ACTIVITY, shows_payload=True, leads_to=RunState.PARKED):
    """The process ended, the session is kept. `why`: question, limit or pause."""

    why: str

    def describe(self) -> str:
        return f"paused, waiting for: {self.why.replace('_', ' ')}"


@dataclass(frozen=True, slots=True)
class RunRequeued(RunEvent, RuleEvent, zoom=Zoom.ACTIVITY, shows_payload=True, leads_to=RunState.QUEUED):
    """The run may go on. `why`: answered, approved, redirected, resumed, reclaimed or handed_back; `detail`
    says more about it. `by` let it go on, where it was paused.
    """

    why: str
    detail: str = ""
    by: str = ""

    def describe(self) -> str:
        return f"resumed: {self.detail or self.why.replace('_', ' ')}"


@dataclass(frozen=True, slots=True)
class RunHung(
    RunEvent,
    zoom=Zoom.ACTIVITY,
    line="hung its worker: no sign of life for {silent_s:.0f} s",
    shows_payload=True,
):
    """The run's worker gave no sign of life for `silent_s`, which is longer than it may, and was killed."""

    silent_s: float


@dataclass(frozen=True, slots=True)
class RunStopAsked(RunEvent, RuleEvent, zoom=Zoom.CONVERSATION, line="{by} asked to {how}: {why}"):
    """The run was told to stop. `how`: cancel, or pause; the supervisor obeys at its next look."""

    how: str
    by: str
    why: str


@dataclass(frozen=True, slots=True)
class CommandChecked(
    RunEvent,
    zoom=Zoom.ACTIVITY,
    line="{tier}: {command} → exit code {exit_code}",
    shows_payload=True,
    section="checks",
    section_omits=("tail",),
    changes_workspace=True,
):
    """One validation command ran. `tier`: fast or full. `log_digest` is the SHA-256 of the log that is kept.

    It ran on the commit `head`, while the default branch stood at `base`. `image` is the digest of the image
    in which it ran; `local` where there is none.
    """

    iteration: int
    tier: str
    command: str
    exit_code: int
    duration_s: float
    log_digest: str
    tail: str
    head: str = ""
    base: str = ""
    image: str = ""


@dataclass(frozen=True, slots=True)
class ValidationEnded(RunEvent, zoom=Zoom.ACTIVITY, shows_payload=True, affects_dispatch=False):
    """A tier as a whole passed or not, on `head`; the default branch stood at `base`.

    `clean`: it was the gate, on a clean checkout where no agent was; `image` is that of its commands.
    `definition` is the SHA-256 of the checks' lines as the default branch had them, empty where it was not
    kept. `paths` are those of a monorepo whose checks these were, `.` for the repository's own; none where
    the policy names none.
    """

    iteration: int
    tier: str
    passed: bool
    head: str
    base: str = ""
    image: str = ""
    clean: bool = False
    definition: str = ""
    paths: tuple[str, ...] = ()

    def describe(self) -> str:
        return f"{self.tier} validation {'passed' if self.passed else 'failed'}"


@dataclass(frozen=True, slots=True)
class BranchExported(
    RunEvent,
    zoom=Zoom.ACTIVITY,
    line="files: {files_changed}, lines: {lines_changed}, commits: {commits}",
    shows_payload=True,
    section="changes",
):
    """The workspace's branch reached the host's mirror; counts are against `base`.

    `files` are the changed ones, the first MAX_FILES; none in events of an older Cardinal.
    """

    branch: str
    base: str
    head: str
    files_changed: int
    lines_changed: int
    commits: int
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BranchPushed(RunEvent, zoom=Zoom.ACTIVITY, shows_payload=True, affects_dispatch=False):
    """The branch stands on GitHub at `head`.

    `start` is given while the work is unfinished: the commit at which it began.
    """

    branch: str
    head: str
    start: str = ""

    def describe(self) -> str:
        return f"pushed {self.head[:12]} to {self.branch}{', unfinished' if self.start else ''}"


@dataclass(frozen=True, slots=True)
class UsageMetered(RunEvent, shows_payload=True):
    """The cost of a stretch of work since the last such event."""

    usd: float
    input_tokens: int
    output_tokens: int
    turns: int
    seconds: float

    def plus(self, other: "UsageMetered") -> "UsageMetered":
        return replace(
            self,
            usd=self.usd + other.usd,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            turns=self.turns + other.turns,
            seconds=self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True)
class ThreadAnswered(RunEvent, zoom=Zoom.CONVERSATION, section="threads"):
    """The agent's words on one review thread that it was given; not `addressed`: the thread stays open."""

    thread_id: str
    text: str
    addressed: bool = True

    def describe(self) -> str:
        did = "answered a review thread" if self.addressed else "left a review thread open"
        return f"{did}: {self.text}"


@dataclass(frozen=True, slots=True)
class CriterionTest:
    """A criterion of the card's brief, and a test that shows that it is met: the agent says so."""

    criterion: str
    test: str


@dataclass(frozen=True, slots=True)
class FinalReported(RunEvent, zoom=Zoom.CONVERSATION, line="report: {done}", section="report"):
    """The final report, with changes, points to check and open questions: the deliberate end of the work.

    `metadata` are facts for programs and for whoever continues.
    """

    done: str
    changed: tuple[str, ...]
    check: tuple[str, ...]
    open_questions: tuple[str, ...]
    criteria: tuple[CriterionTest, ...] = ()
    metadata: Metadata = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class RunEnded(RunEvent, RuleEvent, zoom=Zoom.CONVERSATION, shows_payload=True, leads_to=RunState.ENDED):
    """The run's one ending. `last_known` is the state that it ended in, with the last line it said.

    `reason` is empty for succeeded, else agent_error, guardrail, validation, stalled, spawn_failed, gave_up,
    stopped, superseded, conflict, no_changes, no_validation, cancelled, repository, hung, internal, or
    restored: a ledger that came from a back-up found it on GitHub. `detail` is a text that a person can act
    on. `commits` are those of the run that its workspace keeps, None uncounted. `cause` is a code that is the
    same for the same cause on other cards: a provider, its key, the engine, an image; empty for one of the
    card's own. A person's answer to stop, `stopped`, is stored as a failure in older events.
    """

    ending: Ending
    reason: str
    detail: str
    last_known: str
    commits: int | None = None
    cause: str = ""

    @property
    def counts_as(self) -> Ending:
        """The ending for counts and lists: what a person chose is no failure."""
        return Ending.CANCELLED if self.reason == STOPPED else self.ending

    def describe(self) -> str:
        reason = "" if self.reason == self.ending else self.reason.replace("_", " ")
        return (
            f"run {self.run_id} {': '.join(part for part in (self.counts_as, reason, self.detail) if part)}"
        )
