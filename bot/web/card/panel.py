"""What a card's page shows at its top: the decision that it waits for, or what is being done for it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from bot.render.run.evidence import failing_tests
from bot.render.run.reasons import REASONS
from bot.web.acting.offered import FormView
from bot.web.acting.on_github import REVIEWS, GithubAct
from bot.web.site import markdown
from ledger.queries.run_rows import RunRows
from ledger.rows.messages import MessageRow
from ledger.rows.runs import RunRow
from ledger.states import CardState, Ending, RunState
from rules.chatops.offers import Urgency
from rules.policy.model import Policy
from rules.runs.gate import merging_columns
from rules.snapshot import Snapshot
from rules.text import plain, state_word

MAX_STEPS, MAX_STEP = 30, 300
MAX_TESTS, MAX_NAME = 5, 160
NONE = Markup()
DECIDED = (Urgency.WAITED_FOR, Urgency.RUN, Urgency.WORDS)  # the forms of the panel; the rest is under More


@dataclass(frozen=True, slots=True)
class PanelView:
    """The panel: `tone` colours it, `text` is of people or agents; `watches` is the run to follow, or empty.

    Each of `steps` is a text and whether it is done. `tests` are the names of failing ones.
    """

    title: str
    tone: str = ""
    text: Markup = NONE
    steps: Sequence[tuple[str, bool]] = ()
    done: int = 0
    latest: str = ""
    tests: Sequence[str] = ()
    forms: Sequence[FormView] = ()
    watches: str = ""


@dataclass(frozen=True, slots=True)
class PanelInput:
    """All that the panel is made of. `rows` are those of the card's newest run, if it has one."""

    policy: Policy
    snapshot: Snapshot
    rows: RunRows | None
    said: MessageRow | None  # the assistant's newest words
    commands: Sequence[FormView]
    github: Mapping[str, FormView]
    because: str


def panel_of(given: PanelInput) -> PanelView | None:
    """Return the panel for the card's stage; None where nothing is to be decided or done."""
    snapshot = given.snapshot
    run = snapshot.live_run
    if snapshot.archived:
        return PanelView("Left the board", forms=_commands(given, DECIDED[1], Urgency.CARD))
    if snapshot.open_questions and run is not None:
        return _question(given)
    if _awaits_approval(snapshot):
        return _plan(given)
    if run is not None and (given.snapshot.is_paused or given.snapshot.state is CardState.BLOCKED):
        return PanelView("Stopped", "ask", forms=_commands(given, *DECIDED), watches=run.run_id)
    if run is not None:
        return _work(given, run)
    return _at_rest(given)


def _at_rest(given: PanelInput) -> PanelView | None:
    snapshot, run = given.snapshot, given.snapshot.run
    match snapshot.state:
        case CardState.FAILED:
            return _failure(given)
        case CardState.BLOCKED:
            forms = _with_primary([*_commands(given, *DECIDED), *_replies(given)])
            return PanelView("Blocked", "bad", forms=forms)
        case CardState.CHANGES_REQUESTED:
            return PanelView("Changes requested", "ask", forms=_commands(given, *DECIDED))
        case CardState.IN_REVIEW | CardState.APPROVED | CardState.WORK_COMPLETE:
            return _review(given)
    if snapshot.archetype.HAS_ASSISTANT:
        return _planning(given)
    if run is not None and run.ending in (Ending.FAILED, Ending.LOST):
        return _failure(given)
    return None


def _question(given: PanelInput) -> PanelView:
    newest = given.snapshot.open_questions[0]
    name = f"answer:{newest.question_id}"
    whole = markdown.render(newest.text)
    # The panel has the question: its form only says what to write.
    forms = [
        replace(it, offer=replace(it.offer, hint="Answers" if it.offer.choices else _own_words(it)))
        if it.offer.name == name
        else it
        for it in _commands(given, Urgency.WAITED_FOR, *(DECIDED if _awaits_approval(given.snapshot) else ()))
    ]
    title = f"Run {plain(newest.run_id)} asks"
    return PanelView(title, "ask", whole, forms=_with_primary(forms), watches=newest.run_id)


def _awaits_approval(snapshot: Snapshot) -> bool:
    return snapshot.live_run is not None and snapshot.live_run.state is RunState.AWAITING_APPROVAL


def _own_words(form: FormView) -> str:
    return form.offer.hint if form.offer.hint.startswith("Or ") else "Your answer"


