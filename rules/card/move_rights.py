"""The right to move cards: effects of a drag, an archiving or a closing need it."""

from datetime import datetime

from ledger.event import Event, RuleEvent
from ledger.events.board import (
    ABANDONED,
    CardArchived,
)
from ledger.states import CardState, PullState, Reason
from rules.card.column_actions import has_action
from rules.card.state import list_steps
from rules.intents import outbound
from rules.intents.internal import ShowCard, show_card, show_sentence
from rules.intents.outbound import Decision, Intent, Say
from rules.policy.model import Policy
from rules.policy.roles import Role, is_covered, role_of
from rules.snapshot import UNTOLD, Mover, Snapshot
from rules.text import alternatives, code, sentence

# Source: docs.github.com/issues/planning-and-tracking-with-projects/automating-your-project/
# using-the-built-in-automations. *Item closed* and *Pull request merged* are on in every new project.
PROJECT_BOT = "github-project-automation[bot]"
TAKEN_OFF = ("archived", "deleted")


def merges(snapshot: Snapshot) -> bool:
    column = snapshot.column_policy
    return column is not None and has_action(column.entry_actions, "merge")


def is_by_workflow(snapshot: Snapshot) -> bool:
    """Return whether a workflow of GitHub's put the card where it stands, and nothing comes of that.

    A policy can name the bot to let it start work; but moves behind a close, archiving and merging are for
    people. A closed issue's card that nobody is known to have moved counts as moved by it. The move behind a
    merge is the merger's.
    """
    mover, pull = snapshot.moved_by, snapshot.pull
    if mover.own or (pull is not None and pull.state is PullState.MERGED):
        return False
    if mover.login == PROJECT_BOT:
        return bool(snapshot.closed) or snapshot.archived or merges(snapshot)
    return not mover.login and bool(snapshot.closed)


def may_move(policy: Policy, mover: Mover) -> bool:
    """Return whether moves of cards by `mover` take effect."""
    if mover.own:
        return True
    if not mover.login:
        return policy.board.unknown_mover == "allow" or (
            policy.board.unknown_mover is None and mover.role == UNTOLD
        )
    return is_covered(policy.board.move, role_of(mover.role), mover.login)


def is_dragged(policy: Policy, snapshot: Snapshot) -> bool:
    """Return whether somebody whose moves take effect put the card where it stands, or took it off."""
    return may_move(policy, snapshot.moved_by) and not is_by_workflow(snapshot)


def is_abandoned(policy: Policy, snapshot: Snapshot) -> bool:
    """Return whether somebody who may has given the card up."""
    return snapshot.given_up or (snapshot.archived and is_dragged(policy, snapshot))


def guard_move(
    policy: Policy, snapshot: Snapshot, event: Event, decision: Decision, now: datetime
) -> Decision:
    """Return the decision about a move as `guard_entry` does."""
    if isinstance(event, CardArchived) and event.reason not in TAKEN_OFF:
        return decision  # nobody took it off: it went out of sight
    return guard_entry(policy, snapshot, decision, now)


def guard_entry(policy: Policy, snapshot: Snapshot, decision: Decision, now: datetime) -> Decision:
    """Return the decision where it does nothing or the card was dragged by somebody who may; else only the
    sentence about that.

    The card stays where it was put: people move cards. It goes on when somebody who may moves it, or says so.
    """
    if is_dragged(policy, snapshot):
        return decision
    workflow = is_by_workflow(snapshot)
    if workflow and snapshot.given_up and not snapshot.archived:
        return _rest_given_up(snapshot)
    unmerged = workflow and snapshot.open_pull is not None and merges(snapshot)
    news = unmerged and any(
        not isinstance(it, ShowCard) or list_steps(policy, snapshot, it) for it in decision.intents
    )
    if not news and not any(_acts(snapshot, intent) for intent in decision.intents):
        return decision
    because = refusal(policy, snapshot)
    reason = Reason.OTHER if snapshot.moved_by.login else Reason.MOVER_UNKNOWN
    if snapshot.archived:
        shown = show_card(CardState.ARCHIVED, because, reason)
    elif snapshot.live_run:
        shown = show_sentence(because, reason)
    else:
        shown = show_card(CardState.BLOCKED, because, reason)
    if snapshot.is_draft:  # nobody can comment on it: its face says so
        return shown
    # Once an hour for each person and place: a card can be dragged without end, and each comment is a mail.
    place = "away" if snapshot.archived else snapshot.column or "none"
    who = "workflow" if workflow else f"mover:{snapshot.moved_by.login}"
    about = f"{who}:{place}:{now:%Y%m%d%H}"
    return shown + Decision((Say(snapshot.card_id, about, sentence(because)),))


