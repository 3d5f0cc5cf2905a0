"""How the gate's events come to an audit document: instructions, stages, rounds, guards, findings, leave."""

from typing import Any

from bot.admin.audit.document import AuditEvent, Row, Summary, Taken, fields, row
from ledger.events import agent, bounds, brief, findings, guard, instruction, related, reproduction, stage

_USED = ("usd", "input_tokens", "output_tokens", "seconds", "files_changed", "lines_changed")


def _skills(summary: Summary, told: AuditEvent, event: Any) -> None:
    summary.skills = [{"seq": told.seq, **skill} for skill in fields(event)["considered"]]


def _stacked(summary: Summary, told: AuditEvent, event: Any) -> None:
    layers = [fields(layer, "text") for layer in event.layers]  # the event has the texts
    summary.instructions = {"seq": told.seq, "digest": event.digest, "layers": layers}


def _pinned(summary: Summary, told: AuditEvent, event: Any) -> None:
    what = f"/cardinal skills {' '.join(event.names) or 'none'}"
    summary.leave.append({"at": told.at, "by": event.by, "what": what, "for": "the card's next runs"})


def _allowed(summary: Summary, told: AuditEvent, event: Any) -> None:
    summary.leave.append(
        {"at": told.at, "by": event.by, "what": event.pattern, "for": "agents of the card, unasked"}
    )


def _entered(summary: Summary, told: AuditEvent, event: Any) -> None:
    summary.stages.append({**row(told, event), "left_for": "", "handed_over": "", "open_points": ()})


def _visit(summary: Summary, event: Any) -> Row:
    """Return the row of the entry that an event is about; a row of nothing where the document has none."""
    return next((one for one in summary.stages if one["entry"] == event.entry), {})


def _handed(summary: Summary, _told: AuditEvent, event: Any) -> None:
    _visit(summary, event).update(handed_over=event.summary, open_points=event.open_points)


def _briefed(summary: Summary, _told: AuditEvent, event: Any) -> None:
    _visit(summary, event).update(told_digest=event.digest)


def _left(summary: Summary, told: AuditEvent, event: Any) -> None:
    used = {name: getattr(event, name) for name in _USED}
    _visit(summary, event).update({"left_for": event.target or "the end", "left_at": told.at, **used})


def _reopened(summary: Summary, _told: AuditEvent, event: Any) -> None:
    visit = _visit(summary, event)
    visit["reopened"] = (*visit.get("reopened", ()), event.why)


def _tidied(summary: Summary, _told: AuditEvent, event: Any) -> None:
    visit = _visit(summary, event)
    visit["tidied"] = (*visit.get("tidied", ()), f"{event.command}: exit code {event.exit_code}")


def _failed(summary: Summary, told: AuditEvent, event: Any) -> None:
    summary.iterations = max(summary.iterations, event.iteration)
    summary.rounds.append(row(told, event, "useful"))


def _waived(summary: Summary, told: AuditEvent, event: Any) -> None:
    summary.waived.append({**row(told, event), "why": "the policy says validation: none"})


def _judged(summary: Summary, told: AuditEvent, event: Any) -> None:
    judged = {**row(told, event, "findings"), "found": len(event.findings) + event.left_out}
    summary.guards.append({**judged, "leave_by": "", "leave": ""})
    summary.violations += [{"seq": told.seq, **fields(one, "mark")} for one in event.findings]


def _begun(summary: Summary, _told: AuditEvent, event: Any) -> None:
    summary.findings |= {"base": event.base}


def _found(summary: Summary, told: AuditEvent, event: Any) -> None:
    proposed = [{**fields(one), "made": ""} for one in event.follow_ups]
    summary.findings |= {**row(told, event), "follow_ups": proposed}


def _made(summary: Summary, _told: AuditEvent, event: Any) -> None:
    made = f"{event.repository}#{event.number}"
    proposed = summary.findings.get("follow_ups", ())
    if event.run_id == summary.run and 0 < event.proposal <= len(proposed):
        proposed[event.proposal - 1]["made"] = made


def _related(summary: Summary, told: AuditEvent, event: Any) -> None:
    summary.related.append({"what": type(event).__name__, **row(told, event)})


def _reached(summary: Summary, _told: AuditEvent, event: Any) -> None:
    summary.hosts.append(fields(event))


def _played(summary: Summary, told: AuditEvent, event: Any) -> None:
    summary.reproductions.append(row(told, event))


TAKEN: Taken = {
    instruction.SkillsChosen: _skills,
    instruction.InstructionsStacked: _stacked,
    instruction.SkillsPinned: _pinned,
    agent.ToolAllowed: _allowed,
    agent.CardToolAllowed: _allowed,
    agent.HostReached: _reached,
    stage.StageEntered: _entered,
    brief.StageBriefed: _briefed,
    stage.StageReopened: _reopened,
    stage.SnapshotTaken: _handed,
    stage.StageLeft: _left,
    stage.StageTidied: _tidied,
    bounds.RoundFailed: _failed,
    bounds.ValidationWaived: _waived,
    reproduction.ReproductionPlayed: _played,
    reproduction.ReproductionSkipped: _played,
    guard.GuardsJudged: _judged,
    findings.InvestigationBegun: _begun,
    findings.FindingsReported: _found,
    findings.FollowUpMade: _made,
    related.CardProposed: _related,
    related.CardLinked: _related,
}