def _plan(given: PanelInput) -> PanelView:
    plan = given.rows.plan if given.rows else None
    run = given.snapshot.run
    steps = _steps(plan.steps if plan else (), 0)
    text = markdown.render(plan.summary) if plan else Markup()
    title = f"Run {run.run_id} proposes a plan" if run else "Plan"
    # The form says on other pages where the plan is.
    forms = [
        replace(it, offer=replace(it.offer, hint="Then the work begins"))
        if it.offer.command == "approve"
        else it
        for it in _commands(given, *DECIDED)
    ]
    return PanelView(title, "ask", text, steps, forms=forms)


def _work(given: PanelInput, run: RunRow) -> PanelView:
    steps = _steps(run.plan_steps, run.plan_done)
    said = plain(run.last_line, MAX_STEP)
    return PanelView(
        title=f"Run {run.run_id}",
        steps=steps,
        done=100 * run.plan_done // len(run.plan_steps) if run.plan_steps else 0,
        latest=said,
        forms=_commands(given, Urgency.WORDS),
        watches=run.run_id,
    )


def _failure(given: PanelInput) -> PanelView:
    run, rows = given.snapshot.run, given.rows
    if run is None or rows is None:
        return PanelView("Failed", "bad", forms=_commands(given, *DECIDED))
    why = REASONS.get(run.reason, "")
    return PanelView(
        title=f"Run {run.run_id} {state_word(run.status)}{f': {why}' if why else ''}",
        tone="bad",
        text=NONE if plain(run.detail, 200) in given.because else markdown.render(run.detail),
        tests=[plain(name, MAX_NAME) for name in failing_tests(rows.checks, MAX_TESTS)],
        forms=_commands(given, *DECIDED),
        watches=run.run_id,
    )


def _review(given: PanelInput) -> PanelView:
    snapshot, pull = given.snapshot, given.snapshot.open_pull
    moves = _moves(given)
    if snapshot.state is CardState.APPROVED or pull is None:
        title = "Approved" if snapshot.state is CardState.APPROVED else "Ready for you to look at"
        return PanelView(title, "good", forms=_with_primary([*moves, *_commands(given, *DECIDED)]))
    reviews = [form for act, form in given.github.items() if act in REVIEWS]
    title = "Ready for your review"
    if snapshot.state is CardState.WORK_COMPLETE and not reviews:
        return PanelView(title, "good", forms=_with_primary(moves))
    return PanelView(title, "good", forms=_with_primary([*reviews, *moves]))


def _planning(given: PanelInput) -> PanelView | None:
    snapshot, said = given.snapshot, given.said
    reply = _replies(given)
    if snapshot.assistant_waits and said is not None:
        return PanelView("The assistant asks", "ask", markdown.render(said.text), forms=_with_primary(reply))
    if snapshot.brief:
        brief = markdown.render(snapshot.brief, 2 * markdown.MAX_CHARS)
        return PanelView("Ready when", "good", brief, forms=_with_primary([*_moves(given), *reply]))
    return PanelView("Planning", forms=reply)


def _replies(given: PanelInput) -> list[FormView]:
    """Return the comment on the issue, which the assistant answers."""
    return [form for act, form in given.github.items() if act == GithubAct.COMMENT]


def _moves(given: PanelInput) -> list[FormView]:
    """Return the move to the column where the card goes on from here, as a form of its own."""
    snapshot, policy = given.snapshot, given.policy
    columns = list(policy.board.columns)
    match snapshot.state:
        case CardState.APPROVED:
            wanted = list(merging_columns(policy))
        case CardState.WORK_COMPLETE:
            wanted = [name for name in columns if policy.archetype(name).HAS_REVIEWS]
        case CardState.DISCUSSING | CardState.NEEDS_INPUT:
            wanted = [name for name in columns if policy.archetype(name).STARTS_RUNS]
        case _:
            wanted = []
    for form in given.commands:
        if form.offer.command == "move":
            choices = [choice for choice in form.offer.choices if choice[0] in wanted or choice[1] in wanted]
            if choices:
                text, label = choices[0]
                offer = replace(form.offer, hint="", choices=((text, f"Move to {label}"),))
                return [replace(form, offer=offer)]
    return []


def _commands(given: PanelInput, *urgencies: Urgency) -> list[FormView]:
    return _with_primary(it for it in given.commands if it.offer.name and it.offer.urgency in urgencies)


def _with_primary(forms: Iterable[FormView]) -> list[FormView]:
    """Return the forms, of which the first has the page's one dark button, unless it has equal choices."""
    return [
        replace(form, primary=place == 0 and len(form.offer.choices) < 2) for place, form in enumerate(forms)
    ]


def _steps(steps: Sequence[str], done: int) -> list[tuple[str, bool]]:
    return [(plain(step, MAX_STEP), place < done) for place, step in enumerate(steps[:MAX_STEPS])]
