"""The buttons of Cardinal's check on a pull request: their choice and their effects."""

from dataclasses import dataclass, replace
from datetime import datetime

from ledger.event import Event
from ledger.events import run as runs
from ledger.events.conversation import CommandGiven
from ledger.ids import CardId
from ledger.states import CardState, Ending, RunState
from rules.card.trigger import time_stamp
from rules.chatops.offers import fitting
from rules.chatops.parser import of_button, run_of_button
from rules.intents.outbound import Decision, Say, WriteCheck
from rules.policy.model import Policy
from rules.snapshot import CardPull, Snapshot

MAX = 3  # docs.github.com/rest/checks/runs (actions), like the lengths
LABEL, IDENTIFIER, DESCRIPTION = 20, 20, 40


@dataclass(frozen=True, slots=True)
class Button:
    """One button; `identifier` is the command, with its run."""

    label: str
    identifier: str
    description: str

    @property
    def fits(self) -> bool:
        """Whether GitHub takes it: one that is too long refuses the whole check."""
        short = len(self.label) <= LABEL and len(self.description) <= DESCRIPTION
        return short and len(self.identifier) <= IDENTIFIER


EXPLAIN = Button("Explain", "explain", "Say why the card does or does not move")


def of_check(policy: Policy, snapshot: Snapshot) -> tuple[Button, ...]:
    """Return the buttons for the card as it is, at most three; none without an open pull request."""
    if snapshot.open_pull is None or snapshot.archived:
        return ()
    offers = (offer for offer in fitting(policy, snapshot) if of_button(offer.name))
    if _is_to_review(snapshot):
        offers = (offer for offer in offers if offer.command != "retry")
    buttons = (Button(offer.label, offer.name, offer.hint) for offer in offers)
    # One whose name GitHub does not take is left out: the same command can be written.
    return (*(button for button in buttons if button.fits), EXPLAIN)[:MAX]


def _is_to_review(snapshot: Snapshot) -> bool:
    """Tell whether the run's work is to be looked at first: another attempt needs no button then."""
    done = snapshot.run is not None and snapshot.run.ending is Ending.SUCCEEDED
    return done and snapshot.state is not CardState.BLOCKED


def check(snapshot: Snapshot) -> Decision:
    """Update the check on the head of the card's open pull request."""
    return _check(snapshot.card_id, snapshot.open_pull)


def _check(card_id: CardId, pull: CardPull | None) -> Decision:
    return Decision((WriteCheck(card_id, pull.head),) if pull and pull.head else ())


def rewrite_check(snapshot: Snapshot, event: Event, *, changes: bool) -> Decision:
    """Update the check after events that may change its result or its buttons, as `changes` says of the kind.

    The end of a run updates it also where people closed or merged the pull request meanwhile.
    """
    if isinstance(event, runs.RunEnded):
        return _check(snapshot.card_id, snapshot.pull)
    waits = isinstance(event, runs.RunStepped) and event.after is RunState.AWAITING_APPROVAL
    return check(snapshot) if waits or changes else Decision()


def describe_superseded(snapshot: Snapshot, given: CommandGiven) -> str:
    """Return that the pressed button or form is about another run than it acts on; empty when it is not.

    A press that comes late, or twice, must not stop or start a run that the person never saw.
    """
    about, run = run_of_button(given.source), snapshot.run
    if about in {it.run_id for it in snapshot.reruns}:
        said = f"{about} is beside the card's own runs and can only be cancelled: nothing was done."
        return "" if given.command == "cancel" else said
    if not about or run is None or run.run_id == about:
        return ""
    return f"That was about {about}, and {run.run_id} has started since: nothing was done."


def answer_press(snapshot: Snapshot, decision: Decision, given: CommandGiven, now: datetime) -> Decision:
    """Return the decision on a press: it has no comment that could be marked, and each is answered anew."""
    about = f"button:{given.command}:{given.by}:{time_stamp(now)}"
    intents = (
        replace(intent, about=about) if isinstance(intent, Say) else intent for intent in decision.intents
    )
    return Decision(tuple(intents), decision.because) + check(snapshot)
