"""Sections of an audit's summary: how each kind of event fills them."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from dataclasses import fields as fields_of
from typing import Any

from ledger.event import Event
from ledger.events import (
    agent,
    artifact,
    board,
    bounds,
    branch,
    brief,
    budget,
    conversation,
    findings,
    guard,
    instruction,
    placement,
    policy,
    pull,
    run,
    stage,
)
from ledger.rows.limit_answers import Code, Subject, code_of, subject_of
from rules.chatops.parser import door_of

Row = dict[str, Any]
Summary = dict[str, Any]  # by section: rows in a list, or facts by name

_QUESTION = tuple(field.name for field in fields_of(run.QuestionAsked) if field.name != "run_id")
_COSTS = ("usd", "input_tokens", "output_tokens", "turns", "seconds")
_STAGE_COSTS = ("usd", "input_tokens", "output_tokens", "seconds", "files_changed", "lines_changed")


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """An event with its number in the log and its time, as the document has them."""

    seq: int
    at: str
    event: Event


# In the order in which people ask for them.
SECTIONS = (
    *("asked", "card", "repository", "policy", "agent", "instructions", "skills", "briefings", "plans"),
    *(
        "questions",
        "commands",
        "leave",
        "stages",
        "refused",
        "hosts",
        "secrets",
        "tools",
        "iterations",
        "rounds",
    ),
    *("checks", "witnesses", "validation", "waived", "reproductions", "guards", "violations", "findings"),
    "related",
    "changes",
    *("signed", "pushed", "reviews", "threads", "pull", "ci", "artifacts", "report", "cost", "faults"),
    "outcome",
)
# Sections of facts, where the newest event counts; the others have rows.
FACTS = frozenset(
    {
        *("asked", "card", "repository", "policy", "agent", "instructions", "tools", "findings"),
        *("changes", "pull", "report", "cost", "outcome"),
    }
)
NAMED = ("faults", "related")  # sections of several kinds: each row begins with its kind
Fill = Callable[[Summary, AuditEvent], None]
FILLERS: dict[type[Event], Fill] = {}  # of kinds that do more than add a row to their section


def _takes(*kinds: type[Event]) -> Callable[[Fill], Fill]:
    """Register a filler for these kinds of event."""

    def register(fill: Fill) -> Fill:
        FILLERS.update(dict.fromkeys(kinds, fill))
        return fill

    return register


def event_fields(event: Any, *without: str) -> Row:
    """Return the fields of an event, or of a part of it, as plain values; its run's id is left out."""
    return {name: value for name, value in asdict(event).items() if name not in ("run_id", *without)}


def row(record: AuditEvent, *without: str) -> Row:
    """Return an event as a row: its number and time in the log, and its fields."""
    return {"seq": record.seq, "at": record.at, **event_fields(record.event, *without)}


def fill_section(summary: Summary, record: AuditEvent) -> None:
    """Fill the summary by the event: with the filler of its kind, else as a row of the section it names."""
    kind = type(record.event)
    if kind in FILLERS:
        FILLERS[kind](summary, record)
    elif kind.section in FACTS:
        summary[kind.section] = event_fields(record.event)
    elif kind.section:
        what = {"what": kind.__name__} if kind.section in NAMED else {}
        summary[kind.section].append({**what, **row(record, *kind.section_omits)})


@_takes(run.RunQueued, run.SessionStarted)
def request(summary: Summary, record: AuditEvent) -> None:
    """Fill `asked`, `repository` and `agent` from the request and the agent's sessions."""
    match record.event:
        case run.RunQueued() as event:
            about = event_fields(event, "card_id", "repository", "branch", "agent", "settings", "session_id")
            summary["asked"] = {"at": record.at, **about}
            summary["repository"] |= {"name": event.repository, "branch": event.branch}
            summary["agent"] = {"name": event.agent or "none: it only checks", "version": "", "sessions": []}
        case run.SessionStarted() as event:
            summary["agent"]["version"] = event.version
            summary["agent"].setdefault("sessions", []).append(event.session_id)


