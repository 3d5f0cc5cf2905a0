"""The input of the rules: one card with its run, pull request, stops and losses, as in the views now."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NoReturn

from ledger.events.findings import FindingsReported
from ledger.events.pull import CheckFailure
from ledger.events.related import CardProposed
from ledger.rows.cards import CardRow
from ledger.rows.ci import CiRow
from ledger.rows.findings import FollowUpRow
from ledger.rows.folders import FolderRow
from ledger.rows.halts import HaltRow
from ledger.rows.jobs import JobRow
from ledger.rows.limit_answers import Code, Subject
from ledger.rows.links import LinkRow
from ledger.rows.losses import LossRow
from ledger.rows.messages import MessageRow
from ledger.rows.placements import PlacementRow
from ledger.rows.plans import PlanRow
from ledger.rows.questions import QuestionRow
from ledger.rows.runs import ComparedRun, PastRun, RunRow
from ledger.rows.same_issue import RunElsewhere, SiblingRow
from ledger.rows.stops import LiftRow, StopRow
from ledger.rows.workspaces import CardWorkspace
from ledger.states import CardState, Gate, PullState, RunState, StopKind
from rules.errors import UnreadPartError
from rules.policy.column import ColumnPolicy
from rules.registry import Archetype
from rules.text import plain

_OUT_OF_REACH = "{target} cannot be reached ({reason}): see `cardinal doctor`"
_UNACCEPTED = (
    "{target} has not accepted the permissions of the App ({detail}): an owner does so in {target}'s "
    "settings, under GitHub Apps"
)
_LOST = {
    "uninstalled": "the App is no longer installed on {target}: install it again, `cardinal init` "
    "shows where",
    "suspended": "the App is suspended on {target}: an owner can lift that in {target}'s settings, under "
    "GitHub Apps",
    "permissions": _UNACCEPTED,
    "core_permissions": _UNACCEPTED,
    "archived": "{target} is archived, so nothing can be written there: unarchive it in its settings "
    "to continue",
    "removed": "the App cannot see {target}: an owner adds it to the App's repositories in the "
    "organisation's settings, under GitHub Apps",
}
UNTOLD = "untold"  # the role of a mover where GitHub sends nothing about the board
LEAVE = "leave"  # who asks when a card is dragged away mid-run


def is_blocking(loss: LossRow) -> bool:
    """Tell whether nothing can be done there; else some things wait, and the rest goes on."""
    return loss.reason != "permissions"


def say_loss(loss: LossRow, target: str = "") -> str:
    """Return the sentence for people, with the next step; `target` names it in another way."""
    said = _LOST.get(loss.reason, _OUT_OF_REACH)
    names = {"target": target or loss.target, "reason": loss.reason, "detail": loss.detail}
    return said.format(**{name: plain(text, 140) for name, text in names.items()})


def is_outside(repository: str, owner: str) -> bool:
    return repository.partition("/")[0].casefold() != owner.casefold()


def outside_owner(repository: str, owner: str) -> str:
    """Return the sentence about a repository that was given to another owner."""
    next_step = "name another repository, or transfer it back"
    return f"{plain(repository, 140)} is outside {plain(owner, 60)}: {next_step}"


class Unread:
    """Stands where a part was not read. It has no value: each use raises UnreadPartError."""

    def __init__(self, part: str) -> None:
        self._part = part

    def __repr__(self) -> str:
        return f"<{self._part} was not read>"

    def _refuse(self, *_other: object) -> NoReturn:
        raise UnreadPartError(self._part)

    __getattr__ = __iter__ = __bool__ = __len__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse


def leave_unread(part: str) -> Any:
    """Return the default of a part that is read for some events only."""
    return Unread(part)


@dataclass(frozen=True, slots=True)
class Mover:
    """The person who put the card where it stands, or took it off the board; empty where not known.

    `role` is theirs in the card's repository; UNTOLD where GitHub tells Cardinal about nobody. `own`:
    Cardinal moved it, for that person.
    """

    login: str = ""
    role: str = ""
    own: bool = False


NOBODY = Mover()


@dataclass(frozen=True, slots=True)
class CardPull:
    """The card's pull request.

    `awaits`: GitHub merges it by itself at `awaited_head`: queue, auto, or empty when it does not. `gate` is
    the gate's result for `head`, `checked` the commit that it saw last, empty before the first. `unfinished`:
    a run published it before it was done, and none has finished it since.
    """

    number: int
    state: PullState
    draft: bool
    head: str
    branch: str
    awaits: str = ""
    awaited_head: str = ""
    gate: Gate = Gate.UNSEEN
    checked: str = ""
    unfinished: bool = False


@dataclass(frozen=True, slots=True)
class FailedPart:
    """A sub-issue whose newest run failed or was cancelled. `is_here`: whoever may answer on the card may
    retry it.
    """

    run: RunRow
    issue: LinkRow
    is_here: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot(CardRow):
    """One card as it is now: its row, and what else is known about it."""

    column_policy: ColumnPolicy | None  # of its column; None where the policy in force has no such column
    archetype: Archetype  # of its column
    run: RunRow | None  # its newest
    plan: PlanRow | None  # its run's newest, like the next
    questions: tuple[QuestionRow, ...]  # all questions of its run, the oldest first
    briefed: str  # the digest of the issue's text that its run's agent was told
    begun: tuple[datetime, ...]  # when its newest runs were queued, the newest first
    beside: RunRow | None  # the run beside its own that the event is about: it only checks, or is a rerun
    pull: CardPull | None
    checks: tuple[RunRow, ...]  # its runs that only check, the newest first
    base_moved_at: datetime | None  # when another card was last merged there
    lane_ahead: tuple[int, ...]  # pull requests that are merged before its own, in their order
    pending_threads: int  # review threads that no run has addressed yet
    # A run that changes code was queued after changes were requested, and succeeded: a verdict stays until
    # its author looks again.
    served: bool
    stops: tuple[StopRow, ...]  # the board's
    losses: tuple[LossRow, ...]  # those of the card's own repository and of its owner
    board_owner: str
    policy_digest: str
    target: PlacementRow | None  # where the issue's own repository may not be the one
    worked_in: str  # where a run of such a card has worked already
    blockers: tuple[LinkRow, ...]  # read while its run is queued, like the next three
    circle: tuple[LinkRow, ...]  # the way on which the card waits for itself
    parts: tuple[LinkRow, ...]  # its sub-issues that its run waits for
    failed_parts: tuple[FailedPart, ...]  # those of them with which nothing goes on
    goes_first: RunElsewhere | None  # the run that its queued run waits for
    done_elsewhere: RunElsewhere | None  # a run that did its work since its own was queued

    # Read for the events whose rule names them in its `reads`.
    place: int = leave_unread("place")  # of its run in its column's queue; 0 for none
    held: tuple[MessageRow, ...] = leave_unread("held")  # the newest comments that wait for a release
    released: tuple[MessageRow, ...] = leave_unread("released")  # those that somebody released
    lifted: LiftRow | None = leave_unread("lifted")  # of the stop that a command names
    paced: int = leave_unread("paced")  # commands in a minute by whoever just gave one
    unopened: bool = leave_unread("unopened")  # its run's pull request waits to be opened, or was given up
    halt: HaltRow | None = leave_unread("halt")  # of the board
    struck: int = leave_unread("struck")  # cards that failed in an hour for the cause of its run's failure
    ci: CiRow | None = leave_unread("ci")
    red: tuple[CheckFailure, ...] = leave_unread("red")  # checks of the pull request's head
    shared: tuple[SiblingRow, ...] = leave_unread("shared")  # other cards, with its files
    findings: FindingsReported | None = leave_unread("findings")  # of an investigation
    made: tuple[FollowUpRow, ...] = leave_unread("made")  # those of its follow-ups that became issues
    folder: FolderRow | None = leave_unread("folder")  # that of its newest run without a repository
    proposed: CardProposed | None = leave_unread("proposed")  # a card in another repository
    workspaces: tuple[CardWorkspace, ...] = leave_unread("workspaces")  # of the card, on any host
    past: PastRun | None = leave_unread("past")  # the run that a command wants to be done again
    compared: tuple[ComparedRun, ...] = leave_unread("compared")  # runs that a command names, in its order
    reruns: tuple[RunRow, ...] = leave_unread("reruns")  # live ones beside its own
    job: JobRow | None = leave_unread("job")  # the program's request that made the card

    @property
    def moved_by(self) -> Mover:
        return Mover(self.mover, self.mover_role, self.own_move)

    @property
    def unreachable_reason(self) -> str:
        """Why nothing can be done for the card at all; empty while it is in reach."""
        return (
            next((say_loss(loss) for loss in self.losses if is_blocking(loss)), "") or self.wrong_owner_reason
        )

    @property
    def wrong_owner_reason(self) -> str:
        """Why its runs cannot work where they were placed: that was given to another owner; or empty."""
        place = self.target.repository if self.target else ""
        if not place or not self._is_elsewhere(place):
            return ""
        return outside_owner(place, self.board_owner)

    @property
    def only_shown(self) -> bool:
        """Nothing is done for it, whatever happens to it: it is other people's, or a pull request."""
        return self.is_outside_owner or bool(self.pull_card)

    @property
    def is_outside_owner(self) -> bool:
        """Its issue is in a repository outside of the board's owner, where other people have the say."""
        return self.repository is not None and self._is_elsewhere(self.repository)

    def _is_elsewhere(self, repository: str) -> bool:
        return bool(self.board_owner) and is_outside(repository, self.board_owner)

    @property
    def live_run(self) -> RunRow | None:
        return self.run if self.run and self.run.alive else None

    @property
    def open_questions(self) -> tuple[QuestionRow, ...]:
        """The open questions of its run, the newest first."""
        still_open = (it for it in self.questions if it.answered_at is None and not it.withdrawn)
        return tuple(sorted(still_open, key=lambda question: question.asked_at, reverse=True))

    @property
    def places(self) -> frozenset[str]:
        """The repositories in which it is written about."""
        target = self.target.repository if self.target else ""
        return frozenset({self.repository or "", target, self.worked_in} - {""})

    @property
    def question(self) -> QuestionRow | None:
        return next(iter(self.open_questions), None)

    @property
    def leaving(self) -> QuestionRow | None:
        """The open question about the card being dragged away, whatever was asked since."""
        return next((question for question in self.open_questions if question.asker == LEAVE), None)

    def find_answered(self, chosen: str = "") -> QuestionRow | None:
        """Return the answered question of that id, else the newest answered one of its run's own work."""
        answered = [
            (question.answered_at, question.question_id, question)
            for question in self.questions
            if question.answered_at is not None
        ]
        about_work = (it for it in answered if it[2].subject != Subject.LEAVING)
        newest = max(about_work, key=lambda it: it[:2], default=(None, None, None))
        return next((question for _, question_id, question in answered if question_id == chosen), newest[2])

    @property
    def finish_by(self) -> str:
        """Who chose that its run may finish though the card was dragged away; empty while nobody did."""
        finished = (it.answered_by for it in self.questions if self.held_back and it.code == Code.FINISH)
        return next(finished, "")

    @property
    def is_paused(self) -> bool:
        """Its run is parked because somebody paused it, not because it waits for an answer."""
        run = self.run
        parked = run is not None and run.state is RunState.PARKED and run.stop_asked is StopKind.PAUSE
        return parked and self.question is None

    @property
    def plan_by(self) -> str:
        """Who approved its run's newest plan or sent it back; empty while nobody did."""
        return self.plan.by if self.plan else ""

    @property
    def live_check(self) -> RunRow | None:
        """Its run that only checks, while that has not ended."""
        return self.checks[0] if self.checks and self.checks[0].alive else None

    @property
    def open_pull(self) -> CardPull | None:
        return self.pull if self.pull and self.pull.state is PullState.OPEN else None

    @property
    def feedback_waits(self) -> bool:
        """A review asked for something that no run has worked on yet."""
        requested = self.verdict == "changes_requested" and not self.served
        asked = self.pending_threads > 0 or requested or self.state is CardState.CHANGES_REQUESTED
        return self.open_pull is not None and asked

    @property
    def is_draft(self) -> bool:
        """It is a draft issue, on which nobody can comment."""
        return self.repository is None or self.number is None
