"""Events of a run: its display for people, the effect of its end on the card, and the halt of a board whose
cards fail by one cause."""

from datetime import datetime, timedelta

from ledger.events import agent, budget, findings, related, stage, witness
from ledger.events import run as runs
from ledger.events.board import BoardHalted, HaltLifted
from ledger.events.run import RunRequeued
from ledger.ids import CardId
from ledger.model.column_names import column_key, same_column
from ledger.model.policy_settings import Pipelines
from ledger.model.run_modes import FIX, INVESTIGATE
from ledger.rows.halts import HaltRow
from ledger.rows.limit_answers import Code, Subject, subject_of
from ledger.rows.runs import RunRow
from ledger.states import BY_ITSELF, CardState, Ending, RunState
from rules.answers import answers
from rules.card import overlap
from rules.card.dependencies import ask_about_blockers
from rules.card.left_column import end_waiting, release_card
from rules.card.move_rights import guard_entry
from rules.card.routes import plan_route
from rules.card.state import derive
from rules.card.stops import describe_stop
from rules.card.trigger import time_stamp
from rules.handlers import ci, failed_run, job
from rules.handlers.card_moved import enter_column
from rules.intents.internal import QueueRun, show_card
from rules.intents.outbound import (
    AnswerThread,
    CreateCard,
    Decision,
    Intent,
    LinkCard,
    MoveCard,
    OpenPull,
    PostPlan,
    PostQuestion,
    PostReport,
    Say,
    UpdateFace,
    UpdatePull,
    UpdateTicker,
    WriteFindings,
    WriteRunComment,
)
from rules.policy.model import Policy
from rules.runs.gate import leaves_draft
from rules.runs.kill_switch import SWITCHED
from rules.snapshot import Snapshot
from rules.text import count, plain

FIRST_WAIT, MAX_WAIT = timedelta(minutes=10), timedelta(hours=2)
# A run gets so far only where the cause of a halt is gone: its agent started, and its model answered.
_ALIVE = (RunState.AWAITING_APPROVAL, RunState.VALIDATING, RunState.PUBLISHING)
# No worker holds it, so nobody but the rules can end it.
WAITING = (RunState.QUEUED, RunState.PARKED, RunState.AWAITING_APPROVAL)


def is_shared_cause(snapshot: Snapshot, event: runs.RunEnded) -> bool:
    """Return whether the run's cause of failure halts the board: then it needs no report of its own."""
    return bool(event.cause) and snapshot.halt is not None and snapshot.halt.cause == event.cause


def halts(policy: Policy, snapshot: Snapshot, event: runs.RunEnded) -> bool:
    """Return whether this ending is the one too many of its cause."""
    return bool(event.cause) and snapshot.halt is None and snapshot.struck >= policy.limits.same_failures


def judge_halt(policy: Policy, snapshot: Snapshot, event: runs.RunEnded, now: datetime) -> Decision:
    """Halt the board, let it wait longer after a try in vain, or let it go on after one that went well."""
    if halts(policy, snapshot, event):
        return _halt(snapshot, event, now)
    halt = snapshot.halt
    if halt is None or halt.probe != event.run_id:
        return Decision()
    if event.ending in (Ending.CANCELLED, Ending.LOST):  # it shows neither: the next one tries
        again = BoardHalted(snapshot.board_id, halt.cause, halt.because, now + FIRST_WAIT, halt.tries)
        return Decision((again,), (f"{event.run_id} ended before it could tell",))
    if not is_shared_cause(snapshot, event):
        return _lift(snapshot, halt, f"{event.run_id} did not fail of it any more")
    wait = min(FIRST_WAIT * 2 ** min(halt.tries + 1, 10), MAX_WAIT)
    longer = BoardHalted(snapshot.board_id, halt.cause, halt.because, now + wait, halt.tries + 1)
    return Decision((longer,), (f"{event.run_id} tried in vain: {halt.because}",))


