"""The briefing of a run's agent, without the parts about other cards."""

from flask import Response, make_response, render_template

from bot.state import instructions, served_boards
from bot.state.instructions import Section
from bot.web.site import parameters
from bot.web.site.layout import Site
from bot.web.site.visibility import run_visible
from ledger.events.run import CHECK
from ledger.log import event_store
from ledger.queue.sign_ins import SignIn
from ledger.rows.cards import CardRow
from ledger.rows.runs import RunRow
from ledger.views import runs
from runner.prompts.briefing import own_part
from runner.text.untrusted import without_invisible

MAX_CHARS = 60_000  # of all sections
NOT_YET = "The agent has not been briefed yet."
NO_AGENT = "This run only runs the checks: it has no agent, so no briefing."
CUT = "Cut here for length."
OTHERS = "What it says about other cards, and everything after that, is left out here."
RESTRICTED = (
    "To see the briefing you must also be able to read the board's policy repository and every "
    "repository this card's runs have worked in."
)


def mount(site: Site) -> None:
    """Mount the page."""

    @site.get("/runs/<run>/briefing")
    def briefing(visit: SignIn, run: str) -> Response:
        parameters.check_names()
        visible = run_visible(site, visit, run)
        if visible is None:
            return site.nothing(visit)
        with event_store.reading(site.engine) as db:
            stack = instructions.stack_of(db, visible[0].run_id)
        told_nothing = NO_AGENT if visible[0].kind == CHECK else NOT_YET
        sections, lines = list[tuple[str, str, str]](), [] if stack else [told_nothing]
        if not _may_see(site, visit, *visible):
            lines = [RESTRICTED]
        elif stack:
            sections = _fitting(list(stack.sections()))
        shown = render_template(
            "briefing.html",
            title=f"Briefing of run {run}",
            run_id=run,
            lines=lines,
            sections=sections,
            visit=visit,
        )
        return make_response(shown)


def _may_see(site: Site, visit: SignIn, run: RunRow, card: CardRow) -> bool:
    """Tell whether the visitor may read all that a briefing is made of but other cards. Raises BusyError."""
    with event_store.reading(site.engine) as db:
        served = served_boards.all_served(db, site.config)
        names = runs.list_hosts_of_card(db, card.card_id)
    homes = {board.home_repository for board in served if board.board_id == run.board_id}
    return bool(homes) and site.readers.may(visit, frozenset(names | homes), run.queued_at)


def _fitting(sections: list[Section]) -> list[tuple[str, str, str]]:
    """Return headings, texts, and the omissions of each."""
    fitting, room = [], MAX_CHARS
    for section in sections:
        own = section.text if section.own else own_part(section.text)
        text = without_invisible(own[:room])
        cut = CUT if len(own) > room else OTHERS if own != section.text else ""
        room -= min(room, len(own))
        fitting.append((section.heading, text, cut))
    return fitting
