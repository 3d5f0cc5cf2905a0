"""Every event kind has its place in an audit and in a card's timeline, or is named here as having none."""

from bot.admin.audit.sections import FILLERS
from bot.admin.audit.trail import OF_CARD
from ledger import codec
from ledger.events.board import CardEvent
from ledger.events.run import RunEvent
from ledger.queries.timeline import LINES

OF_POLICY = "PolicyLoaded"
TOLD = {kind.__name__ for kind in FILLERS}
# Kinds that the summary leaves to the document's list of events: steps on the way, and what other sections
# have in other words.
ONLY_IN_EVENTS = frozenset(
    {
        *("AgentSaid", "BoardToolCalled", "CardDescribed", "CommandRefused", "Noted", "PermissionAwaited"),
        *("PlanTicked", "Progressed", "ReviewRequested", "RoundBegan", "RunClaimed", "RunParked"),
        *("RunHung", "RunRequeued", "RunStepped", "StageAwaited", "SteeringHeard", "TodoListed", "TurnEnded"),
        *("TurnStarted", "WorkspaceTaken", "Checkpointed", "WorkspaceRestored", "ToolServerCalled"),
    }
)
# Kinds that no audit document of a run holds. A new kind belongs here only if it says nothing about who asked
# for a run, what a person allowed it, or what became of its work.
NOT_OF_A_RUN = {
    "board": {
        *("AccessLost", "AccessRegained", "BoardHalted", "BoardProbed", "BoardRemoved", "BoardSeen"),
        *(
            "BoardServed",
            "ColumnRanked",
            "ColumnsChanged",
            "DiskWasFull",
            "HaltLifted",
            "PolicyProposed",
            "PolicyRejected",
            "RepositoryMoved",
            "StatusFound",
        ),
        *("StatusLost", "StopLifted", "StopOrdered", "WorkStalled"),
    },
    "the assistant's talk": {
        *("AssistantFailed", "AssistantMetered", "AssistantReplied", "BodyExpanded", "TaskAnswered"),
    },
    "words, which the briefings hold": {"CommentChanged", "CommentReleased", "PersonSaid"},
    "the card's own state and issue": {
        *("CardAssigned", "CardConverted", "CardExplained", "CardHeldBack", "CardReplaced"),
        "CardStateChanged",
        *("IssueClosed", "IssueReopened", "LabelJudged", "LinksSeen"),
    },
    "people's own matters": {"CardSubscribed", "CardUnsubscribed", "NoticesChosen"},
    "cards for programs": {"JobMade", "JobRequested"},
    "cards by the clock": {"ScheduledCardMade", "ScheduleDue", "ScheduleSet"},
    "Cardinal's own steps": {
        *(
            "ChecksAwaited",
            "DecisionFailed",
            "EntryGivenUp",
            "EntryHeld",
            "EntryPublished",
            "GroupFormed",
            "GroupGone",
            "MergeOutdated",
        ),
    },
}
# Kinds of a card or run that its timeline has by their name only, at the depth debug.
BY_NAME = {
    *("AssistantMetered", "BoardToolCalled", "BriefingMade", "CardDescribed", "EntryPublished", "LinksSeen"),
    *("PermissionAwaited", "RoundBegan", "SessionLost", "SessionStarted", "SteeringHeard", "TurnEnded"),
    *("TurnStarted", "UsageMetered"),
}


def _kinds(*bases: type) -> set[str]:
    return {name for name, kind in codec.kinds().items() if issubclass(kind, bases)}


def exported() -> set[str]:
    """Return the kinds that a document can hold."""
    return {*_kinds(RunEvent), *OF_CARD, OF_POLICY}


def test_every_kind_is_in_audit_documents_or_named_as_not_concerning_a_run() -> None:
    absent = set().union(*NOT_OF_A_RUN.values())
    assert set(codec.kinds()) - exported() == absent
    assert sum(map(len, NOT_OF_A_RUN.values())) == len(absent)


def test_every_kind_of_a_run_is_summed_up_or_left_to_the_events_on_purpose() -> None:
    assert exported() - TOLD - ONLY_IN_EVENTS == set()


def test_no_kind_is_on_the_list_that_the_summary_has_or_that_is_never_exported() -> None:
    assert set() == ONLY_IN_EVENTS & TOLD
    assert ONLY_IN_EVENTS - exported() == set()
    assert TOLD - exported() == set()


def test_every_kind_of_a_card_or_run_has_a_line_in_the_timeline_or_is_named_as_having_none() -> None:
    assert _kinds(CardEvent, RunEvent) - set(LINES) == BY_NAME
    assert set(LINES) - _kinds(CardEvent, RunEvent) == set()