def came_through(snapshot: Snapshot, run: RunRow, event: runs.RunEvent) -> Decision:
    """Let the board go on once the run that tries has got through to where the cause would have hit it."""
    # One that reached a limit had its model for all of it; a paused one says nothing, and lets another try.
    parked = isinstance(event, runs.RunParked) and event.why in ("question", "limit")
    through = parked or (isinstance(event, runs.RunStepped) and event.after in _ALIVE)
    if not through or snapshot.halt is None or snapshot.halt.probe != run.run_id:
        return Decision()
    return _lift(snapshot, snapshot.halt, f"{run.run_id} came through")


def _halt(snapshot: Snapshot, event: runs.RunEnded, now: datetime) -> Decision:
    said = plain(event.detail or event.reason, 200)
    cards = count(snapshot.struck, "card")
    halt = BoardHalted(snapshot.board_id, event.cause, said, now + FIRST_WAIT, 0)
    text = (
        f"Runs of {cards} failed for the same reason, so no run starts on the board for now:\n\n> {said}\n\n"
        f"Cardinal tries again in {FIRST_WAIT.seconds // 60} minutes; this is the only message about it. Once"
        " it is fixed, `/cardinal resume board` resumes everything at once; cards whose run failed need"
        " `/cardinal retry`."
    )
    return Decision(
        (halt, Say(snapshot.card_id, f"halt:{time_stamp(now)}", text)), (f"the board is halted: {said}",)
    )


def _lift(snapshot: Snapshot, halt: HaltRow, because: str) -> Decision:
    return Decision((HaltLifted(snapshot.board_id, halt.cause, BY_ITSELF),), (because,))


@answers(runs.PlanProposed, runs.PlanTicked, runs.Progressed, runs.ToolUsed, runs.CommandChecked)
@answers(runs.ValidationEnded, runs.UsageMetered, budget.BudgetRaised, agent.TodoListed, agent.ProviderFailed)
@answers(witness.CheckWitnessed, stage.StageEntered, stage.StageReopened, stage.StageLeft)
@answers(runs.RunStopAsked, changes_check=True)
def show_run(policy: Policy, snapshot: Snapshot, event: runs.RunEvent, now: datetime) -> Decision:
    """Show progress: the sticky comment and the face are written from the ledger as it then is."""
    card = snapshot.card_id
    return Decision((WriteRunComment(card, event.run_id), UpdateFace(card)))


@answers(runs.RunQueued, changes_check=True, reads=("shared", "job"))
@answers(runs.RunParked, changes_check=True, reads=("halt",))
@answers(runs.RunRequeued, changes_check=True)
@answers(runs.RunStepped, reads=("halt",))
@answers(runs.RunClaimed)
def show_step(policy: Policy, snapshot: Snapshot, event: runs.RunEvent, now: datetime) -> Decision:
    """Show a step, and apply requests that came during it."""
    run = _newest(snapshot, event)
    if run is None:
        return show_run(policy, snapshot, event, now)
    decision = show_run(policy, snapshot, event, now) + show_card()
    waits = isinstance(event, runs.RunStepped) and event.after is RunState.AWAITING_APPROVAL
    if waits or not isinstance(event, runs.RunStepped):
        decision += _ticker(snapshot) + _report_early(snapshot)
    if waits:
        decision = _post_plan(snapshot, run) + decision
    if isinstance(event, runs.RunQueued):
        decision += overlap.notice_overlap(policy, snapshot, run) + failed_run.tell_fallback(snapshot, event)
        decision += job.add_requested_budget(snapshot, event)
    if run.state is RunState.QUEUED:
        decision += ask_about_blockers(policy, snapshot, run.run_id)
    return decision + _meanwhile(snapshot, run, event) + came_through(snapshot, run, event)


@answers(runs.BranchExported, stage.SnapshotTaken, reads=("shared",))
def files_known(
    policy: Policy, snapshot: Snapshot, event: runs.BranchExported | stage.SnapshotTaken, now: datetime
) -> Decision:
    """Say which other work changes the same files, now that git knows this run's changes."""
    run = _newest(snapshot, event)
    return overlap.notice_overlap(policy, snapshot, run) if run and run.mode == FIX else Decision()


