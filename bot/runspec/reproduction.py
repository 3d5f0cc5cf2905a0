"""Steps for a browser, from the card's texts, as the repository's rules allow."""

from dataclasses import replace

from bot.bootstrap import Services
from bot.github.api import roles
from ledger.log import event_store
from ledger.views import messages
from ledger.views.cards import CardRow
from ledger.views.runs import RunRow
from rules.policy.repository import RepositoryRules
from rules.runs.reproduction import Words, wanted
from runner.run.run_spec import BrowserStep, ReproductionSpec, RunSpec
from runner.text.visible import clean

_COMMENTS = 50


def with_reproduction(
    services: Services, spec: RunSpec, run: RunRow, card: CardRow, rules: RepositoryRules
) -> RunSpec:
    """Return the specification with steps to play: from the command's words, else the newest comment, else
    the issue. Hidden text and the planning assistant's words do not count.
    """
    if rules.reproduction is None and not run.reproduces:
        return spec
    found = wanted(rules, _words(services, run, card), requested=run.reproduces)
    if found is None:
        return spec
    settings = found.settings
    steps = tuple(BrowserStep(str(one.verb), one.text, one.first, one.second) for one in found.steps)
    return replace(
        spec,
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


def _words(services: Services, run: RunRow, card: CardRow) -> tuple[Words, ...]:
    with event_store.reading(services.engine) as db:
        said = messages.newest(db, card.card_id, _COMMENTS)
    trusted = roles.may_write(roles.role(services.hub, card.repository or "", card.author))
    texts = (
        (run.asked, True),
        *((one.text, one.trusted or bool(one.vouched_by)) for one in reversed(said) if one.author),
        (card.body, trusted),
    )
    return tuple(Words(clean(text).text, counts) for text, counts in texts)
