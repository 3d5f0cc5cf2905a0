"""The commands that a page offers a person for a card or a board as it is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ledger.model.limit_answers import CHOSEN_ONLY, Subject, subject_of
from ledger.states import RUN_HELD, RunState
from rules.card.move_rights import may_move
from rules.chatops.parser import SEEN_STOP, Parsed, Permitted, permit, refusal_to_answer
from rules.handlers import check_buttons
from rules.policy.model import Policy
from rules.runs.queue import blocked_by
from rules.snapshot import Mover, OpenQuestion, RunSeen, Snapshot, Stop
from rules.text import plain

MAX_ASKED = 500  # characters of a question beside its answers


@dataclass(frozen=True, slots=True)
class CommandOffer:
    """One command to give. `name` is `<command>` or `<command>:<what it is about>`, as in a source.

    It takes one of `choices` (its text, and what people read), or words after `asks`, or nothing.
    """

    name: str
    label: str
    hint: str
    asks: str = ""
    choices: tuple[tuple[str, str], ...] = ()

    @property
    def command(self) -> str:
        """The command's name."""
        return self.name.partition(":")[0]


def for_card(policy: Policy, snapshot: Snapshot, *, role: str, login: str) -> tuple[CommandOffer, ...]:
    """Return what somebody with that role in the card's repository may do now, the most urgent first."""
    if snapshot.archived or snapshot.is_draft or snapshot.foreign:
        return ()
    run = snapshot.live_run
    answers = _answers(policy, run, role, login) if run else ()
    return (*answers, *_permitted(policy, _of_card(policy, snapshot, role, login), role, login))


def for_board(policy: Policy, stops: Sequence[Stop], *, role: str, login: str) -> tuple[CommandOffer, ...]:
    """Return what stops the whole board, or lets it go on, for somebody with that role."""
    stop = next((stop for stop in stops if stop.scope == "board"), None)
    if stop is not None:
        offer = CommandOffer(
            f"resume:{SEEN_STOP}{stop.mark}",
            "Let the board go on",
            "The board is stopped",
            choices=(("board", "Let the board go on"),),
        )
    else:
        offer = CommandOffer("stop-all", "Stop all runs", "Stop every run on the board, now")
    return tuple(_permitted(policy, (offer,), role, login))


def _permitted(
    policy: Policy, wanted: Sequence[CommandOffer] | Iterator[CommandOffer], role: str, login: str
) -> Iterator[CommandOffer]:
    for offer in wanted:
        words = offer.choices[0][0] if offer.choices else ""
        if isinstance(permit(policy, Parsed(offer.command, words), role=role, login=login), Permitted):
            yield offer


def _answers(policy: Policy, run: RunSeen, role: str, login: str) -> Iterator[CommandOffer]:
    for question in filter(None, (run.question, run.behind)):
        if not refusal_to_answer(policy, subject_of(question), role=role, login=login):
            yield from _of_question(question)


def _of_question(question: OpenQuestion) -> Iterator[CommandOffer]:
    name, text = f"answer:{question.question_id}", plain(question.text, MAX_ASKED)
    if question.choices:
        choices = ((str(number), plain(choice)) for number, choice in enumerate(question.choices, start=1))
        yield CommandOffer(name, "Answer", text, choices=tuple(choices))
    if not question.choices or subject_of(question) not in CHOSEN_ONLY:
        hint = "Or in your own words" if question.choices else text
        yield CommandOffer(name, "Answer", hint, asks="Your answer")


def _of_card(policy: Policy, snapshot: Snapshot, role: str, login: str) -> Iterator[CommandOffer]:
    for button in check_buttons.of_run(policy, snapshot):
        yield CommandOffer(button.identifier, button.label, button.description)
    may_unblock = isinstance(permit(policy, Parsed("unblock", ""), role=role, login=login), Permitted)
    for stop in snapshot.stops:
        if (stop.scope, stop.target) == ("card", snapshot.card_id) and (may_unblock or not stop.because):
            name, why = f"resume:{SEEN_STOP}{stop.mark}", plain(stop.because, MAX_ASKED)
            yield CommandOffer(name, "Let the card go on", why or "Lift the card's own stop")
    run = snapshot.live_run
    here = (snapshot.column or "").casefold()
    columns = tuple((name, plain(name)) for name in policy.board.columns if name.casefold() != here)
    if run is None and columns and may_move(policy, Mover(login, role)):
        name = f"move:{snapshot.column or ''}"
        yield CommandOffer(name, "Move", "Move the card, as a drag would, to", choices=columns)
    if run is None and not blocked_by(snapshot.stops, snapshot.card_id):
        yield CommandOffer("claim", "Claim", "It is yours: no run starts on it until somebody unblocks it")
        yield CommandOffer("block", "Block", "No run starts until somebody unblocks the card", asks="Why")
    if run is None or run.stop_asked == "cancel":
        return
    if run.state is RunState.AWAITING_APPROVAL:
        yield CommandOffer(
            f"redirect:{run.run_id}",
            "Send the plan back",
            "For another plan",
            asks="What should be different",
        )
    elif run.state in RUN_HELD:
        yield CommandOffer(
            f"redirect:{run.run_id}",
            "Tell the agent",
            "It reads your words at its next step",
            asks="Your words",
        )
    waits = run.question is not None and subject_of(run.question) is Subject.BUDGET
    if waits or run.state in RUN_HELD:
        yield CommandOffer(
            f"budget:{run.run_id}", "Add dollars", "Give the run more to spend", asks="Dollars, such as +2"
        )