def _meanwhile(snapshot: Snapshot, run: RunRow, event: runs.RunEvent) -> Decision:
    """Return requests that reached a run too late for its worker."""
    card = snapshot.card_id
    if run.state in WAITING and run.is_cancelling:
        end = end_waiting(run, "cancelled", f"{run.stop_why} ({run.stop_by})")
        return Decision((end,), (f"{run.run_id} was cancelled meanwhile",))
    if not isinstance(event, runs.RunParked) or run.state is not RunState.PARKED:
        return Decision()
    lifted = snapshot.is_paused and run.stop_why in SWITCHED
    if lifted and not describe_stop(snapshot.stops, card, snapshot.column):
        return Decision((RunRequeued(run.run_id, "resumed"),), ("the switch was lifted meanwhile",))
    waits_for_answer = snapshot.question is not None and subject_of(snapshot.question) is not Subject.LEAVING
    if event.why in ("question", "limit") and not waits_for_answer and not run.stop_asked:
        return Decision((RunRequeued(run.run_id, "answered"),), ("answered meanwhile",))
    return Decision()


def _post_plan(snapshot: Snapshot, run: RunRow) -> Decision:
    """Post the plan as a comment of its own: not before the run waits, or a quick approval came too soon."""
    post = PostPlan(snapshot.card_id, run.run_id, run.plan_revision)
    return Decision((post,), (f"plan {run.plan_revision} of {run.run_id} is waiting for approval",))


@answers(runs.PlanApproved, runs.PlanRedirected)
def plan_settled(
    policy: Policy, snapshot: Snapshot, event: runs.PlanApproved | runs.PlanRedirected, now: datetime
) -> Decision:
    """Write the decision into the plan's comment; a plan approved by the policy has none."""
    if isinstance(event, runs.PlanApproved) and event.by == "policy":
        return show_run(policy, snapshot, event, now)
    settled = PostPlan(snapshot.card_id, event.run_id, event.revision)
    return Decision((settled,), (f"{event.by} settled plan {event.revision}",)) + show_run(
        policy, snapshot, event, now
    )


@answers(runs.QuestionAsked, changes_check=True)
def question_asked(policy: Policy, snapshot: Snapshot, event: runs.QuestionAsked, now: datetime) -> Decision:
    """Post the question, and show the card as waiting for a person."""
    post = PostQuestion(snapshot.card_id, event.run_id, event.question_id)
    decision = show_run(policy, snapshot, event, now) + _ticker(snapshot)
    state = show_card() if _newest(snapshot, event) else Decision()
    return Decision((post,), (f"{event.run_id} asks",)) + state + decision


@answers(runs.QuestionAnswered, changes_check=True, reads=("proposed",))
def write_answer(policy: Policy, snapshot: Snapshot, event: runs.QuestionAnswered, now: datetime) -> Decision:
    settled = PostQuestion(snapshot.card_id, event.run_id, event.question_id)
    run = _newest(snapshot, event)
    state = show_card() if run else Decision()
    if run and run.state is RunState.QUEUED:
        state += ask_about_blockers(policy, snapshot, run.run_id)
    record = Decision((settled,), (f"{event.by} answered",)) + _make_agreed_card(snapshot, event)
    return record + state + show_run(policy, snapshot, event, now)


def _make_agreed_card(snapshot: Snapshot, event: runs.QuestionAnswered) -> Decision:
    """Make the card in another repository that somebody just agreed to."""
    proposed = snapshot.proposed
    if event.code != Code.CREATE or proposed is None:
        return Decision()
    create_card = CreateCard(
        card_id=snapshot.card_id,
        run_id=event.run_id,
        proposal=proposed.proposal,
        title=proposed.title,
        body=proposed.body,
        reason=proposed.reason,
        repository=proposed.repository,
        relation=proposed.relation,
        by=event.by,
    )
    return Decision((create_card,), (f"{event.by} wants the card in {proposed.repository}",))


@answers(runs.BranchPushed, changes_check=True)
def open_pull(policy: Policy, snapshot: Snapshot, event: runs.BranchPushed, now: datetime) -> Decision:
    """Open the draft pull request with the first push; later ones bring its body up to date."""
    card = snapshot.card_id
    pull: Intent = UpdatePull(card) if snapshot.open_pull else OpenPull(card, event.run_id)
    return Decision((pull,), (f"{event.run_id} pushed its branch",)) + show_run(policy, snapshot, event, now)


