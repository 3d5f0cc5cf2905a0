"""What a run plays in a browser: the steps in the card's texts, as the repository's rules allow it."""

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.github.api import roles
from ledger.log import event_store
from ledger.views import messages
from ledger.views.cards import CardRow
from ledger.views.runs import RunRow
from rules.policy.repository import RepositoryRules
from rules.runs.reproduction import Words, wanted
from runner.run.run_spec import BrowserStep, ReproductionSpec, RunSpec
from runner.text.visible import clean

if TYPE_CHECKING:
    from bot.bootstrap import Services

_COMMENTS = 50


def with_reproduction(
    services: "Services", order: RunSpec, run: RunRow, card: CardRow, rules: RepositoryRules
) -> RunSpec:
    """Return the order with what it plays: the words with the command come first, then comments from the
    newest on, then the issue. Hidden text in them is none, nor is what the planning
    assistant said.
    """
    if rules.reproduction is None and not run.reproduces:
        return order
    found = wanted(rules, _words(services, run, card), asked=run.reproduces)
    if found is None:
        return order
    settings = found.settings
    steps = tuple(BrowserStep(str(one.verb), one.text, one.first, one.second) for one in found.steps)
    return replace(
        order,
        reproduction=ReproductionSpec(
            start=settings.start,
            address=settings.address,
            steps=steps,
            ready_s=settings.ready_s,
            limit_s=settings.minutes * 60,
            image=settings.image,
            absent=found.absent,
        ),
    )


def _words(services: "Services", run: RunRow, card: CardRow) -> tuple[Words, ...]:
    with event_store.reading(services.engine) as db:
        said = messages.newest(db, card.card_id, _COMMENTS)
    trusted = roles.may_write(roles.role(services.hub, card.repository or "", card.author))
    texts = (
        (run.asked, True),
        *((one.text, one.trusted or bool(one.vouched_by)) for one in reversed(said) if one.author),
        (card.body, trusted),
    )
    return tuple(Words(clean(text).text, counts) for text, counts in texts)
