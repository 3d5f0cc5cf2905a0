"""A run that its agent failed: whether the column's other agent tries, and that it does so once."""

from datetime import timedelta
from typing import Any

import pytest

from ledger.events.run import RunEnded, RunQueued
from ledger.states import Ending, RunKind
from rules.errors import PolicyError
from rules.intents.internal import QueueRun
from rules.intents.outbound import Say
from tests.rules.scene import CARD, NOW, R1, asks, card, ended, kinds, only, policy

RETRIES = policy("In Progress: {archetype: execution, agents: [codex/small], retry: {with: codex/small}}")


def failed(reason: str = "gave_up", ending: Ending = Ending.FAILED) -> RunEnded:
    return RunEnded(R1, ending, reason, "", "")


def test_the_other_agent_takes_the_next_attempt_for_whoever_asked_for_the_first() -> None:
    snapshot = card(run=ended(Ending.FAILED, by="ann"), attempts=1)
    queued = only(asks(snapshot, failed(), by=RETRIES), QueueRun)
    assert (queued.other_agent, queued.kind, queued.by, queued.door) == (
        "codex/small",
        "retry",
        "ann",
        "policy",
    )
    event = RunQueued(
        R1, CARD, 2, RunKind.RETRY, "In Progress", "acme/shop", "b", "codex", "ann", "", "{}", True,
        other_agent="codex/small",
    )  # fmt: skip
    assert only(asks(card(run=ended()), event, by=RETRIES), Say).about == "retry:r1"


@pytest.mark.parametrize(
    ("event", "changes", "run_changes"),
    [
        (failed("provider"), {}, {}),
        (failed("repository"), {}, {}),
        (failed("", Ending.LOST), {}, {}),
        (failed("cancelled", Ending.CANCELLED), {}, {}),
        (failed(), {}, {"other_agent": "codex/small"}),
        (failed(), {"closed": "completed"}, {}),
        (failed(), {"column": "Parking"}, {}),
        (failed(), {"begun": (NOW - timedelta(minutes=1),) * 6}, {}),
    ],
)
def test_no_other_agent_tries(event: RunEnded, changes: dict[str, Any], run_changes: dict[str, Any]) -> None:
    snapshot = card(run=ended(event.ending, **run_changes), **changes)
    assert "QueueRun" not in kinds(asks(snapshot, event, by=RETRIES))


@pytest.mark.parametrize(
    ("retry", "problem"),
    [
        ("{with: claude/opus}", "`claude/opus` is not one of the column's `agents`"),
        ("{by: codex/small}", "write {with: <agent>} or {with: <agent>/<model>}"),
        ("[codex]", "line "),
    ],
)
def test_an_agent_that_may_not_work_here_is_refused(retry: str, problem: str) -> None:
    with pytest.raises(PolicyError) as caught:
        policy(f"In Progress: {{archetype: execution, agents: [codex/small], retry: {retry}}}")
    assert problem in caught.value.problems[0]