@answers(runs.ThreadAnswered)
def thread_answered(
    policy: Policy, snapshot: Snapshot, event: runs.ThreadAnswered, now: datetime
) -> Decision:
    if snapshot.pull is None:
        return Decision((), ("there is no pull request whose thread could be answered",))
    return Decision((AnswerThread(snapshot.card_id, event.run_id, event.thread_id),))


@answers(related.CardProposed)
def card_proposed(policy: Policy, snapshot: Snapshot, event: related.CardProposed, now: datetime) -> Decision:
    """Make the card that the agent wants, in the inbox; it goes on only to a column that the policy allows.

    One in another repository waits for a person's answer.
    """
    if event.repository:
        return Decision((), (f"{event.run_id} wants a card in {event.repository}: people are asked",))
    given = (event.proposal, event.title, event.body, event.reason)
    run = _newest(snapshot, event)
    column = policy.column(run.column) if run else None
    pipelines = column.pipelines if column else Pipelines()
    known = {column_key(name): name for name in pipelines.columns}
    own = run.column if run and event.start and pipelines.start else ""
    create_card = CreateCard(
        snapshot.card_id,
        event.run_id,
        *given,
        parents=event.parents,
        after=event.after,
        column=own or known.get(column_key(event.column), ""),
        skills=tuple(skill for skill in event.skills if skill in pipelines.skills),
        agent=event.agent,
    )
    return Decision((create_card,), (f"{event.run_id} wants a new card",))


@answers(related.CardLinked)
def card_linked(policy: Policy, snapshot: Snapshot, event: related.CardLinked, now: datetime) -> Decision:
    """Say on the card how the agent relates it to another one, and make it a dependency in its repository."""
    relation = related.RELATIONS.get(event.relation, "is related to")
    said = f"{event.run_id} says: this {relation} {plain(event.target, 150)} — {plain(event.reason, 300)}"
    about = f"link:{event.run_id}:{event.relation}:{event.target}"
    notice = Say(snapshot.card_id, about, said)
    here = event.target.partition("#")[0].casefold() == (snapshot.repository or "").casefold()
    if not here or event.relation not in ("blocks", "blocked_by"):
        return Decision((notice,), (f"{event.run_id} linked a card",))
    link = LinkCard(snapshot.card_id, event.run_id, event.target, event.relation)
    return Decision((notice, link), (f"{event.run_id} linked a card",))


@answers(related.PipelineLimited)
def tell_limit(policy: Policy, snapshot: Snapshot, event: related.PipelineLimited, now: datetime) -> Decision:
    """Say once that the agent reached a limit of cards or links that it may make by itself."""
    what = {"cards": f"{event.most} cards", "links": f"{event.most} links"}.get(event.limit, "no card")
    why = " because its card is a card of agents itself" if event.limit == "depth" else ""
    said = (
        f"{event.run_id} wanted more than the policy allows: it may make {what}{why}. The rest was not made; "
        f"`pipelines: {{{event.limit}: …}}` on the column changes the limit."
    )
    return Decision((Say(snapshot.card_id, f"pipeline:{event.run_id}:{event.limit}", said),), (said,))


@answers(runs.RunEnded, reads=("struck", "halt", "ci", "red"))
def finish_run(policy: Policy, snapshot: Snapshot, event: runs.RunEnded, now: datetime) -> Decision:
    """Report, show the card's new state, and let it go where the policy or a person wanted it."""
    card, run = snapshot.card_id, _newest(snapshot, event)
    announced = halts(policy, snapshot, event) or is_shared_cause(snapshot, event)
    posted = () if announced else (_last_word(card, run, event),)
    report = Decision(posted, (f"{event.run_id} ended: {event.ending}",))
    report += judge_halt(policy, snapshot, event, now)
    decision = show_run(policy, snapshot, event, now) + _ticker(snapshot)
    if run is None:
        return report + decision
    if run.is_adopted:  # what its end led to is done, or for people to decide
        return report + decision + show_card()
    delivered = _deliver(snapshot, event) if run.mode == FIX else Decision()
    report += _close_boxes(snapshot, run) + delivered + decision
    return report + _onward(policy, snapshot, run, event, now)


