"""The files that a run has changed, with their diff, from the patch in the store; remarks on its lines."""

import logging
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from flask import Response, make_response, render_template

from bot.render.markdown import links
from bot.runspec.host_paths import open_host_store
from bot.state import patches
from bot.state.patches import KeptPatch
from bot.web.acting import offered
from bot.web.acting.form import ActForm, UnfitFormError
from bot.web.acting.offered import FormView
from bot.web.live.response import PageUpdate, StreamResponse, last_seen_event, message
from bot.web.live.run_parts import address_of_pull
from bot.web.pages.artifacts import AWAY, DAMAGED
from bot.web.site import parameters
from bot.web.site.diff import DiffView, parse_patch
from bot.web.site.layout import Site
from bot.web.site.times import stamp
from bot.web.site.visibility import run_visible
from ledger.ids import RunId
from ledger.log import event_store
from ledger.queries import run_lines
from ledger.queue.sign_ins import SignIn
from ledger.rows.cards import CardRow
from ledger.rows.runs import RunRow
from ledger.states import RUN_HELD
from ledger.views import runs
from rules.chatops.parser import MAX_ARGUMENT
from rules.text import count
from runner.artifacts.backend import StoreError

log = logging.getLogger(__name__)

MAX_BYTES = 2_000_000  # of a patch that are read
MAX_FORMS = 10  # files of a page that have a form of their own; a script moves one to any line
PAUSE_S = 3.0  # between two pieces of news: the page is loaded anew for each
LAYOUTS = {"unified": "Unified", "split": "Side by side"}
PLACE = ("path", "lines")  # the fields of a remark besides its words
LINES = re.compile(r"(?P<old>-?)(?P<first>[0-9]{1,9})(?:-(?P<last>[0-9]{1,9}))?", re.ASCII)
NOTHING = "No changes yet, or none saved yet: work is saved every few minutes."
UNFINISHED = (
    "Only people with write access can see unfinished work, since no guard has checked it yet. Once "
    "published, anyone who can read the repository sees it here."
)
NOT_SHOWN = "That line is no longer in the diff, so nothing was sent: go back, copy your text, and reload"
NO_AGENT = "No agent is working in this run, so no one would read this"


@dataclass(frozen=True, slots=True)
class ShownChange:
    """A run's change as its reader may see it; without a `diff`, `why` says why there is none."""

    diff: DiffView | None = None
    kept: KeptPatch | None = None
    unread_bytes: int = 0
    why: str = ""


def mount(site: Site) -> None:
    """Mount the page, and the stream that says when there is another change to show."""

    @site.get("/runs/<run>/changes")
    def changes(visit: SignIn, run: str) -> Response:
        parameters.check_names("layout")
        layout = parameters.choice("layout", LAYOUTS, "unified")
        visible = run_visible(site, visit, run)
        if visible is None:
            return site.nothing(visit)
        row, card = visible
        shown = read_change(site, visit, row)
        values = {"title": f"Changes of run {run}", "run_id": run, "visit": visit, "layout": layout}
        remark = _remark_form(site, visit, row, card) if shown.diff and shown.diff.files else None
        page = render_template(
            "changes.html",
            layouts=LAYOUTS,
            remark=remark,
            max_forms=MAX_FORMS,
            live="" if row.ended_at else f"/live/runs/{run}/changes",
            after=shown.kept.seq if shown.kept else 0,
            **values,
            **_values(site, row, card, shown),
        )
        return make_response(page)

    @site.get("/live/runs/<run>/changes")
    def change_stream(visit: SignIn, run: str) -> Response:
        visible = run_visible(site, visit, run)
        if visible is None:
            return site.nothing(visit)
        return StreamResponse(
            run_lines.stream_of(visible[0].run_id),
            visit.user_id,
            last_seen_event(),
            partial(_news, site, visible[0].run_id),
            pause_s=PAUSE_S,
            reloads=True,
            form="changes",
        )


