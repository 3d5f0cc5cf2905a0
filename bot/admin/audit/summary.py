"""Summary of a run for its audit: made of events alone, so that a verifier can make it again."""

from collections.abc import Iterable, Mapping
from typing import Any

from bot.admin.audit import sections
from bot.admin.audit.sections import AuditEvent, Fill, Summary, facts, rows
from ledger.event import Event
from ledger.events import (
    agent,
    artifact,
    board,
    bounds,
    brief,
    budget,
    conversation,
    findings,
    guard,
    instruction,
    placement,
    policy,
    pull,
    related,
    reproduction,
    run,
    stage,
)
from ledger.events.run import RunEvent
from ledger.ids import RunId

# In the order in which people ask for them.
SECTIONS = (
    *("asked", "card", "repository", "policy", "agent", "instructions", "skills", "briefings", "plans"),
    *("questions", "commands", "leave", "stages", "refused", "hosts", "tools", "iterations", "rounds"),
    *("checks", "validation", "waived", "reproductions", "guards", "violations", "findings", "related"),
    *("changes", "pushed", "reviews", "threads", "pull", "ci", "artifacts", "report", "cost", "faults"),
    "outcome",
)
FACTS = frozenset(
    {
        *("asked", "card", "repository", "policy", "agent", "instructions", "tools", "findings"),
        *("changes", "pull", "report", "cost", "outcome"),
    }
)
TAKEN: Mapping[type[Event], Fill] = {
    **dict.fromkeys((run.RunQueued, run.SessionStarted), sections.request),
    **dict.fromkeys((policy.PolicyLoaded, board.CardSeen, placement.RepositoryResolved), sections.card),
    **dict.fromkeys((run.ToolUsed, run.UsageMetered, budget.BudgetReserved), sections.spending),
    **dict.fromkeys((instruction.SkillsChosen, instruction.InstructionsStacked), sections.instructions),
    **dict.fromkeys(
        (run.PlanProposed, run.PlanRebound, run.PlanApproved, run.PlanRedirected), sections.plans
    ),
    **dict.fromkeys((run.QuestionAsked, run.QuestionAnswered), sections.questions),
    **dict.fromkeys((instruction.SkillsPinned, agent.ToolAllowed, agent.CardToolAllowed), sections.leave),
    **dict.fromkeys(
        (run.RunSteered, run.RunStopAsked, budget.BudgetRaised, conversation.CommandGiven), sections.commands
    ),
    **dict.fromkeys((board.CardMoved, board.CardArrived, board.MoverFound), sections.moves),
    **dict.fromkeys((board.CardArchived, board.CardRestored), sections.moves),
    **dict.fromkeys((stage.StageEntered, stage.SnapshotTaken, stage.StageLeft), sections.stages),
    **dict.fromkeys((stage.StageReopened, stage.StageTidied, brief.StageBriefed), sections.stages),
    **dict.fromkeys((bounds.RoundFailed, run.ValidationEnded), sections.rounds),
    guard.GuardsJudged: sections.guards,
    **dict.fromkeys(
        (findings.InvestigationBegun, findings.FindingsReported, findings.FollowUpMade),
        sections.investigation,
    ),
    **dict.fromkeys((run.BranchPushed, agent.HostReached, run.RunEnded), sections.publication),
    **dict.fromkeys((artifact.ArtifactKept, artifact.ArtifactDropped), sections.artifacts),
    **dict.fromkeys((pull.PullOpened, pull.PullChanged, pull.MergeAwaited), sections.pulls),
    **dict.fromkeys((pull.BranchDeleted, pull.ChecksSettled), sections.pulls),
    **dict.fromkeys((pull.ReviewSubmitted, pull.ReviewDismissed), sections.reviews),
    **dict.fromkeys((agent.CallRefused, agent.ProviderFailed, agent.SessionLost), rows("faults", named=True)),
    **dict.fromkeys((related.CardProposed, related.CardLinked), rows("related", named=True)),
    **dict.fromkeys(
        (reproduction.ReproductionPlayed, reproduction.ReproductionSkipped), rows("reproductions")
    ),
    run.BriefingMade: rows("briefings", "text"),
    agent.PermissionRefused: rows("refused"),
    run.CommandChecked: rows("checks", "tail"),
    run.ThreadAnswered: rows("threads"),
    bounds.ValidationWaived: rows("waived", why="the policy says validation: none"),
    run.BranchExported: facts("changes"),
    run.FinalReported: facts("report"),
}


def of_events(run_id: RunId, events: Iterable[AuditEvent]) -> dict[str, Any]:
    """Return the summary of a run by its events, the oldest first; a section without events is empty."""
    summary: Summary = {name: {} if name in FACTS else [] for name in SECTIONS}
    summary |= {"run": run_id, "iterations": 0}
    for it in events:
        fill = TAKEN.get(type(it.event))
        if fill is not None and (not isinstance(it.event, RunEvent) or it.event.run_id == run_id):
            fill(summary, it)
    del summary["run"]  # the document has it
    return summary