def _last_word(card: CardId, run: RunRow | None, event: runs.RunEnded) -> Intent:
    investigated = run is not None and run.mode == INVESTIGATE and event.ending is Ending.SUCCEEDED
    return WriteFindings(card, event.run_id) if investigated else PostReport(card, event.run_id)


@answers(findings.FollowUpMade)
def follow_up_made(
    policy: Policy, snapshot: Snapshot, event: findings.FollowUpMade, now: datetime
) -> Decision:
    """Write into the findings which issue the follow-up became."""
    return Decision((WriteFindings(snapshot.card_id, event.run_id),))


def _close_boxes(snapshot: Snapshot, run: RunRow) -> Decision:
    """Take the boxes from a plan and from questions of an ended run."""
    card, withdrawn = snapshot.card_id, (it.question_id for it in snapshot.questions if it.withdrawn)
    posts: list[Intent] = [PostQuestion(card, run.run_id, question_id) for question_id in withdrawn]
    if run.plan_required and run.plan_revision and not run.plan_approved:
        posts.append(PostPlan(card, run.run_id, run.plan_revision))
    return Decision(tuple(posts))


def _deliver(snapshot: Snapshot, event: runs.RunEnded) -> Decision:
    if event.ending is not Ending.SUCCEEDED or snapshot.open_pull is None:
        return _report_early(snapshot)
    updated = Decision((UpdatePull(snapshot.card_id),))
    return updated + leaves_draft(snapshot, event.run_id) if snapshot.open_pull.draft else updated


def _report_early(snapshot: Snapshot) -> Decision:
    """Report the state of its run on a pull request with unfinished work."""
    pull = snapshot.open_pull
    return Decision((UpdatePull(snapshot.card_id),)) if pull and pull.unfinished else Decision()


def _onward(policy: Policy, snapshot: Snapshot, run: RunRow, event: runs.RunEnded, now: datetime) -> Decision:
    if snapshot.held_back:
        return show_card() + release_card(snapshot, now)
    if not same_column(snapshot.column, run.column):
        # It was let go at once; now that the run has ended, it is served.
        return guard_entry(policy, snapshot, enter_column(policy, snapshot, now), now)
    red = ci.after_run(policy, snapshot, event, now)
    if any(isinstance(intent, QueueRun) for intent in red.intents):
        return red
    another = failed_run.try_another(policy, snapshot, run, event, now)
    move = None if another.intents else _find_way(policy, snapshot, run, event)
    if move is None:
        return show_card() + red + another
    onward = Decision((move,), (*another.because, f"the policy moves it to {move.column}"))
    return show_card() + onward


def _find_way(policy: Policy, snapshot: Snapshot, run: RunRow, event: runs.RunEnded) -> MoveCard | None:
    """Return the move that follows the run by the policy; none if the card stays.

    A cause that other cards share is not the card's failure: it stays where a retry can start.
    """
    column = policy.column(run.column)
    if column is None or run.mode != column.run_mode:  # routes are about the work that the column is for
        return None
    if event.ending is Ending.SUCCEEDED:
        asked = snapshot.verdict == "changes_requested" and not snapshot.served and snapshot.open_pull
        changes = plan_route(policy, snapshot, "on_changes_requested", f"changes:{run.run_id}")
        return (changes if asked else None) or plan_route(
            policy, snapshot, "on_success", f"success:{run.run_id}"
        )
    derived = derive(policy, snapshot)
    if event.cause or derived is None or derived.state is not CardState.FAILED:
        return None
    return plan_route(policy, snapshot, "on_failure", f"failure:{run.run_id}")


def _newest(snapshot: Snapshot, event: runs.RunEvent) -> RunRow | None:
    """Return the card's newest run where the event is about it: an older one moves the card no more."""
    return snapshot.run if snapshot.run and snapshot.run.run_id == event.run_id else None


def _ticker(snapshot: Snapshot) -> Decision:
    return Decision((UpdateTicker(CardId(snapshot.board_id)),))