def read_change(site: Site, visit: SignIn, run: RunRow) -> ShownChange:
    """Return the run's change, as far as the visitor may see it. Raises BusyError."""
    with event_store.reading(site.engine) as db:
        kept = patches.newest(db, run)
    if kept is None:
        return ShownChange(why=NOTHING)
    if not kept.checked and not site.readers.writes(visit, run.repository):
        return ShownChange(why=UNFINISHED)
    try:
        file = open_host_store(site.config, site.engine).opened(kept.digest)
    except StoreError as error:
        log.warning("patch not shown digest=%s reason=%s", kept.digest, error)
        return ShownChange(why=AWAY)
    if file is None:
        return ShownChange(why=f"{DAMAGED.capitalize()}.")
    with file:
        raw = file.read(MAX_BYTES)
        size_bytes = os.fstat(file.fileno()).st_size
    return ShownChange(parse_patch(raw.decode("utf-8", "replace")), kept, size_bytes - len(raw))


def words_at_place(site: Site, visit: SignIn, run: str, sent: ActForm) -> ActForm:
    """Return the form of a remark as one with words to the agent, which begin with path and line.

    Raises BusyError, and UnfitFormError unless the diff that the visitor may see has these lines.
    """
    visible, (path, lines) = run_visible(site, visit, run), sent.place
    if visible is None or sent.name != f"redirect:{run}" or sent.card_id != visible[0].card_id:
        raise UnfitFormError("This form belongs to another run: reload the page and try again", 403)
    if visible[0].state not in RUN_HELD:
        raise UnfitFormError(NO_AGENT, 409)
    named, diff = LINES.fullmatch(lines.replace(" ", "")), read_change(site, visit, visible[0]).diff
    files = [file for file in diff.files if file.name == path] if diff else []
    if named is None or not files:
        raise UnfitFormError(NOT_SHOWN)
    first, last = int(named["first"]), int(named["last"] or named["first"])
    if not files[0].has_lines(first, last, old=bool(named["old"])):
        raise UnfitFormError(NOT_SHOWN)
    where = f"{path}:{first}" + (f"-{last}" if last != first else "") + (" (removed)" if named["old"] else "")
    words = sent.text.strip()
    text = f"{where}: {words}"
    if not words or len(text) > MAX_ARGUMENT:
        raise UnfitFormError(f"A remark has between 1 and {MAX_ARGUMENT - len(where) - 2:,} characters")
    return replace(sent, text=text)


def _news(site: Site, run_id: RunId, after: int) -> PageUpdate:
    """Return that there is another change than the one that the page shows."""
    with event_store.reading(site.engine) as db:
        run = runs.get(db, run_id)
        kept = patches.newest(db, run) if run is not None else None
    last = max(after, kept.seq) if kept is not None else after
    news = message("news", "news", last) if last > after else b""
    return PageUpdate(news, b"", last, ended=run is not None and run.ended_at is not None)


def _remark_form(site: Site, visit: SignIn, run: RunRow, card: CardRow) -> FormView | None:
    """Return the form for words to the agent at work; None where the visitor may not send it."""
    if run.state not in RUN_HELD or card.run_id != run.run_id:
        return None
    forms = offered.for_card(site, visit, card.card_id)
    return next((form for form in forms if form.offer.command == "redirect"), None)


def _values(site: Site, run: RunRow, card: CardRow, shown: ShownChange) -> Mapping[str, object]:
    if shown.diff is None or shown.kept is None:
        return {"why": shown.why}
    files = shown.diff.files
    added, removed = (sum(counts) for counts in ((it.added for it in files), (it.removed for it in files)))
    return {
        "sizes": f"{count(len(files) + shown.diff.omitted, 'file')}, +{added:,} −{removed:,}",
        "kept": shown.kept,
        "at": stamp(shown.kept.at),
        "files": files,
        "omitted": shown.diff.omitted,
        "unread": f"{shown.unread_bytes / 1e6:.1f} MB" if shown.unread_bytes > 0 else "",
        "places": _places(site, run, card, shown.kept),
    }


def _places(site: Site, run: RunRow, card: CardRow, kept: KeptPatch) -> list[tuple[str, str]]:
    """Return where all of it can be read, as pairs of an address and a name."""
    places = []
    if kept.checked:
        name = f"{run.branch}.patch"
        places.append((links.of_file("", run.run_id, kept.digest, name), "the whole patch"))
    if pull := address_of_pull(site.config.git_url, card):
        places.append((f"{pull}/files", f"the files of pull request #{card.pull_number}"))
    return places
