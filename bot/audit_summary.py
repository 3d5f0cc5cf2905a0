"""What a run's events come to for who audits it: made of them alone, so that it can be made again."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from ledger.event import Event
from ledger.events import agent, artifact, board, budget, conversation, placement, policy, pull
from ledger.events import run as runs
from ledger.ids import RunId


@dataclass(frozen=True, slots=True)
class Told:
    """An event with its number in the log and its time, as the document has them."""

    seq: int
    at: str
    event: Event


@dataclass(slots=True)
class _Summary:
    """The fields of the document's summary, in the order in which people ask for them."""

    asked: dict[str, Any] = field(default_factory=dict)
    card: dict[str, Any] = field(default_factory=dict)
    repository: dict[str, Any] = field(default_factory=dict)
    policy: dict[str, Any] = field(default_factory=dict)
    agent: dict[str, Any] = field(default_factory=dict)
    briefings: list[dict[str, Any]] = field(default_factory=list)
    plans: list[dict[str, Any]] = field(default_factory=list)
    questions: list[dict[str, Any]] = field(default_factory=list)
    commands: list[dict[str, Any]] = field(default_factory=list)
    refused: list[dict[str, Any]] = field(default_factory=list)
    iterations: int = 0
    tools: dict[str, int] = field(default_factory=dict)
    checks: list[dict[str, Any]] = field(default_factory=list)
    validation: list[dict[str, Any]] = field(default_factory=list)
    changes: dict[str, Any] = field(default_factory=dict)
    pushed: list[dict[str, Any]] = field(default_factory=list)
    reviews: list[dict[str, Any]] = field(default_factory=list)
    pull: dict[str, Any] = field(default_factory=dict)
    artifacts: list[dict[str, Any]] = field(default_factory=list)
    report: dict[str, Any] = field(default_factory=dict)
    cost: dict[str, float] = field(default_factory=dict)
    outcome: dict[str, Any] = field(default_factory=dict)


def of_events(run_id: RunId, told: Iterable[Told]) -> dict[str, Any]:
    """Return the summary of a run by its events, the oldest first; what never happened is empty."""
    summary = _Summary()
    for one in told:
        if isinstance(one.event, runs.RunEvent):
            if one.event.run_id == run_id:
                _of_run(summary, one, one.event)
        else:
            _beside(summary, one, one.event)
    return asdict(summary)


def _of_run(summary: _Summary, told: Told, event: runs.RunEvent) -> None:
    _of_work(summary, told, event)
    _of_people(summary, told, event)
    _of_result(summary, told, event)
    _of_files(summary, event)


def _of_work(summary: _Summary, told: Told, event: runs.RunEvent) -> None:
    match event:
        case runs.RunQueued():
            summary.asked = {"by": event.by, "at": told.at, "kind": event.kind, "attempt": event.attempt}
            summary.asked["column"] = event.column
            summary.asked["mode"] = event.mode
            summary.repository |= {"name": event.repository, "branch": event.branch}
            summary.agent = {"name": event.agent or "none: it only checks", "version": "", "sessions": []}
        case runs.BriefingMade():
            one = {"seq": told.seq, "digest": event.digest, "issue": event.issue, "omitted": event.omitted}
            summary.briefings.append(one)
        case runs.SessionStarted():
            summary.agent["version"] = event.version
            summary.agent.setdefault("sessions", []).append(event.session_id)
        case runs.ToolUsed():
            summary.tools[event.tool] = summary.tools.get(event.tool, 0) + 1
        case agent.PermissionRefused():
            summary.refused.append({"tool": event.tool, "command": event.command, "why": event.why})
        case runs.UsageMetered():
            for name in ("usd", "input_tokens", "output_tokens", "turns", "seconds"):
                summary.cost[name] = round(summary.cost.get(name, 0) + getattr(event, name), 6)


