"""Events that can change the choice of dispatch; after all others its last answer stands."""

from functools import cache

from sqlalchemy import Connection

from ledger import codec
from ledger.events.board import CardDescribed, LabelJudged
from ledger.events.branch import CommitsSigned
from ledger.events.conversation import AssistantReplied, CommentReleased, PersonSaid
from ledger.events.run import (
    BranchPushed,
    Noted,
    PlanTicked,
    Progressed,
    SessionStarted,
    ValidationEnded,
)
from ledger.events.turn import TurnStarted
from ledger.events.witness import CheckWitnessed
from ledger.fold import step_of
from ledger.log import event_store
from ledger.views import (
    boards,
    budgets,
    cards,
    changed_files,
    halts,
    links,
    losses,
    policies,
    questions,
    runs,
    spend,
    stops,
    workspaces,
)

# The views that the choice, and the record of its reasons, are read from.
SOURCES = (
    *(boards, budgets, cards, changed_files, halts, links, losses, policies, questions, runs, spend, stops),
    workspaces,
)
# Kinds that change there only what the choice does not read.
ASIDE = frozenset(
    {
        *(AssistantReplied, CardDescribed, CommentReleased, LabelJudged, PersonSaid, BranchPushed),
        *(
            CheckWitnessed,
            CommitsSigned,
            Noted,
            PlanTicked,
            Progressed,
            SessionStarted,
            TurnStarted,
            ValidationEnded,
        ),
    }
)
MAX_EVENTS = 500  # after more of them, to choose anew costs no more than to read what they are


def choice_changed(db: Connection, *, after: int) -> bool:
    """Tell whether an event later than `after` can change the choice."""
    kinds = event_store.kinds_after(db, after, limit=MAX_EVENTS)
    return len(kinds) == MAX_EVENTS or any(map(matters, set(kinds)))


@cache
def matters(name: str) -> bool:
    """Tell whether events of the kind of that name can change the choice; those of newer code may."""
    kind = codec.kinds().get(name)
    if kind is None:
        return True
    return kind not in ASIDE and any(step_of(view.fold, kind) is not None for view in SOURCES)
