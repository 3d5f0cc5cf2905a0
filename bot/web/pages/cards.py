"""A card: why it does or does not move, its runs, and its timeline at three depths."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import quote

from flask import Response, request
from markupsafe import escape
from sqlalchemy import Connection

from bot.render.board.card_fields import parts_done
from bot.render.run.folded_steps import fold_rows, without_echoes
from bot.state import policies, served_boards, snapshots
from bot.state.card_filters import FilterError
from bot.web.acting import offered
from bot.web.site import following, parameters
from bot.web.site.layout import Site
from bot.web.site.lists import fit_rows
from bot.web.site.times import short_when, when
from bot.web.site.visibility import may_see, path_of
from ledger.event import Zoom
from ledger.events.board import CardArchived
from ledger.ids import CardId
from ledger.log import event_store
from ledger.queries import timeline
from ledger.queries.card_filter import CardScope
from ledger.queries.timeline import MAX_EVENTS, WORDS_CHARS, TimelineRow
from ledger.queue.sign_ins import SignIn
from ledger.rows.cards import CardRow
from ledger.rows.links import LinkRow
from ledger.rows.runs import RunRow
from ledger.views import cards, links, runs, spend
from rules.explain import why
from rules.snapshot import is_outside
from rules.text import kind_of_run, plain, sentence, state_word, usd

PATH = "/cards/<owner>/<name>/<int(max=999999999):number>"
EVENT = re.compile(r"[0-9]{1,17}")
# What every run says on GitHub, too; the depth debug is for whoever may write to the policy's repository.
ZOOMS = (Zoom.CONVERSATION, Zoom.ACTIVITY)
MAX_ASKED = 10  # repositories of other issues about which one page asks GitHub: a reader has 30 in a minute
UNASKED = "There may be more issues you can read. Reload this page in a minute."
MAX_PAYLOAD = 2000
MAX_LINES, MAX_LINE = 200, 500
MAX_STEPS, MAX_STEP, STEP_BYTES = 50, 200, 60  # lines of a fold, characters of each, and the HTML around it
MAX_BYTES = 48_000  # of the lines: a page stays under 100 kB


class LineView(NamedTuple):
    """A line of the timeline, and the fields of its event.

    A fold has `steps`, each with its time; `omitted` of them are before those.
    """

    seq: int
    at: str
    run_id: str
    text: str
    kind: str
    payload: str
    steps: Sequence[tuple[str, str]] = ()
    omitted: int = 0


def mount(site: Site) -> None:
    """Mount the page."""

    @site.get(PATH, f"{PATH}/<card_id>")
    def card(visit: SignIn, owner: str, name: str, number: int, card_id: str = "") -> Response:
        parameters.check_names("zoom", "before")
        with event_store.reading(site.engine) as db:
            repository = cards.canonical_name(db, f"{owner}/{name}")
            known = cards.of_issue(db, repository, number)  # archived ones last
        wanted = (row for row in known if card_id in ("", row.card_id) and may_see(site, visit, row))
        row = next(wanted, None)
        return _page(site, visit, row) if row is not None else site.nothing(visit)

    @site.get("/live/cards/<card_id>")
    def card_news(visit: SignIn, card_id: str) -> Response:
        with event_store.reading(site.engine) as db:
            row = cards.get(db, CardId(card_id))
        if row is None or not may_see(site, visit, row):
            return site.nothing(visit)
        return following.card_stream(site, visit, CardScope(row.board_id), row.card_id)


def _page(site: Site, visit: SignIn, card: CardRow) -> Response:
    zooms = _zooms(site, visit, card)
    wanted = Zoom(parameters.choice("zoom", tuple(Zoom), Zoom.CONVERSATION))
    zoom = wanted if wanted in zooms else Zoom.CONVERSATION  # of an operator who sent the address on
    forms = offered.for_card(site, visit, card.card_id, every=True)
    quotes = all(it.offer.command != "answer" for it in forms)  # else the form has the question
    with event_store.reading(site.engine) as db:
        after = event_store.last_seq(db)
        lines, cut = newest_lines(db, card.card_id, zoom, _before())
        listed = runs.of_card(db, card.card_id)
        total = spend.of_card(db, card.card_id)
        snapshot = snapshots.of_card(db, card.card_id)
        because = why(policies.in_force(db, card.board_id), snapshot, quotes=quotes) if snapshot else ""
        left = _describe_leave(db, card) if card.archived else ""
        blockers = links.of_card(db, card.card_id)
        parts = links.parts_of(db, card.repository, card.number, links.MAX_PARTS)
    readable, complete = _readable(site, visit, card, (*blockers, *parts))
    seen = [it for it in blockers if it.repository in readable]
    own = [it for it in parts if it.repository in readable]
    github = f"{site.config.git_url}/{card.repository}"
    return following.page(
        "card.html",
        f"/live/cards/{quote(card.card_id)}",
        after,
        title=f"{plain(card.title)} · {card.repository}#{card.number}",
        lines=[sentence(text) for text in (left, because) if text],
        state=state_word(card.state) or "at rest",
        column=plain(card.column or "no column"),
        issue=f"{github}/issues/{card.number}",
        pull=_pull(site, card),
        dependencies=fit_rows(_dependency(site, link) for link in seen),
        unasked="" if complete else UNASKED,
        dependencies_done=f"{sum(not link.holds for link in seen)} of {len(seen)} done",
        parts_done=parts_done(own),
        parts=fit_rows(map(_part, own)),
        cost=usd(total.usd),
        runs=fit_rows(map(_run, listed)),
        timeline=lines,
        cut=cut,
        zoom=zoom,
        zooms=zooms,
        before=_before(),
        path=path_of(card.repository, card.number, card.card_id),
        forms=forms,
        visit=visit,
    )


def _describe_leave(db: Connection, card: CardRow) -> str:
    """Return how the card left its board: by whom, and when."""
    ((at, event),) = event_store.newest_of(db, f"card:{card.card_id}", CardArchived, 1)
    did = {"archived": "archived", "deleted": "deleted on the board"}.get(event.reason)
    who = f"{did} by {event.by or 'someone'}" if did else "no longer on a board Cardinal serves"
    return f"{plain(who)}, {when(at)}"


def _run(run: RunRow) -> tuple[str, str, str, str, str, str]:
    state, last = state_word(run.ending or run.state), plain(run.last_line, MAX_LINE)
    kind = kind_of_run(run.attempt, run.kind)
    return run.run_id, state, kind, usd(run.usd), when(run.queued_at), last


def _readable(
    site: Site, visit: SignIn, card: CardRow, others: Sequence[LinkRow | CardRow]
) -> tuple[frozenset[str], bool]:
    """Return which repositories of other issues the visitor may read, and whether GitHub was asked about all.

    Of another owner's nobody can say who may read them. Raises BusyError.
    """
    owner = (card.repository or "").partition("/")[0]
    names = {it.repository for it in others if it.repository and not is_outside(it.repository, owner)}
    return site.readers.soon_readable(visit, names, card.created_at, MAX_ASKED)


def _part(card: CardRow) -> tuple[str, str, str, str]:
    """Return the name, the title, the path and the state of the card of a sub-issue."""
    path = path_of(card.repository, card.number, card.card_id)
    state = state_word(card.state) or "at rest"
    return f"{card.repository}#{card.number}", plain(card.title, MAX_LINE), path, state


def _dependency(site: Site, link: LinkRow) -> tuple[str, str, str, str]:
    """Return the name, the title, the address and the state of an issue that blocks the card."""
    state = "not done" if link.holds else "done"
    if link.holds and link.state != "open":
        state = f"closed as {link.state.replace('_', ' ')}"
    name = f"{link.repository}#{link.number}"
    where = f"{site.config.git_url}/{link.repository}/issues/{link.number}"
    return name, plain(link.title, MAX_LINE), where, state


def _zooms(site: Site, visit: SignIn, card: CardRow) -> tuple[Zoom, ...]:
    """Return the depths that the visitor may choose. Raises BusyError."""
    with event_store.reading(site.engine) as db:
        board = served_boards.get(db, site.config, card.board_id)
    operates = board is not None and site.readers.writes(visit, board.home_repository)
    return (*ZOOMS, Zoom.DEBUG) if operates else ZOOMS


def _before() -> int | None:
    """Return the event before which the lines are wanted; None for the newest. Raises FilterError."""
    wanted = request.args.get("before")
    if wanted is not None and not EVENT.fullmatch(wanted):
        raise FilterError("before", "“before” must be the number of an event: correct it, or leave it out")
    return None if wanted is None else int(wanted)


def _pull(site: Site, card: CardRow) -> tuple[str, str] | None:
    if card.pull_number is None:
        return None
    state = "draft" if card.pull_draft and card.pull_state == "open" else card.pull_state
    review = "no review yet" if card.verdict == "none" and card.pull_state == "open" else card.verdict
    words = (it.replace("_", " ") for it in (state, review) if it not in ("", "none"))
    facts = ", ".join(map(plain, words))
    where = card.pull_repository or card.repository
    return f"#{card.pull_number} ({facts})", f"{site.config.git_url}/{where}/pull/{card.pull_number}"


def newest_lines(
    db: Connection, card_id: CardId, zoom: Zoom, before: int | None
) -> tuple[Sequence[LineView], bool]:
    """Return the newest lines before an event, the oldest first; and whether older ones are left out."""
    folds = zoom is Zoom.ACTIVITY
    most = MAX_EVENTS if folds else MAX_LINES
    rows = timeline.of_card(db, card_id, zoom, most, before, steps=folds)
    once = rows if zoom is Zoom.DEBUG else tuple(without_echoes(rows))
    lines = list(_fold_lines(once) if folds else map(_line, once))
    shown = _fitting(lines[-MAX_LINES:])
    return shown, len(shown) < len(lines) or len(rows) == most


def _fold_lines(rows: Sequence[TimelineRow]) -> Iterator[LineView]:
    """Return the lines with each fold in the place of its steps."""
    for row, steps in fold_rows(rows):
        shown = [(short_when(step.at), plain(step.text, MAX_STEP)) for step in steps[-MAX_STEPS:]]
        yield _line(row)._replace(steps=shown, omitted=len(steps) - len(shown))


def _line(it: TimelineRow) -> LineView:
    payload = json.dumps(json.loads(it.payload), indent=1)[:MAX_PAYLOAD] if it.payload else ""
    text = it.text.removeprefix(f"run {it.run_id} ")  # a line begins with its run
    return LineView(it.seq, short_when(it.at), it.run_id or "", plain(text, WORDS_CHARS), it.kind, payload)


def _fitting(lines: Sequence[LineView]) -> Sequence[LineView]:
    """Return the last lines, of at most MAX_BYTES of HTML together."""
    room, first = MAX_BYTES, len(lines)
    for line in reversed(lines):
        texts = "".join((line.text, line.payload, *(text for _, text in line.steps)))
        room -= len(escape(texts).encode()) + STEP_BYTES * len(line.steps)
        if room < 0:
            break
        first -= 1
    return lines[first:]