def _of_people(summary: _Summary, told: Told, event: runs.RunEvent) -> None:
    match event:
        case runs.PlanProposed():
            plan = {"revision": event.revision, "summary": event.summary, "steps": event.steps}
            summary.plans.append({**plan, "state": "proposed", "by": "", "bound": "", "at": told.at})
        case runs.PlanApproved() | runs.PlanRedirected():
            for plan in summary.plans:
                if plan["revision"] == event.revision:
                    approved = isinstance(event, runs.PlanApproved)
                    plan |= {"state": "approved" if approved else "redirected", "by": event.by}
                    plan |= {"bound": event.bound} if isinstance(event, runs.PlanApproved) else {}
        case runs.QuestionAsked():
            asked = {"id": event.question_id, "asker": event.asker, "text": event.text}
            summary.questions.append({**asked, "choices": event.choices, "answer": "", "by": "", "at": ""})
        case runs.QuestionAnswered():
            for asked in summary.questions:
                if asked["id"] == event.question_id and not asked["at"]:
                    asked |= {"answer": event.text, "by": event.by, "at": told.at}
        case runs.RunSteered() | runs.RunStopAsked() | budget.BudgetRaised():
            said = ("how", "why", "text", "usd")
            words = {name: getattr(event, name) for name in said if hasattr(event, name)}
            summary.commands.append({"at": told.at, "by": event.by, "what": type(event).__name__, **words})


def _of_result(summary: _Summary, told: Told, event: runs.RunEvent) -> None:
    match event:
        case runs.CommandChecked():
            summary.checks.append({"seq": told.seq, **_fields(event, "run_id", "tail")})
        case runs.ValidationEnded():
            summary.iterations = max(summary.iterations, event.iteration)
            summary.validation.append({"seq": told.seq, **_fields(event, "run_id")})
        case runs.BranchExported():
            summary.changes = _fields(event, "run_id")
        case runs.BranchPushed():
            summary.pushed.append({"at": told.at, "branch": event.branch, "head": event.head})
        case runs.FinalReported():
            summary.report = _fields(event, "run_id")
        case runs.RunEnded():
            summary.outcome = {**_fields(event, "run_id"), "at": told.at}


def _of_files(summary: _Summary, event: runs.RunEvent) -> None:
    match event:
        case artifact.ArtifactKept():
            summary.artifacts.append({**_fields(event, "run_id"), "dropped": ""})
        case artifact.ArtifactDropped():
            for kept in summary.artifacts:
                if kept["digest"] == event.digest:
                    kept["dropped"] = event.reason


def _beside(summary: _Summary, told: Told, event: Event) -> None:
    match event:
        case policy.PolicyLoaded():
            summary.policy = {"digest": event.digest, "commit": event.commit, "seq": told.seq}
        case board.CardSeen() if not summary.asked:  # later ones are of the card as it became
            issue = {"repository": event.repository, "number": event.number, "title": event.title}
            summary.card = {"id": event.card_id, **issue, "author": event.author}
        case placement.RepositoryResolved() if not summary.asked:
            decided = {"decided_by": event.rule, "went_by": event.value, "open": event.problem}
            summary.repository |= {"name": event.repository, **decided}
        case conversation.CommandGiven():
            what = f"/cardinal {event.command} {event.argument}".rstrip()
            summary.commands.append({"at": told.at, "by": event.by, "role": event.role, "what": what})
        case pull.PullOpened():
            summary.pull = {"number": event.number, "head": event.head, "state": "open", "at": told.at}
        case pull.PullChanged():
            summary.pull |= {"number": event.number, "head": event.head, "state": event.state, "at": told.at}
        case pull.ReviewSubmitted():
            review = {"id": event.review_id, "by": event.author, "trusted": event.trusted}
            summary.reviews.append(
                {**review, "verdict": event.verdict, "head": event.head, "at": told.at, "dismissed": False}
            )
        case pull.ReviewDismissed():
            for review in summary.reviews:
                review["dismissed"] = review["dismissed"] or review["id"] == event.review_id


def _fields(event: Event, *but: str) -> dict[str, Any]:
    named = asdict(event)  # type: ignore[call-overload]
    return {name: value for name, value in named.items() if name not in but}