def _rest_given_up(snapshot: Snapshot) -> Decision:
    """Let a card that was given up rest in its last column."""
    because = f"the issue was closed as {snapshot.closed.replace('_', ' ')}"
    rests = snapshot.live_run is None and snapshot.archetype.IS_FINAL
    if rests and snapshot.state is not CardState.DONE:  # else it says by whom
        return show_card(CardState.DONE, because)
    return Decision((), (because,))


def _acts(snapshot: Snapshot, intent: Intent | RuleEvent) -> bool:
    """Tell whether the intent needs the right; deleting a merged branch does not."""
    merged = snapshot.pull is not None and snapshot.pull.state is PullState.MERGED
    return not intent.only_shows and not (merged and isinstance(intent, outbound.DeleteBranch))


def refusal(policy: Policy, snapshot: Snapshot) -> str:
    """Return the sentence about the mover, the missing right, the omitted effect and the next step."""
    mover, run = snapshot.moved_by, snapshot.live_run
    where = code(snapshot.column) if snapshot.column else "no column"
    did = "took the card off the board" if snapshot.archived else f"moved the card to {where}"
    by_workflow = is_by_workflow(snapshot)
    if by_workflow and mover.login:
        who = f"GitHub's own workflow {did}"
    elif mover.login:
        roles = (f"the role {code(word)}" if word in set(Role) else code(word) for word in policy.board.move)
        has = f"has the role {code(role_of(mover.role))} here, and that needs {alternatives(roles)}"
        who = f"{code(mover.login, 40)} {did}, {has}"
    else:
        who = f"GitHub did not say who {did}"
    if by_workflow and snapshot.closed:
        who = f"the issue was closed as {snapshot.closed.replace('_', ' ')}, and {who}"
    pull = snapshot.open_pull
    spared = "nothing was started, merged or given up"
    if run:
        spared = f"{run.run_id} continues"
    elif pull and pull.awaits:
        spared = f"GitHub still merges pull request #{pull.number}"
    elif snapshot.archived and pull:
        spared = f"pull request #{pull.number} stays open"
    return f"{who}: {spared}. {_next_step(snapshot)}"


def _next_step(snapshot: Snapshot) -> str:
    if snapshot.archived:
        by_hand = "cancels the run with /cardinal cancel" if snapshot.live_run else "closes the pull request"
        return f"To give it up, someone who may move cards restores it and archives it again, or {by_hand}"
    if snapshot.live_run:
        return "Someone who may move cards says /cardinal cancel, or drags it back and out again"
    pull, archetype, way = snapshot.open_pull, snapshot.archetype, ""
    if pull and archetype.IS_FINAL and merges(snapshot):
        merge = f"To merge pull request #{pull.number}"
        way = f"{merge}, someone who may move cards drags it out and in again, or says /cardinal retry"
        return f"{way}; to give it up, archives the card" if snapshot.closed in ABANDONED else way
    if archetype.STARTS_RUNS or archetype.IS_FINAL:
        way = ", or says /cardinal retry"
    elif archetype.HAS_ASSISTANT:
        way = ", or writes a comment"
    return f"Someone who may move cards drags it here again{way}"