@_takes(policy.PolicyLoaded, board.CardSeen, placement.RepositoryResolved)
def card(summary: Summary, record: AuditEvent) -> None:
    """Fill `policy`, and `card` and `repository` as they were when the run was asked for."""
    match record.event:
        case policy.PolicyLoaded() as event:
            summary["policy"] = {"digest": event.digest, "commit": event.commit, "seq": record.seq}
        case board.CardSeen() as event if not summary["asked"]:
            issue = {"repository": event.repository, "number": event.number, "title": event.title}
            summary["card"] = {"id": event.card_id, **issue, "author": event.author}
        case placement.RepositoryResolved() as event if not summary["asked"]:
            decided = {"decided_by": event.rule, "went_by": event.value, "open": event.problem}
            summary["repository"] |= {"name": event.repository, **decided}


@_takes(run.ToolUsed, run.UsageMetered, budget.BudgetReserved)
def spending(summary: Summary, record: AuditEvent) -> None:
    """Fill `tools` with counts and `cost` with sums."""
    match record.event:
        case run.ToolUsed(tool=tool):
            summary["tools"][tool] = summary["tools"].get(tool, 0) + 1
        case run.UsageMetered() as event:
            cost = summary["cost"]
            cost |= {name: round(cost.get(name, 0) + getattr(event, name), 6) for name in _COSTS}
        case budget.BudgetReserved(usd=usd):
            summary["cost"]["reserved_usd"] = usd


@_takes(instruction.SkillsChosen, instruction.InstructionsStacked)
def instructions(summary: Summary, record: AuditEvent) -> None:
    """Fill `skills` and `instructions`; the texts of layers stay in their event."""
    match record.event:
        case instruction.SkillsChosen(considered=considered):
            summary["skills"] = [{"seq": record.seq, **asdict(skill)} for skill in considered]
        case instruction.InstructionsStacked() as event:
            layers = [event_fields(layer, "text") for layer in event.layers]
            summary["instructions"] = {"seq": record.seq, "digest": event.digest, "layers": layers}


@_takes(run.PlanProposed, run.PlanRebound, run.PlanApproved, run.PlanRedirected)
def plans(summary: Summary, record: AuditEvent) -> None:
    """Fill `plans`: each revision with the decision about it."""
    change: Row = {}
    match record.event:
        case run.PlanProposed():
            summary["plans"].append({**row(record), "state": "proposed", "by": "", "bound": ""})
        case run.PlanRebound() as event:
            change = {"base": event.base, "policy": event.policy}
        case run.PlanApproved() as event:
            change = {"state": "approved", "by": event.by, "bound": event.bound, "decided_at": record.at}
        case run.PlanRedirected(by=by):
            change = {"state": "redirected", "by": by, "decided_at": record.at}
    for plan in summary["plans"]:
        if plan["revision"] == getattr(record.event, "revision", None):
            plan |= change


@_takes(run.QuestionAsked, run.QuestionAnswered)
def questions(summary: Summary, record: AuditEvent) -> None:
    """Fill `questions` with their answers, and `leave` with permissions that answers gave."""
    match record.event:
        case run.QuestionAsked() as event:
            question = {"asked_at": record.at, **event_fields(event), "answer": "", "by": "", "at": ""}
            summary["questions"].append(question)
        case run.QuestionAnswered() as event:
            for question in summary["questions"]:
                if question["question_id"] == event.question_id and not question["at"]:
                    question |= {"answer": event.text, "by": event.by, "at": record.at}
                    _leave_of_answer(summary, record.at, question, event)


def _leave_of_answer(summary: Summary, at: str, question: Row, event: run.QuestionAnswered) -> None:
    asked_for = run.QuestionAsked(event.run_id, **{name: question[name] for name in _QUESTION})
    subject = subject_of(asked_for)
    if subject in (Subject.GUARD, Subject.WORKFLOWS) and summary["guards"]:
        judged = summary["guards"][-1]  # files of CI and all else are two questions
        for name, text in (("leave_by", event.by), ("leave", event.text)):
            judged[name] = f"{judged[name]}, {text}" if judged[name] else text
    if subject is Subject.WORKFLOWS and code_of(asked_for, event.code, event.text) is Code.PUBLISH:
        given = {"what": "files of CI", "for": "the very files that were shown"}
        summary["leave"].append({"at": at, "by": event.by, **given})


