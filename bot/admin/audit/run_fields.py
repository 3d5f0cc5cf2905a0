"""How a run's own events come to an audit document: who asked, the work, people's words, the result."""

from dataclasses import fields as fields_of
from typing import Any

from bot.admin.audit.document import AuditEvent, Row, Summary, Taken, fields, row
from ledger.event import Event
from ledger.events import agent, artifact, board, budget, conversation, placement, policy, pull
from ledger.events import run as runs
from ledger.model.limit_answers import Code, Subject, code_of, subject_of
from rules.chatops.parser import door_of

_QUESTION = tuple(one.name for one in fields_of(runs.QuestionAsked) if one.name != "run_id")
_COSTS = ("usd", "input_tokens", "output_tokens", "turns", "seconds")


def _queued(summary: Summary, told: AuditEvent, event: Any) -> None:
    asked = fields(event, "card_id", "repository", "branch", "agent", "settings", "session_id")
    summary.asked = {"at": told.at, **asked}
    summary.repository |= {"name": event.repository, "branch": event.branch}
    summary.agent = {"name": event.agent or "none: it only checks", "version": "", "sessions": []}


def _briefed(summary: Summary, told: AuditEvent, event: Any) -> None:
    summary.briefings.append(row(told, event, "text"))


def _session(summary: Summary, _told: AuditEvent, event: Any) -> None:
    summary.agent["version"] = event.version
    summary.agent.setdefault("sessions", []).append(event.session_id)


def _used(summary: Summary, _told: AuditEvent, event: Any) -> None:
    summary.tools[event.tool] = summary.tools.get(event.tool, 0) + 1


def _refused(summary: Summary, told: AuditEvent, event: Any) -> None:
    summary.refused.append(row(told, event))


def _metered(summary: Summary, _told: AuditEvent, event: Any) -> None:
    for name in _COSTS:
        summary.cost[name] = round(summary.cost.get(name, 0) + getattr(event, name), 6)


def _reserved(summary: Summary, _told: AuditEvent, event: Any) -> None:
    summary.cost["reserved_usd"] = event.usd


def _fault(summary: Summary, told: AuditEvent, event: Any) -> None:
    summary.faults.append({"what": type(event).__name__, **row(told, event)})


def _planned(summary: Summary, told: AuditEvent, event: Any) -> None:
    summary.plans.append({**row(told, event), "state": "proposed", "by": "", "bound": ""})


def _plan(summary: Summary, event: Any, **changed: str) -> None:
    for plan in summary.plans:
        if plan["revision"] == event.revision:
            plan.update(changed)


def _rebound(summary: Summary, _told: AuditEvent, event: Any) -> None:
    _plan(summary, event, base=event.base, policy=event.policy)


def _approved(summary: Summary, told: AuditEvent, event: Any) -> None:
    _plan(summary, event, state="approved", by=event.by, bound=event.bound, decided_at=told.at)


def _redirected(summary: Summary, told: AuditEvent, event: Any) -> None:
    _plan(summary, event, state="redirected", by=event.by, decided_at=told.at)


def _asked(summary: Summary, told: AuditEvent, event: Any) -> None:
    summary.questions.append({"asked_at": told.at, **fields(event), "answer": "", "by": "", "at": ""})


def _answered(summary: Summary, told: AuditEvent, event: Any) -> None:
    for asked in summary.questions:
        if asked["question_id"] == event.question_id and not asked["at"]:
            asked |= {"answer": event.text, "by": event.by, "at": told.at}
            question = runs.QuestionAsked(event.run_id, **{name: asked[name] for name in _QUESTION})
            about, code = subject_of(question), code_of(question, event.code, event.text)
            if about in (Subject.GUARD, Subject.WORKFLOWS) and summary.guards:
                _leave(summary.guards[-1], event)
            if about is Subject.WORKFLOWS and code is Code.PUBLISH:
                given = {"what": "files of CI", "for": "the very files that were shown"}
                summary.leave.append({"at": told.at, "by": event.by, **given})


def _leave(judged: Row, event: Any) -> None:
    """Note who answered what the guards asked: files of CI and all else are two questions."""
    for name, said in (("leave_by", event.by), ("leave", event.text)):
        judged[name] = f"{judged[name]}, {said}" if judged[name] else said


def _worded(summary: Summary, told: AuditEvent, event: Any) -> None:
    summary.commands.append({"at": told.at, "what": type(event).__name__, **fields(event, "comment_id")})


def _commanded(summary: Summary, told: AuditEvent, event: Any) -> None:
    what = f"/cardinal {event.command} {event.argument}".rstrip()
    door = door_of(event.source)
    summary.commands.append({"at": told.at, "what": what, "by": event.by, "role": event.role, "door": door})


def _moved(summary: Summary, told: AuditEvent, event: Any) -> None:
    """Note who moved the card; `by` is empty while that is not known."""
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
    summary.commands.append({"at": told.at, "what": what, "by": event.by, "role": event.role, "door": door})


def _checked(summary: Summary, told: AuditEvent, event: Any) -> None:
    summary.checks.append(row(told, event, "tail"))


def _validated(summary: Summary, told: AuditEvent, event: Any) -> None:
    summary.iterations = max(summary.iterations, event.iteration)
    summary.validation.append(row(told, event))


