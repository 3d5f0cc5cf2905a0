"""A card's story in lines that people read, made from the log: conversation, activity, debug."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import cache
from itertools import islice
from typing import Any

from sqlalchemy import BigInteger, Connection, Select, Text, bindparam, literal, select

from ledger.codec import decode
from ledger.db.rows import values
from ledger.db.statements import Statement, statement
from ledger.db.tables import events
from ledger.event import Event
from ledger.events.agent import ProviderFailed
from ledger.events.board import CardEvent, CardMoved
from ledger.events.bounds import RoundFailed
from ledger.events.guard import GuardsJudged, Violation
from ledger.events.instruction import SkillsChosen
from ledger.events.placement import RepositoryResolved
from ledger.events.publication import EntryHeld
from ledger.events.pull import ChecksSettled, MergeAwaited
from ledger.events.reproduction import ReproductionPlayed
from ledger.events.run import BY_PUSH, CHECK, RunEnded, RunEvent, RunQueued, ToolUsed
from ledger.events.stage import StageEntered, StageLeft
from ledger.events.workspace import Checkpointed, WorkspaceRestored, WorkspaceTaken
from ledger.ids import CardId, RunId
from ledger.model.witness_text import witness_text
from ledger.views.runs import runs

LINE_CHARS, WORDS_CHARS = 500, 4_000  # of a line; of one with the words of people or to them
MAX_EVENTS = 1000  # that are read where steps fold
MAX_SEQ = 2**62  # no event has it
_RELATIONS = {"blocks": "blocks", "blocked_by": "is blocked by", "relates": "is related to"}


class Zoom(StrEnum):
    """The depth of a timeline; each shows the lines of those before it, too."""

    CONVERSATION = "conversation"
    ACTIVITY = "activity"
    DEBUG = "debug"


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """One line; `seq` is its event's, `run_id` is None for an event of no run.

    `payload` has the event's fields as JSON, at the depth debug and for kinds in PAYLOADS alone. `step` is
    the event of a line about the use of a tool.
    """

    seq: int
    card_id: CardId
    run_id: RunId | None
    zoom: Zoom
    kind: str
    text: str
    at: datetime
    payload: str = ""
    step: ToolUsed | None = None


# Kinds whose fields tell of a run's own work. Others may tell of other cards, or of the board's policy.
PAYLOADS = frozenset(
    (
        *("AgentSaid", "BoardToolCalled", "BranchExported", "BranchPushed", "CallRefused", "Checkpointed"),
        *("CommandChecked", "GuardsJudged", "HostReached", "PermissionAwaited", "PermissionRefused"),
        *("PlanApproved", "PlanProposed", "PlanTicked", "Progressed", "ProviderFailed", "QuestionAnswered"),
        *("QuestionAsked", "RoundBegan", "RoundFailed", "RunClaimed", "RunEnded", "RunHung", "RunParked"),
        *("RunRequeued", "RunStepped", "SessionLost", "SessionStarted", "StageEntered", "StageLeft"),
        *("TodoListed", "SecretSent", "ToolServerCalled", "ToolServerFailed"),
        *("ToolAllowed", "ToolUsed", "TurnEnded", "TurnStarted", "UsageMetered", "ValidationEnded"),
        *("CheckWitnessed", "CommitsSigned", "WorkspaceRestored", "WorkspaceTaken", "BranchRebased"),
    )
)
WORDS = frozenset(
    ("AssistantReplied", "CommandGiven", "PersonSaid", "PlanProposed", "PlanRedirected", "QuestionAnswered",
     "QuestionAsked", "ReviewSubmitted", "RunSteered")
)  # fmt: skip
Line = tuple[Zoom, Callable[[Any], str]]
_C, _A = Zoom.CONVERSATION, Zoom.ACTIVITY
_CHOOSES_NOTHING = ", which chooses nothing"
# What a kind says in one line. A kind that is not here is told by its name at the depth debug.
LINES: Mapping[str, Line] = {
    "CardSeen": (_C, lambda e: f"appeared in {e.column or 'no column'}: {e.title}"),
    "CardMoved": (_C, lambda e: _moved(e)),
    "CardAssigned": (_A, lambda e: f"is assigned to {', '.join(e.assignees) or 'no one'}"),
    "LabelJudged": (_A, lambda e: f"{e.by} set the label {e.label}{_CHOOSES_NOTHING * (not e.counts)}"),
    "MoverFound": (_C, lambda e: f"{e.by} had moved it to {e.column}"),
    "CardArrived": (_C, lambda e: f"{_person(e.by)} moved it to {e.column} again"),
    "CardArchived": (_C, lambda e: f"{e.by or 'someone'} took it off the board: {e.reason}"),
    "CardRestored": (_C, lambda e: f"{e.by or 'someone'} brought it back on the board"),
    "RepositoryResolved": (_C, lambda e: _resolved(e)),
    "CardReplaced": (_A, lambda e: f"became {e.repository}#{e.number}"),
    "CardConverted": (_A, lambda e: f"became {e.repository}#{e.number}"),
    "CardStateChanged": (_A, lambda e: f"{e.before} → {e.after}: ".replace("_", " ") + e.because),
    "CardExplained": (_A, lambda e: e.because),
    "CardHeldBack": (
        _C,
        lambda e: f"{_person(e.by)} dragged it to {e.wanted}; held back" if e.wanted else "not held back now",
    ),
    "IssueClosed": (_C, lambda e: f"{e.by or 'someone'} closed the issue: {e.reason}"),
    "IssueReopened": (_C, lambda e: f"{e.by or 'someone'} reopened the issue"),
    "DecisionFailed": (_C, lambda e: f"nothing was decided about {e.of} (event {e.seq}): {e.because}"),
    "PersonSaid": (_C, lambda e: f"{e.author}: {e.text}"),
    "CommandGiven": (_C, lambda e: f"{e.by}: /cardinal {e.command} {e.argument}"),
    "CommandRefused": (_C, lambda e: f"refused /cardinal {e.command} of {e.by}: {e.because}"),
    "CommentReleased": (_C, lambda e: f"{e.by} let comment {e.comment_id} through"),
    "CommentChanged": (_A, lambda e: f"{e.by} changed comment {e.comment_id}: {e.how}"),
    "AssistantReplied": (_C, lambda e: f"assistant: {e.text}"),
    "TaskAnswered": (_A, lambda e: f"{e.rule}: {' '.join((e.text, *e.labels, e.option)).strip()}"),
    "BodyExpanded": (_A, lambda e: f"{e.rule} wrote the description out"),
    "AssistantFailed": (_C, lambda e: f"{e.what} failed: {e.because}"),
    "PullOpened": (_C, lambda e: f"opened pull request #{e.number}"),
    "PullChanged": (_A, lambda e: f"pull request #{e.number} is {e.state}{', a draft' if e.draft else ''}"),
    "ReviewSubmitted": (
        _C,
        lambda e: f"{e.author} {e.verdict.replace('_', ' ')}: {e.body}".removesuffix(": "),
    ),
    "ReviewDismissed": (_A, lambda e: f"review {e.review_id} was dismissed"),
    "ReviewRequested": (_A, lambda e: f"{e.by} asked {e.reviewer} for a review"),
    "ChecksAwaited": (Zoom.DEBUG, lambda e: f"checks of {e.head[:12]} wait for {', '.join(e.pending)}"),
    "ChecksSettled": (_C, lambda e: _checks(e)),
    "GroupFormed": (Zoom.DEBUG, lambda e: f"the merge queue wants checks on {e.head[:12]}"),
    "GroupGone": (Zoom.DEBUG, lambda e: f"the merge queue's {e.head[:12]} is gone: {e.reason}"),
    "MergeAwaited": (_A, lambda e: _merge_awaited(e)),
    "MergeOutdated": (_A, lambda e: f"#{e.number} is not merged: not checked on {e.base[:12]}"),
    "BranchDeleted": (_A, lambda e: f"branch {e.branch} was deleted"),
    "EntryGivenUp": (_C, lambda e: f"could not {e.act.replace('_', ' ')}: {e.because}"),
    "EntryHeld": (_C, lambda e: _held(e)),
    "RunQueued": (_C, lambda e: _queued(e)),
    "RunClaimed": (_A, lambda e: f"run {e.run_id} got a worker"),
    "WorkspaceTaken": (Zoom.DEBUG, lambda e: _workspace_taken(e)),
    "Checkpointed": (Zoom.DEBUG, lambda e: _checkpointed(e)),
    "WorkspaceRestored": (_A, lambda e: _restored(e)),
    "RunStepped": (Zoom.DEBUG, lambda e: f"{e.before} → {e.after}"),
    "PlanProposed": (_C, lambda e: f"plan {e.revision}: {e.summary}"),
    "PlanRebound": (_A, lambda e: f"plan {e.revision} is about {e.base[:12]} now"),
    "PlanApproved": (_C, lambda e: f"plan {e.revision} approved by {e.by}"),
    "PlanRedirected": (_C, lambda e: f"{e.by} redirected plan {e.revision}: {e.text}"),
    "PlanTicked": (_A, lambda e: f"step {e.done} of the plan is done"),
    "Progressed": (_A, lambda e: e.text),
    "Noted": (_A, lambda e: f"note: {e.text}"),
    "CardProposed": (_C, lambda e: f"wants a new card: {e.title} ({e.reason})"),
    "CardLinked": (
        _C,
        lambda e: f"this card {_RELATIONS.get(e.relation, e.relation)} {e.target}: {e.reason}",
    ),
    "CardMade": (_A, lambda e: f"made card {e.repository}#{e.number}"),
    "PipelineLimited": (_C, lambda e: f"reached the limit of {e.limit} that an agent may make ({e.most})"),
    "BudgetReserved": (Zoom.DEBUG, lambda e: f"may spend ${e.usd:.2f} {e.by_rule}"),
    "BudgetRaised": (_C, lambda e: f"{e.by} added ${e.usd:.2f} to the budget"),
    "TodoListed": (_A, lambda e: f"its own list: {sum(e.done)} of {len(e.items)} done"),
    "PermissionRefused": (_A, lambda e: f"may not use {e.tool}: {e.command} ({e.why})"),
    "ToolAllowed": (_C, lambda e: f"{e.by} allowed for this card: {e.pattern}"),
    "CardToolAllowed": (_C, lambda e: f"{e.by} allowed for this card: {e.pattern}"),
    "JobMade": (_C, lambda e: f"{e.by} asked for this card through a program"),
    "CardSubscribed": (Zoom.DEBUG, lambda e: f"{e.login} follows {e.run_id or 'the card'}"),
    "CardUnsubscribed": (Zoom.DEBUG, lambda e: f"{e.login} follows no more{e.because and ': '}{e.because}"),
    "SkillsPinned": (_C, lambda e: f"{e.by} chose skills: {', '.join(e.names) or 'none'}"),
    "AgentPinned": (_C, lambda e: f"{e.by} chose {e.choice or 'no other agent'} for the next runs"),
    "SkillsChosen": (_A, lambda e: _skills(e)),
    "InstructionsStacked": (Zoom.DEBUG, lambda e: f"instructed in {len(e.layers)} layers"),
    "ProviderFailed": (_A, lambda e: _provider_failed(e)),
    "CallRefused": (_A, lambda e: f"a model call was refused ({e.kind}): {e.detail}"),
    "HostReached": (
        Zoom.DEBUG,
        lambda e: f"{'reached' if e.allowed else 'was kept from'} {e.host}:{e.port} ({e.why})",
    ),
    "SecretSent": (Zoom.DEBUG, lambda e: f"{e.host} got the secret {e.name}: {e.times} times"),
    "ToolServerCalled": (
        Zoom.DEBUG,
        lambda e: f"{e.server}__{e.tool}: {e.outcome} after {e.duration_ms} ms, {e.output_bytes} bytes",
    ),
    "ToolServerFailed": (_A, lambda e: f"tool server {e.server}: {e.detail}"),
    "AgentSaid": (Zoom.DEBUG, lambda e: e.text),
    "ToolUsed": (Zoom.DEBUG, lambda e: f"{e.tool}: {e.summary}{'' if e.ok else ' (failed)'}"),
    "StageEntered": (_A, lambda e: _stage_entered(e)),
    "StageBriefed": (Zoom.DEBUG, lambda e: f"the agent of stage {e.stage} is told who it is and what to do"),
    "StageReopened": (_A, lambda e: f"stage {e.stage} continues: {e.why}"),
    "StageLeft": (_A, lambda e: _stage_left(e)),
    "SnapshotTaken": (_A, lambda e: f"stage {e.stage} hands over: {e.summary}"),
    "StageTidied": (_A, lambda e: f"stage {e.stage}: {e.command} → exit code {e.exit_code}"),
    "StageAwaited": (Zoom.DEBUG, lambda e: f"a person decides about stage {e.target} ({e.why})"),
    "QuestionAsked": (_C, lambda e: f"question: {e.text}"),
    "QuestionAnswered": (_C, lambda e: f"{e.by} answered: {e.text}"),
    "RunSteered": (_C, lambda e: f"{e.by} to the agent: {e.text}"),
    "RunParked": (_A, lambda e: f"paused, waiting for: {e.why.replace('_', ' ')}"),
    "RunHung": (_A, lambda e: f"hung its worker: no sign of life for {e.silent_s:.0f} s"),
    "RunRequeued": (_A, lambda e: f"resumed: {e.detail or e.why.replace('_', ' ')}"),
    "RunStopAsked": (_C, lambda e: f"{e.by} asked to {e.how}: {e.why}"),
    "ArtifactKept": (Zoom.DEBUG, lambda e: f"kept {e.name} ({e.kind}, {e.size_bytes} bytes)"),
    "ArtifactDropped": (Zoom.DEBUG, lambda e: f"does not keep {e.name}: {e.reason}"),
    "CommandChecked": (_A, lambda e: f"{e.tier}: {e.command} → exit code {e.exit_code}"),
    "CheckWitnessed": (_A, lambda e: f"{e.tier}: {e.command}: {witness_text(e)}"),
    "ValidationEnded": (_A, lambda e: f"{e.tier} validation {'passed' if e.passed else 'failed'}"),
    "RoundFailed": (_A, lambda e: _round_failed(e)),
    "ValidationWaived": (_C, lambda e: f"nothing was checked on {e.head[:12]}: validation is none"),
    "ReproductionPlayed": (_A, lambda e: _reproduced(e)),
    "ReproductionSkipped": (_A, lambda e: f"nothing is played in a browser: {e.why}"),
    "GuardsJudged": (_A, lambda e: _judged(e)),
    "BranchExported": (
        _A,
        lambda e: f"files: {e.files_changed}, lines: {e.lines_changed}, commits: {e.commits}",
    ),
    "CommitsSigned": (_A, lambda e: f"GitHub signed {e.head[:12]} as {e.signed[:12]}, with the same files"),
    "BranchRebased": (
        _A,
        lambda e: f"put {e.branch} on {e.base[:12]}: {e.before[:12]} is {e.after[:12]} now",
    ),
    "BranchPushed": (_A, lambda e: f"pushed {e.head[:12]} to {e.branch}{', unfinished' if e.start else ''}"),
    "ThreadAnswered": (
        _C,
        lambda e: f"{'answered a review thread' if e.addressed else 'left a review thread open'}: {e.text}",
    ),
    "FinalReported": (_C, lambda e: f"report: {e.done}"),
    "InvestigationBegun": (_A, lambda e: f"investigates {e.base[:12]}"),
    "FindingsReported": (
        _C,
        lambda e: f"findings: {'; '.join(finding.title for finding in e.findings) or 'none'}",
    ),
    "FollowUpMade": (_C, lambda e: f"follow-up {e.proposal} of {e.run_id} is {e.repository}#{e.number}"),
    "RunEnded": (_C, lambda e: _ended(e)),
}


def _workspace_taken(event: WorkspaceTaken) -> str:
    without = f", without what is on {event.left_on}" if event.left_on else ""
    return f"works on {event.host or 'this host'}{without}"


def _checkpointed(event: Checkpointed) -> str:
    without = f", without {'; '.join(event.left_out)}" if event.left_out else ""
    return f"its work is in the store{without}"


def _restored(event: WorkspaceRestored) -> str:
    without = f", without {'; '.join(event.missing)}" if event.missing else ""
    return f"continues the work of {event.source} on {event.source_host or 'this host'}{without}"


def _provider_failed(event: ProviderFailed) -> str:
    what = f"answered {event.status}" if event.status else "did not answer"
    again = f", {event.in_a_row} times in a row" if event.in_a_row > 1 else ""
    return f"the model's provider {what}{again}: {event.detail}"


def _reproduced(event: ReproductionPlayed) -> str:
    where = f" at step {event.step}" if event.step else ""
    said = f": {event.said}" if event.said else ""
    return f"in a browser {event.phase} the work: {event.outcome}{where} of {len(event.steps)}{said}"


def _round_failed(event: RoundFailed) -> str:
    names = ", ".join(event.names[:5])
    return f"round {event.iteration} failed at {event.command}{f': {names}' if names else ''}"


def _stage_entered(event: StageEntered) -> str:
    again = f" for the time number {event.number}" if event.number > 1 else ""
    who = "" if event.by in ("agent", "policy") else f", as {event.by} decided"
    return f"stage {event.stage} began{again} (persona {event.persona}){who}"


def _stage_left(event: StageLeft) -> str:
    lines = f"files: {event.files_changed}, lines: {event.lines_changed}, ${event.usd:.2f}"
    return (
        f"stage {event.stage} {f'handed the work to {event.target}' if event.target else 'ended'} ({lines})"
    )


def _skills(event: SkillsChosen) -> str:
    loaded = [f"{skill.name} ({skill.why})" for skill in event.considered if skill.loaded]
    skipped = [
        f"{skill.name} ({skill.why})" for skill in event.considered if skill.asked and not skill.loaded
    ]
    parts = [
        f"skills: {', '.join(loaded) or 'none'}",
        *([f"skipped: {', '.join(skipped)}"] if skipped else []),
    ]
    return "; ".join(parts)


def _person(by: str) -> str:
    """Return the person; older Cardinals wrote `the board` for a drag."""
    return "somebody" if by in ("", "the board") else by


def _queued(event: RunQueued) -> str:
    who = "a push" if (event.kind, event.by) == (CHECK, BY_PUSH) else event.by
    of = f" for {who}" if _person(event.by) == event.by else ""
    if event.kind == CHECK:  # it is no attempt, and its card may stand anywhere
        return f"run {event.run_id} queued{of} (checks only)"
    kind = event.kind if event.mode == "fix" else f"{event.kind}, {event.mode}"
    return f"run {event.run_id} queued in {event.column}{of} (attempt {event.attempt}, {kind})"


def _moved(event: CardMoved) -> str:
    way = f"from {event.before or 'no column'} to {event.after or 'no column'}"
    if event.by_cardinal:
        return f"Cardinal moved it {way}"
    return f"{_person(event.by)} moved it {way}"


def _resolved(event: RepositoryResolved) -> str:
    return event.problem or f"works in {event.repository} ({event.rule}: {event.value})"


def _checks(event: ChecksSettled) -> str:
    red = ", ".join(failure.name for failure in event.failures)
    head = event.head[:12]
    return f"checks failed on {head}: {red}" if red else f"no failing checks on {head}"


def _held(event: EntryHeld) -> str:
    act = event.act.replace("_", " ")
    return f"could not {act} yet: {event.because}" if event.because else f"could {act} after all"


def _merge_awaited(event: MergeAwaited) -> str:
    if not event.how:
        return f"GitHub merges #{event.number} no more: {event.because}"
    way = "through its merge queue" if event.how == "queue" else "once its checks pass"
    return f"GitHub merges #{event.number} {way}"


def _judged(event: GuardsJudged) -> str:
    if event.withheld:
        return f"early publication of {event.head[:12]} withheld: {event.withheld}"
    return f"guards on {event.head[:12]}: {'; '.join(map(_violation, event.findings)) or 'nothing found'}"


def _violation(violation: Violation) -> str:
    place = f"{violation.path}:{violation.line}" if violation.line else violation.path
    return f"{violation.action}: {place} {violation.what} (rule {violation.rule})"


def _ended(event: RunEnded) -> str:
    reason = "" if event.reason == event.ending else event.reason.replace("_", " ")
    return f"run {event.run_id} {': '.join(part for part in (event.ending, reason, event.detail) if part)}"


def of_card(
    db: Connection,
    card_id: CardId,
    zoom: Zoom = Zoom.ACTIVITY,
    limit: int = 100,
    before: int | None = None,
    *,
    steps: bool = False,
) -> tuple[TimelineRow, ...]:
    """Return the card's newest lines at that depth, or those before event `before`, the oldest first.

    With `steps` every use of a tool has a line.
    """
    query = _newest(Zoom(zoom), steps)
    bounds = {"before": MAX_SEQ if before is None else before, "most": limit}
    stored = query.all(db, {**bounds, "stream": f"card:{card_id}"})
    for run_id in values(db, runs.c.run_id, "-serial", card_id=card_id):
        stored += query.all(db, {**bounds, "stream": f"run:{run_id}"})
    newest = islice(sorted(map(tuple, stored), reverse=True), limit)
    lines = [
        replace(
            event_line(card_id, seq, at, decode(kind, body)),
            payload=body if zoom == Zoom.DEBUG and kind in PAYLOADS else "",
        )
        for seq, at, kind, body in newest
    ]
    return tuple(reversed(lines))


def times_of(db: Connection, card_id: CardId, kind: type[CardEvent], since: datetime) -> tuple[datetime, ...]:
    """Return when events of that kind happened to the card after `since`, the oldest first."""
    mine = {"stream": f"card:{card_id}", "kind": kind.__name__, "since": since}
    return tuple([row[0] for row in _times.all(db, mine)])


def event_line(card_id: CardId, seq: int, at: datetime, event: Event) -> TimelineRow:
    """Return the line of one event of the card or of a run of it."""
    kind = type(event).__name__
    zoom, tell = LINES.get(kind, (Zoom.DEBUG, lambda _e: kind))
    run_id = event.run_id if isinstance(event, RunEvent) else None
    step = event if isinstance(event, ToolUsed) else None
    text = text_line(tell(event), WORDS_CHARS if kind in WORDS else LINE_CHARS)
    return TimelineRow(seq, card_id, run_id, zoom, kind, text, at, step=step)


def text_line(text: str, most: int = LINE_CHARS) -> str:
    """Return `text` without line breaks and control characters, at most so many characters."""
    whole = " ".join("".join(char if char.isprintable() else " " for char in text[: most * 4]).split())
    return whole if len(whole) <= most else whole[: most - 1] + "…"


@cache
def _newest(zoom: Zoom, steps: bool) -> Statement:
    """Return the query for a stream's newest events down to that depth."""
    depths = tuple(Zoom)[: tuple(Zoom).index(zoom) + 1]
    shown = {kind for kind, (depth, _) in LINES.items() if depth in depths}
    kinds = [literal(kind) for kind in sorted(shown | ({ToolUsed.__name__} if steps else set()))]
    mine = events.c.stream == bindparam("stream", type_=Text)
    mine &= events.c.seq < bindparam("before", type_=BigInteger)
    if zoom is not Zoom.DEBUG:
        mine &= events.c.kind.in_(kinds)
    query = select(events.c.seq, events.c.at, events.c.kind, events.c.body).where(mine)
    return Statement(query.order_by(events.c.version.desc()).limit(bindparam("most", type_=BigInteger)))


@statement
def _times(stream: Any, kind: Any, since: Any) -> Select[Any]:
    mine = (events.c.stream == stream) & (events.c.kind == kind) & (events.c.at > since)
    return select(events.c.at).where(mine).order_by(events.c.version)