@_takes(instruction.SkillsPinned, instruction.AgentPinned, instruction.WorkflowPinned)
@_takes(agent.ToolAllowed, agent.CardToolAllowed)
def permissions(summary: Summary, record: AuditEvent) -> None:
    """Fill `leave` with permissions that people gave beforehand."""
    match record.event:
        case instruction.SkillsPinned() as event:
            what, purpose = f"/cardinal skills {' '.join(event.names) or 'none'}", "the card's next runs"
        case instruction.AgentPinned() as event:
            what, purpose = f"/cardinal agent {event.choice or 'none'}", "the card's next runs"
        case instruction.WorkflowPinned() as event:
            what, purpose = f"/cardinal workflow {event.name or 'none'}", "the card's next runs"
        case agent.ToolAllowed() | agent.CardToolAllowed() as event:
            what, purpose = event.pattern, "agents of the card, unasked"
        case _:
            return
    summary["leave"].append({"at": record.at, "by": event.by, "what": what, "for": purpose})


@_takes(run.RunSteered, run.RunStopAsked, budget.BudgetRaised, conversation.CommandGiven)
def commands(summary: Summary, record: AuditEvent) -> None:
    """Fill `commands` with people's commands and words to the run."""
    match record.event:
        case conversation.CommandGiven() as event:
            what = f"/cardinal {event.command} {event.argument}".rstrip()
            said = {"what": what, "by": event.by, "role": event.role, "door": door_of(event.source)}
        case event:
            said = {"what": type(event).__name__, **event_fields(event, "comment_id")}
    summary["commands"].append({"at": record.at, **said})


@_takes(board.CardMoved, board.CardArrived, board.MoverFound, board.CardArchived, board.CardRestored)
def moves(summary: Summary, record: AuditEvent) -> None:
    """Fill `commands` with moves of the card; `by` is empty while the mover is not known."""
    event: Any = record.event
    match event:
        case board.CardArchived():
            what = "take the card off the board"
        case board.CardRestored():
            what = "put the card back on the board"
        case board.MoverFound() | board.CardArrived():
            what = f"move to {event.column}"
        case _:
            what = f"move to {event.after or 'no column'}"
    door = "cardinal" if getattr(event, "by_cardinal", False) else "board"
    summary["commands"].append(
        {"at": record.at, "what": what, "by": event.by, "role": event.role, "door": door}
    )


@_takes(stage.StageReopened, stage.StageTidied, brief.StageBriefed)
@_takes(stage.StageEntered, stage.SnapshotTaken, stage.StageLeft)
def stages(summary: Summary, record: AuditEvent) -> None:
    """Fill `stages`: each entry with its hand-over, its cost and why it was left."""
    if isinstance(record.event, stage.StageEntered):
        summary["stages"].append({**row(record), "left_for": "", "handed_over": "", "open_points": ()})
        return
    number = getattr(record.event, "entry", None)
    entry: Row = next((entered for entered in summary["stages"] if entered["entry"] == number), {})
    match record.event:
        case stage.SnapshotTaken() as event:
            entry |= {"handed_over": event.summary, "open_points": event.open_points}
        case brief.StageBriefed(digest=digest):
            entry["told_digest"] = digest
        case stage.StageLeft() as event:
            costs = {name: getattr(event, name) for name in _STAGE_COSTS}
            entry |= {"left_for": event.target or "the end", "left_at": record.at, **costs}
        case stage.StageReopened(why=why):
            entry["reopened"] = (*entry.get("reopened", ()), why)
        case stage.StageTidied() as event:
            entry["tidied"] = (*entry.get("tidied", ()), f"{event.command}: exit code {event.exit_code}")


@_takes(bounds.RoundFailed, run.ValidationEnded)
def count_failed_rounds(summary: Summary, record: AuditEvent) -> None:
    """Fill `rounds` and `validation`, and `iterations` with the highest number among them."""
    match record.event:
        case bounds.RoundFailed() as event:
            summary["rounds"].append(row(record, "useful"))
            summary["iterations"] = max(summary["iterations"], event.iteration)
        case run.ValidationEnded() as event:
            summary["validation"].append(row(record))
            summary["iterations"] = max(summary["iterations"], event.iteration)


@_takes(guard.GuardsJudged)
def guards(summary: Summary, record: AuditEvent) -> None:
    """Fill `guards` and `violations`."""
    if isinstance(record.event, guard.GuardsJudged):
        number = len(record.event.findings) + record.event.left_out
        summary["guards"].append({**row(record, "findings"), "found": number, "leave_by": "", "leave": ""})
        summary["violations"] += [
            {"seq": record.seq, **event_fields(finding, "mark")} for finding in record.event.findings
        ]