def _exported(summary: Summary, _told: AuditEvent, event: Any) -> None:
    summary.changes = fields(event)


def _pushed(summary: Summary, told: AuditEvent, event: Any) -> None:
    summary.pushed.append({"at": told.at, **fields(event)})


def _threaded(summary: Summary, told: AuditEvent, event: Any) -> None:
    summary.threads.append(row(told, event))


def _reported(summary: Summary, _told: AuditEvent, event: Any) -> None:
    summary.report = fields(event)


def _ended(summary: Summary, told: AuditEvent, event: Any) -> None:
    summary.outcome = {**fields(event), "at": told.at}


def _kept(summary: Summary, _told: AuditEvent, event: Any) -> None:
    summary.artifacts.append({**fields(event), "dropped": ""})


def _dropped(summary: Summary, _told: AuditEvent, event: Any) -> None:
    same = (one for one in summary.artifacts if one["digest"] == event.digest)
    gone = [one for one in same if event.digest or one["name"] == event.name]
    for kept in gone:
        kept["dropped"] = event.reason
    if not gone:  # it was never kept
        summary.artifacts.append({**fields(event, "reason"), "dropped": event.reason})


def _policy(summary: Summary, told: AuditEvent, event: Any) -> None:
    summary.policy = {"digest": event.digest, "commit": event.commit, "seq": told.seq}


def _card(summary: Summary, _told: AuditEvent, event: Any) -> None:
    if not summary.asked:  # later ones are of the card as it became
        issue = {"repository": event.repository, "number": event.number, "title": event.title}
        summary.card = {"id": event.card_id, **issue, "author": event.author}


def _placed(summary: Summary, _told: AuditEvent, event: Any) -> None:
    if not summary.asked:
        decided = {"decided_by": event.rule, "went_by": event.value, "open": event.problem}
        summary.repository |= {"name": event.repository, **decided}


def _pull(summary: Summary, told: AuditEvent, event: Any) -> None:
    summary.pull |= {"number": event.number, "head": event.head, "at": told.at}
    summary.pull["state"] = getattr(event, "state", "open")


def _awaited(summary: Summary, told: AuditEvent, event: Any) -> None:
    how = event.how or f"no more: {event.because}"
    summary.pull |= {"merged_by": how, "merge_of": event.head, "at": told.at}


def _gone(summary: Summary, told: AuditEvent, _event: Any) -> None:
    summary.pull |= {"branch_deleted_at": told.at}


def _settled(summary: Summary, told: AuditEvent, event: Any) -> None:
    red = tuple(one.name for one in event.failures)
    summary.ci.append({"seq": told.seq, "at": told.at, "head": event.head, "red": red})


def _reviewed(summary: Summary, told: AuditEvent, event: Any) -> None:
    review = {"id": event.review_id, "by": event.author, "trusted": event.trusted}
    verdict = {"verdict": event.verdict, "head": event.head, "at": told.at, "dismissed": False}
    summary.reviews.append({**review, **verdict})


def _dismissed(summary: Summary, _told: AuditEvent, event: Any) -> None:
    for review in summary.reviews:
        review["dismissed"] = review["dismissed"] or review["id"] == event.review_id


_PEOPLE: Taken = {
    runs.PlanProposed: _planned,
    runs.PlanRebound: _rebound,
    runs.PlanApproved: _approved,
    runs.PlanRedirected: _redirected,
    runs.QuestionAsked: _asked,
    runs.QuestionAnswered: _answered,
    **dict.fromkeys((runs.RunSteered, runs.RunStopAsked, budget.BudgetRaised), _worded),
    conversation.CommandGiven: _commanded,
}
_BESIDE: dict[type[Event], Any] = {
    policy.PolicyLoaded: _policy,
    board.CardSeen: _card,
    **dict.fromkeys((board.CardMoved, board.CardArrived, board.MoverFound), _moved),
    **dict.fromkeys((board.CardArchived, board.CardRestored), _moved),
    placement.RepositoryResolved: _placed,
    pull.PullOpened: _pull,
    pull.PullChanged: _pull,
    pull.MergeAwaited: _awaited,
    pull.BranchDeleted: _gone,
    pull.ChecksSettled: _settled,
    pull.ReviewSubmitted: _reviewed,
    pull.ReviewDismissed: _dismissed,
}
TAKEN: Taken = {
    **_PEOPLE,
    **_BESIDE,
    runs.RunQueued: _queued,
    runs.BriefingMade: _briefed,
    runs.SessionStarted: _session,
    runs.ToolUsed: _used,
    agent.PermissionRefused: _refused,
    **dict.fromkeys((agent.CallRefused, agent.ProviderFailed, agent.SessionLost), _fault),
    runs.UsageMetered: _metered,
    budget.BudgetReserved: _reserved,
    runs.CommandChecked: _checked,
    runs.ValidationEnded: _validated,
    runs.BranchExported: _exported,
    runs.BranchPushed: _pushed,
    runs.ThreadAnswered: _threaded,
    runs.FinalReported: _reported,
    runs.RunEnded: _ended,
    artifact.ArtifactKept: _kept,
    artifact.ArtifactDropped: _dropped,
}
