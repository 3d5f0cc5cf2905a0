"""What a person decides about a card, in its row: the question, plan, failure or report, with their forms."""

from dataclasses import dataclass
from urllib.parse import quote

from sqlalchemy import Connection

from bot.render.run.evidence import failing_tests
from bot.web.acting import offered, on_github
from bot.web.acting.offered import FormView
from bot.web.acting.on_github import GithubAct
from bot.web.site.layout import Site
from bot.web.site.visibility import path_of
from ledger.ids import CardId
from ledger.log import event_store
from ledger.queries.lanes import Lane, lane_of
from ledger.queue.sign_ins import SignIn
from ledger.rows.cards import CardRow
from ledger.rows.runs import RunRow
from ledger.states import RunState
from ledger.views import cards, checks, messages, plans, questions, reports, runs
from rules.chatops.offers import Urgency
from rules.text import count, plain, sentence

MAX_TEXT = 4000  # characters of a question, a cause or a report
MAX_TESTS = 5
MAX_ITEMS, MAX_ITEM = 20, 300  # of a list, such as a plan's steps
TONES = {Lane.FAILED: "bad", Lane.REVIEW: "good", Lane.READY: "good"}
# Beside what is urgent: these belong to the decision.
ALSO = {Lane.NEEDS_INPUT: "redirect", Lane.REVIEW: "move", Lane.READY: "move"}


@dataclass(frozen=True, slots=True)
class DecisionView:
    """A decision: `text` and the `lists` with their names, short `facts`, `links` and forms.

    `kind` is the colour's: `bad`, `good` or empty. `first` is the link that leads on where no form does.
    """

    kind: str
    text: str
    lists: tuple[tuple[str, tuple[str, ...]], ...]
    facts: tuple[str, ...]
    first: tuple[str, str] | None
    links: tuple[tuple[str, str], ...]
    forms: tuple[FormView, ...]


def find_decision(site: Site, visit: SignIn, card_id: CardId) -> DecisionView | None:
    """Return the decision about a card that the visitor may read; None where nobody has to make one.

    Raises BusyError.
    """
    with event_store.reading(site.engine) as db:
        card = cards.get(db, card_id)
        lane = lane_of(card.state, card.reason) if card else None
        if card is None or lane is None:
            return None
        run = runs.get(db, card.run_id) if card.run_id else None
        text, lists, facts = _read(db, lane, card, run)
    also = ALSO.get(lane)
    forms = offered.for_card(site, visit, card_id)
    links = [(f"/runs/{run.run_id}", f"Open {run.run_id}")] if run else []
    seen = (card.repository, run.repository if run else None)  # the list has asked about these alone
    first = (path_of(card.repository, card.number, card_id), "Review") if lane is Lane.REVIEW else None
    if lane in (Lane.REVIEW, Lane.READY) and card.pull_number and card.pull_repository in seen:
        pull = f"{site.config.git_url}/{quote(card.pull_repository or '')}/pull/{card.pull_number}"
        links.append((pull, f"Pull request #{card.pull_number}"))
    replies: list[FormView] = []
    if card.assistant_waits and card.repository and card.number:
        acts = on_github.forms_for_card(site, visit, card, plans=True)
        replies = [form for act, form in acts.items() if act == GithubAct.COMMENT]
        issue = f"{site.config.git_url}/{quote(card.repository)}/issues/{card.number}"
        if replies:
            links.append((issue, "Issue on GitHub"))
        else:
            first = issue, "Reply on GitHub"
    return DecisionView(
        kind=TONES.get(lane, ""),
        text=text[:MAX_TEXT],
        lists=tuple((name, _cut(items)) for name, items in lists if items),
        facts=facts,
        first=first,
        links=tuple(links),
        forms=(
            *replies,
            *(it for it in forms if it.offer.urgency <= Urgency.RUN or (also and it.offer.command == also)),
        ),
    )


Lists = tuple[tuple[str, tuple[str, ...]], ...]


def _read(
    db: Connection, lane: Lane, card: CardRow, run: RunRow | None
) -> tuple[str, Lists, tuple[str, ...]]:
    """Return the text, the lists and the facts that the decision is about."""
    if lane is Lane.NEEDS_INPUT and card.assistant_waits:
        said = messages.newest(db, card.card_id, 1, (messages.ASSISTANT,))
        return (said[-1].text if said else card.because), (), ()
    if run is None:
        return card.because, (), ()
    if lane is Lane.NEEDS_INPUT:
        asked = questions.open_of_run(db, run.run_id)
        plan = None if asked else plans.newest(db, run.run_id)
        if plan is None or run.state is not RunState.AWAITING_APPROVAL:
            return (asked[0].text if asked else card.because), (), ()
        return plan.summary, ((f"Plan {plan.revision}", plan.steps),), ()
    if lane is Lane.FAILED:
        tests = tuple(failing_tests(checks.of_run(db, run.run_id), MAX_TESTS))
        return sentence(run.detail or card.because), (("Failing", tests),), ()
    report = reports.get(db, run.run_id) if lane in (Lane.REVIEW, Lane.READY) else None
    if report is None:
        return card.because, (), ()
    gate = checks.newest_gate(db, run.run_id)
    facts = [
        *(
            count(size, word)
            for size, word in ((run.files_changed, "file"), (run.lines_changed, "line"))
            if size
        ),
        *([f"checks {'passed' if gate.passed else 'failed'}"] if gate else ()),
    ]
    asks = (("To check", report.check), ("Open questions", report.open_questions))
    return report.done, asks, tuple(facts)


def _cut(items: tuple[str, ...]) -> tuple[str, ...]:
    left = len(items) - MAX_ITEMS
    shown = tuple(plain(it, MAX_ITEM) for it in items[:MAX_ITEMS])
    return (*shown, f"and {left} more") if left > 0 else shown