@_takes(findings.InvestigationBegun, findings.FindingsReported, findings.FollowUpMade)
def investigation(summary: Summary, record: AuditEvent) -> None:
    """Fill `findings`, each proposed follow-up with the card that was made of it."""
    match record.event:
        case findings.InvestigationBegun(base=base):
            summary["findings"] |= {"base": base}
        case findings.FindingsReported() as event:
            proposed = [{**event_fields(follow_up), "made": ""} for follow_up in event.follow_ups]
            summary["findings"] |= {**row(record), "follow_ups": proposed}
        case findings.FollowUpMade() as event if event.run_id == summary["run"]:
            proposed = summary["findings"].get("follow_ups", [])
            if 0 < event.proposal <= len(proposed):
                proposed[event.proposal - 1]["made"] = f"{event.repository}#{event.number}"


@_takes(
    run.BranchPushed,
    branch.BranchRebased,
    branch.CommitsSigned,
    agent.HostReached,
    agent.SecretSent,
    run.RunEnded,
)
def publication(summary: Summary, record: AuditEvent) -> None:
    """Fill `signed`, `pushed`, `hosts`, `secrets` and `outcome`."""
    match record.event:
        case run.BranchPushed() as event:
            summary["pushed"].append({"at": record.at, **event_fields(event)})
        case branch.BranchRebased() as event:
            summary["pushed"].append(
                {"at": record.at, "branch": event.branch, "head": event.after, "start": ""}
            )
        case branch.CommitsSigned() as event:
            summary["signed"].append({"at": record.at, **event_fields(event)})
        case agent.HostReached() as event:
            summary["hosts"].append(event_fields(event))
        case agent.SecretSent() as event:
            summary["secrets"].append(event_fields(event))
        case run.RunEnded() as event:
            summary["outcome"] = {**event_fields(event), "at": record.at}


@_takes(artifact.ArtifactKept, artifact.ArtifactDropped)
def artifacts(summary: Summary, record: AuditEvent) -> None:
    """Fill `artifacts`, each with why it was dropped."""
    match record.event:
        case artifact.ArtifactKept() as event:
            summary["artifacts"].append({**event_fields(event), "dropped": ""})
        case artifact.ArtifactDropped() as event:
            same = (entry for entry in summary["artifacts"] if entry["digest"] == event.digest)
            kept = [entry for entry in same if event.digest or entry["name"] == event.name]
            for entry in kept:
                entry["dropped"] = event.reason
            if not kept:
                summary["artifacts"].append({**event_fields(event, "reason"), "dropped": event.reason})


@_takes(pull.BranchDeleted, pull.ChecksSettled)
@_takes(pull.PullOpened, pull.PullChanged, pull.MergeAwaited)
def pulls(summary: Summary, record: AuditEvent) -> None:
    """Fill `pull` with the fate of the pull request, and `ci` with its checks on GitHub."""
    match record.event:
        case pull.PullOpened() | pull.PullChanged() as event:
            state = getattr(event, "state", "open")
            summary["pull"] |= {"number": event.number, "head": event.head, "at": record.at, "state": state}
        case pull.MergeAwaited() as event:
            how = event.how or f"no more: {event.because}"
            summary["pull"] |= {"merged_by": how, "merge_of": event.head, "at": record.at}
        case pull.BranchDeleted():
            summary["pull"] |= {"branch_deleted_at": record.at}
        case pull.ChecksSettled() as event:
            red = tuple(failure.name for failure in event.failures)
            summary["ci"].append({"seq": record.seq, "at": record.at, "head": event.head, "red": red})


@_takes(pull.ReviewSubmitted, pull.ReviewDismissed)
def reviews(summary: Summary, record: AuditEvent) -> None:
    """Fill `reviews`; a dismissed one stays and says so."""
    match record.event:
        case pull.ReviewSubmitted() as event:
            by = {"id": event.review_id, "by": event.author, "trusted": event.trusted}
            about = {"verdict": event.verdict, "head": event.head, "at": record.at, "dismissed": False}
            summary["reviews"].append({**by, **about})
        case pull.ReviewDismissed() as event:
            for review in summary["reviews"]:
                review["dismissed"] = review["dismissed"] or review["id"] == event.review_id


@_takes(bounds.ValidationWaived)
def count_waivers(summary: Summary, record: AuditEvent) -> None:
    """Fill `count_waivers` with the commits that nothing was checked on."""
    summary["waived"].append({**row(record), "why": "the policy says validation: none"})
