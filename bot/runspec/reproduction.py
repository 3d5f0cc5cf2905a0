"""Steps for a browser, from the card's texts, as the repository's rules allow."""

from dataclasses import replace

from bot.bootstrap import Services
from bot.github.api import roles
from ledger.log import event_store
from ledger.rows.cards import CardRow
from ledger.rows.runs import RunRow
from ledger.views import messages
from rules.policy.repository import RepositoryRules
from rules.runs.reproduction import Words, choose_reproduction
from runner.run.run_spec import BrowserStep, ReproductionSpec, RunSpec
from runner.text.visible import clean_markup

_COMMENTS = 50


def with_reproduction(
    services: Services, spec: RunSpec, run: RunRow, card: CardRow, rules: RepositoryRules
) -> RunSpec:
    """Return the specification with steps to play: from the command's words, else the newest comment, else
    the issue. Hidden text and the planning assistant's words do not count.
    """
    if rules.reproduction is None and not run.reproduces:
        return spec
    request = choose_reproduction(rules, _words(services, run, card), requested=run.reproduces)
    if request is None:
        return spec
    settings = request.settings
    steps = tuple(BrowserStep(str(step.verb), step.text, step.first, step.second) for step in request.steps)
    return replace(
        spec,
        reproduction=ReproductionSpec(
            start=settings.start,
            address=settings.address,
            steps=steps,
            ready_s=settings.ready_s,
            limit_s=settings.minutes * 60,
            image=settings.image,
            absent=request.absent,
        ),
    )


def _words(services: Services, run: RunRow, card: CardRow) -> tuple[Words, ...]:
    with event_store.reading(services.engine) as db:
        said = messages.newest(db, card.card_id, _COMMENTS)
    trusted = roles.writes(services.hub, card.repository or "", card.author)
    texts = (
        (run.asked, True),
        *(
            (message.text, message.trusted or bool(message.vouched_by))
            for message in reversed(said)
            if message.author
        ),
        (card.body, trusted),
    )
    return tuple(Words(clean_markup(text).text, counts) for text, counts in texts)
