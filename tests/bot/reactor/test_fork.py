"""A fork is queued with what the other run had done there, and with its session only for the same agent."""

from dataclasses import replace

import pytest
from sqlalchemy import Engine

from bot.reactor.fork import begin_at
from ledger.events.run import PlanApproved, PlanProposed, PlanTicked, SessionStarted
from ledger.events.workspace import Checkpointed
from ledger.ids import RunId
from ledger.log import event_store
from ledger.states import RunKind
from ledger.views import checkpoints, runs
from tests.ledger.samples import CARD, NOW, RUN, card_seen, run_queued

FORK = RunId("r2")
QUEUED = replace(run_queued(FORK, CARD), kind=RunKind.RERUN, again_of=RUN, forked_at="question")


@pytest.mark.parametrize(
    ("agent", "session", "remembered"),
    [("scripted", "5" * 64, "s1"), ("codex", "5" * 64, ""), ("scripted", "", "")],
)
def test_session_and_plan_are_those_of_then(
    engine: Engine, agent: str, session: str, remembered: str
) -> None:
    kept = Checkpointed(RUN, CARD, 1, "b", "a" * 40, "a" * 40, "", session, point="question")
    with event_store.writing(engine) as db:
        event_store.append(db, card_seen(CARD, 1), run_queued(RUN, CARD), at=NOW)
        event_store.append(db, SessionStarted(RUN, "s1", "scripted", "1"), at=NOW)
        event_store.append(db, PlanProposed(RUN, 1, "Then", ("a", "b")), PlanTicked(RUN, 1), kept, at=NOW)
        event_store.append(db, SessionStarted(RUN, "s2", "scripted", "1"), PlanTicked(RUN, 2), at=NOW)
        past, origin = runs.get(db, RUN), checkpoints.get(db, RUN, "question")
        assert past is not None
        assert origin is not None
        queued, *copies = begin_at(db, replace(QUEUED, agent=agent), past, origin)
    assert queued == replace(QUEUED, agent=agent, session_id=remembered)
    assert copies == [
        PlanProposed(FORK, 1, "Then", ("a", "b")),
        PlanApproved(FORK, 1, QUEUED.by),
        PlanTicked(FORK, 1),
    ]
