"""The files that a run has changed, with their diff, from the patch in the store."""

import logging
import os
from urllib.parse import quote

from flask import Response, make_response, render_template

from bot.render.markdown import links
from bot.runspec import builder
from bot.runspec.store_mark import mark_store
from bot.state import patches
from bot.state.patches import KeptPatch
from bot.web.pages.artifacts import AWAY, DAMAGED
from bot.web.site import parameters
from bot.web.site.diff import DiffView, parse_patch
from bot.web.site.layout import Site
from bot.web.site.times import when
from bot.web.site.visibility import run_visible
from ledger.log import event_store
from ledger.queue.sign_ins import SignIn
from ledger.rows.cards import CardRow
from ledger.rows.runs import RunRow
from rules.text import count
from runner.artifacts.backend import StoreError
from runner.artifacts.store import store_of

log = logging.getLogger(__name__)

MAX_BYTES = 2_000_000  # of a patch that are read
NOTHING = "No changes yet, or none saved yet: work is saved every few minutes."
UNFINISHED = (
    "Only people with write access can see unfinished work, since no guard has checked it yet. Once "
    "published, anyone who can read the repository sees it here."
)


def mount(site: Site) -> None:
    """Mount the page."""

    @site.get("/runs/<run>/changes")
    def changes(visit: SignIn, run: str) -> Response:
        parameters.check_names()
        visible = run_visible(site, visit, run)
        if visible is None:
            return site.nothing(visit)
        with event_store.reading(site.engine) as db:
            kept = patches.newest(db, visible[0])
        if kept is not None and not kept.checked and not site.readers.writes(visit, visible[0].repository):
            values: dict[str, object] = {"lines": (UNFINISHED,)}
        else:
            values = _values(site, *visible, kept)
        shown = render_template(
            "changes.html", title=f"Changes of run {run}", run_id=run, visit=visit, **values
        )
        return make_response(shown)


def _values(site: Site, run: RunRow, card: CardRow, kept: KeptPatch | None) -> dict[str, object]:
    if kept is None:
        return {"lines": (NOTHING,)}
    try:
        places = mark_store(builder.artifact_places(site.config), site.engine)
        file = store_of(places).opened(kept.digest)
    except StoreError as error:
        log.warning("patch not shown digest=%s reason=%s", kept.digest, error)
        return {"lines": (AWAY,)}
    if file is None:
        return {"lines": (f"{DAMAGED.capitalize()}.",)}
    with file:
        raw = file.read(MAX_BYTES)
        size_bytes = os.fstat(file.fileno()).st_size
    change = parse_patch(raw.decode("utf-8", "replace"))
    return {
        "lines": (_summary(change, kept),),
        "files": change.files,
        "omitted": change.omitted,
        "unread": f"{(size_bytes - len(raw)) / 1e6:.1f} MB" if size_bytes > len(raw) else "",
        "places": _places(site, run, card, kept),
    }


def _summary(change: DiffView, kept: KeptPatch) -> str:
    files = count(len(change.files) + change.omitted, "file")
    added, removed = (
        sum(counts) for counts in ((it.added for it in change.files), (it.removed for it in change.files))
    )
    sizes = f"{files}, +{added:,} −{removed:,}"
    if kept.checked:
        return f"{sizes}, as published on {when(kept.at)}."
    return f"{sizes}, as saved on {when(kept.at)}. Unfinished: no guard has checked it yet."


def _places(site: Site, run: RunRow, card: CardRow, kept: KeptPatch) -> list[tuple[str, str]]:
    """Return where all of it can be read, as pairs of an address and a name."""
    places = []
    if kept.checked:
        name = f"{run.branch}.patch"
        places.append((links.of_file("", run.run_id, kept.digest, name), "the whole patch"))
    if card.pull_number is not None:
        where = quote(card.pull_repository or card.repository or "")
        address = f"{site.config.git_url}/{where}/pull/{card.pull_number}/files"
        places.append((address, f"the files of pull request #{card.pull_number}"))
    return places
