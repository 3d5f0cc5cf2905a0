"""Cards, runs, pull requests and events as the tests put them together: sound, with something changed."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from ledger.event import RuleEvent
from ledger.events.conversation import CommandGiven, PersonSaid
from ledger.events.findings import FindingsReported, FollowUp
from ledger.events.run import CHECK, QuestionAnswered
from ledger.ids import BoardId, CardId, QuestionId, RunId
from ledger.rows.ci import CiRow
from ledger.rows.limit_answers import Code, asker_of, subject_of
from ledger.rows.losses import LossRow
from ledger.rows.messages import MessageRow
from ledger.rows.placements import PlacementRow
from ledger.rows.plans import PlanRow
from ledger.rows.questions import QuestionRow
from ledger.rows.runs import RunRow
from ledger.rows.stops import LiftRow, StopRow
from ledger.states import CardState, Ending, Gate, PullState, Reason, RunKind, RunState, check_card_step
from rules.answers import rule_about
from rules.card.state import legal_states
from rules.decide import decide
from rules.intents.internal import ChangeCardState
from rules.intents.outbound import Decision, Intent
from rules.policy.model import Policy, default_policy, parse
from rules.snapshot import CardPull, Mover, Snapshot, Unread, leave_unread

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
Found = TypeVar("Found", bound=Intent | RuleEvent)
CARD, BOARD, R1 = CardId("PVTI_1"), BoardId("PVT_1"), RunId("r1")
POLICY = default_policy("acme/board")
ALICE = Mover("alice", "write")
COLUMNS = (*POLICY.board.columns, "Parking", None)


def a_question(question_id: str, asker: str, text: str, choices: tuple[str, ...], **more: Any) -> QuestionRow:
    earlier = NOW - timedelta(hours=1)
    known: dict[str, Any] = {"subject": "", "codes": (), "part": "", "asked_at": earlier, "answered_at": None}
    return QuestionRow(QuestionId(question_id), R1, CARD, asker, text, choices, **(known | more))


QUESTION = a_question("r1-q1", "agent", "Which port?", ("8080", "8081"))
LEAVING = a_question(
    "r1-q2", "leave", "Dragged away?", ("Cancel the run", "Let it finish"), asked_at=NOW - timedelta(hours=2)
)


def policy(columns: str) -> Policy:
    """Return a policy of these columns, as they stand in the file."""
    return parse("version: 1\nboard:\n  columns:\n    " + columns.replace("\n", "\n    "), home="acme/board")


def run(state: RunState = RunState.WORKING, **changes: Any) -> RunRow:
    seen = RunRow(
        run_id=R1, card_id=CARD, board_id=BOARD, rank=0, attempt=1, kind=RunKind.FIRST, column="In Progress",
        repository="acme/shop", branch="cardinal/12-add-login", agent="claude", by="", settings="",
        plan_required=True, mode="fix", mode_rule="column", mode_value="", asked="", reproduces=False,
        door="",
        rebases=False, waits_for_parts=False, other_agent="", state=state, ending=None, session_id="s1",
        queued_at=NOW, claimed_at=NOW, ended_at=None, kept=None, plan_revision=1,
        plan_approved=state is not RunState.AWAITING_APPROVAL, last_line="reading", usd=0.42,
    )  # fmt: skip
    return replace(seen, **changes)


def a_check(*, alive: bool = False, at: datetime = NOW, **changes: Any) -> RunRow:
    state = RunState.WORKING if alive else RunState.ENDED
    return run(state, **({"run_id": RunId("r5"), "kind": CHECK, "queued_at": at} | changes))


def findings(*titles: str) -> FindingsReported:
    return FindingsReported(R1, "", "", (), tuple(FollowUp(title, "Body", "why") for title in titles), ())


def a_plan(**changes: Any) -> PlanRow:
    return replace(PlanRow(R1, 1, "Add a form", ("form",), "proposed", NOW, "", ""), **changes)


def ended(ending: Ending = Ending.SUCCEEDED, **changes: Any) -> RunRow:
    return run(RunState.ENDED, ending=ending, **changes)


def answer_to(question: QuestionRow, text: str, code: Code = Code.WORDS) -> QuestionAnswered:
    asker, subject = asker_of(question.asker), subject_of(question)
    return QuestionAnswered(R1, question.question_id, "bob", text, code, asker, subject)


def pull(state: str = "open", **changes: Any) -> CardPull:
    return replace(
        CardPull(5, PullState(state), False, "abc123", "cardinal/12-add-login", gate=Gate.PASSED), **changes
    )


def card(
    column: str | None = "In Progress",
    state: CardState = CardState.WORKING,
    mover: Mover = ALICE,
    **changes: Any,
) -> Snapshot:
    snapshot = Snapshot(
        column_policy=POLICY.column(column), archetype=POLICY.archetype(column),
        card_id=CARD, board_id=BOARD, content_id="I_1", repository="acme/shop", number=12, title="Add login",
        body="As a user", author="alice", labels=(), column=column, rank=0, state=state, reason=Reason.OTHER,
        archived=False, run_id=None, pull_repository=None, pull_number=None, verdict="none",
        created_at=NOW, moved_at=NOW, state_at=NOW, run=None, plan=None, questions=(), briefed="", begun=(),
        beside=None, pull=None, checks=(), base_moved_at=None, lane_ahead=(), pending_threads=0, served=False,
        stops=(), losses=(), board_owner="", policy_digest="", target=None, worked_in="", blockers=(),
        circle=(), parts=(), failed_parts=(), goes_first=None, done_elsewhere=None, **moved_by(mover),
    )  # fmt: skip
    return replace(snapshot, **changes)


def moved_by(mover: Mover) -> dict[str, Any]:
    return {"mover": mover.login, "mover_role": mover.role, "own_move": mover.own}


def a_stop(
    scope: str, target: str, by: str, mark: int = 0, because: str = "", *, claims: bool = False
) -> StopRow:
    at = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=mark)
    return StopRow(BOARD, scope, target, by, at, because, claims)


def a_lift(at: datetime) -> LiftRow:
    return LiftRow(BOARD, "card", CARD, "alice", at)


def a_loss(target: str, reason: str) -> LossRow:
    return LossRow(BOARD, target, reason, "", NOW)


def a_placement(repository: str, problem: str = "") -> PlacementRow:
    return PlacementRow(CARD, repository, named=repository, rule="label", value="", problem=problem)


def a_message(comment_id: int, place: str, author: str, text: str, **more: Any) -> MessageRow:
    return MessageRow(comment_id, CARD, place, False, text, NOW, comment_id, author, **more)


def ci_row(repaired: str, repairs: int) -> CiRow:
    return CiRow(CARD, "abc123", NOW, True, (), repaired, repairs)


def given(command: str, argument: str = "", **changes: Any) -> CommandGiven:
    event = CommandGiven(CARD, command, argument, "bob", "write", "issue", 77, "77")
    return replace(event, **changes)


def said(text: str, **changes: Any) -> PersonSaid:
    return replace(PersonSaid(CARD, 77, "issue", "bob", True, text), **changes)


NOTHING: dict[str, Any] = {
    "place": 0,
    "held": (), "released": (), "lifted": None, "paced": 0, "unopened": False, "halt": None, "struck": 0,
    "ci": None, "red": (), "shared": (), "findings": None, "made": (), "proposed": None, "job": None,
    "workspaces": (), "past": None, "compared": (), "reruns": (),
    "folder": None,
}  # fmt: skip


def under(policy: Policy, snapshot: Snapshot) -> Snapshot:
    """Return the snapshot as it is read while that policy is in force."""
    column = snapshot.column
    return replace(snapshot, column_policy=policy.column(column), archetype=policy.archetype(column))


def as_read(snapshot: Snapshot, event: Any, by: Policy = POLICY) -> Snapshot:
    """Return the snapshot as it is read for the event: parts of other events unread, what lacks empty."""
    snapshot = under(by, snapshot)
    rule = rule_about(type(event))
    read = rule.reads if rule else ()
    lacking = {part: it for part, it in NOTHING.items() if isinstance(getattr(snapshot, part), Unread)}
    known = {part: it for part, it in lacking.items() if part in read}
    return replace(snapshot, **known, **{part: leave_unread(part) for part in NOTHING if part not in read})


def asks(snapshot: Snapshot, event: Any, *, by: Policy = POLICY) -> tuple[Intent | RuleEvent, ...]:
    """Return the intents for the event, after a check that every step of the card's state is legal."""
    snapshot = as_read(snapshot, event, by)
    return checked(by, snapshot, decide(by, snapshot, event, NOW)).intents


def checked(by: Policy, snapshot: Snapshot, decision: Decision) -> Decision:
    """Apply the card's steps as the ledger would; IllegalStepError when one is not legal."""
    column, state = by.archetype(snapshot.column), snapshot.state
    for intent in decision.intents:
        assert isinstance(intent, Intent | RuleEvent), intent
        if isinstance(intent, ChangeCardState):
            legal = legal_states(column, intent.after, live=snapshot.live_run is not None)
            check_card_step(legal, state, intent.after, moved=state not in legal)
            assert intent.after is not state
            state = intent.after
    return decision


def kinds(intents: tuple[Intent | RuleEvent, ...]) -> list[str]:
    return [type(intent).__name__ for intent in intents]


def only(intents: tuple[Intent | RuleEvent, ...], kind: type[Found]) -> Found:
    """Return the one intent of that kind."""
    (found,) = (intent for intent in intents if isinstance(intent, kind))
    return found


def states(intents: tuple[Intent | RuleEvent, ...]) -> list[CardState]:
    return [intent.after for intent in intents if isinstance(intent, ChangeCardState)]
