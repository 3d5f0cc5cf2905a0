"""The files of a run: a page that lists them, and each file by its digest, given out by its kind."""

import logging
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from flask import Response, make_response, render_template, request, send_file
from markupsafe import Markup
from werkzeug.exceptions import RequestedRangeNotSatisfiable

from bot.render.markdown import links
from bot.render.run.artifacts import DROPPED
from bot.runspec.host_paths import open_host_store
from bot.web.site import parameters
from bot.web.site.layout import Site
from bot.web.site.lists import file_size
from bot.web.site.times import stamp
from bot.web.site.visibility import run_visible
from ledger.ids import RunId
from ledger.log import event_store
from ledger.queue.sign_ins import SignIn
from ledger.rows.cards import CardRow
from ledger.views import artifacts
from ledger.views.artifacts import ArtifactRow
from rules.text import plain
from runner.artifacts.backend import StoreError

log = logging.getLogger(__name__)

DIGEST = re.compile(r"[0-9a-f]{64}")
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,200}")
DAMAGED = "the file is missing from the store, or damaged on its disk"
AWAY = "The file store does not answer. Try again in a minute, or ask your operator."
# No file can act on these pages' origin, whatever a browser takes it for.
LOCKED = "sandbox; default-src 'none'; frame-ancestors 'none'"
# A browser shows a picture or a film in a page of its own making, which loads the file once more.
SEEN = f"{LOCKED}; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'"


@dataclass(frozen=True, slots=True)
class Shape:
    """A content type, whether the browser may show it, and the suffix of its files."""

    content_type: str
    shown: bool = True
    suffix: str = ""
    policy: str = LOCKED


# Closed: a kind that is not in it is a download of bytes. Texts are in UTF-8, which werkzeug adds.
SHAPES: Mapping[str, Shape] = {
    "console": Shape("text/plain", suffix=".txt"),
    "file": Shape("text/plain"),
    "log": Shape("text/plain", suffix=".txt"),
    "patch": Shape("text/plain", suffix=".patch"),
    "report": Shape("text/plain", suffix=".md"),
    "screenshot": Shape("image/png", suffix=".png", policy=SEEN),
    "video": Shape("video/webm", suffix=".webm", policy=SEEN),
    "trace": Shape("application/zip", shown=False, suffix=".zip"),
}
ICONS = {
    "console": "terminal",
    "log": "terminal",
    "patch": "file-diff",
    "report": "file-text",
    "screenshot": "eye",
    "video": "play",
}
OTHER = Shape("application/octet-stream", shown=False)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the page; without a path there is nothing to open."""

    name: str
    kind: str
    picture: str
    size: str
    kept: str | Markup
    path: str


def mount(site: Site) -> None:
    """Mount the page and the files."""

    @site.get("/runs/<run>/artifacts")
    def listing(visit: SignIn, run: str) -> Response:
        parameters.check_names()
        card, files = _readable(site, visit, run)
        if card is None:
            return site.nothing(visit)
        shown = render_template(
            "artifacts.html",
            title=f"Files of run {run}",
            run_id=run,
            lines=() if files else ("No files yet. They appear here as the run works.",),
            rows=[_row(file) for file in files],
            card=card,
            card_title=plain(card.title),
            issue=f"{site.config.git_url}/{card.repository}/issues/{card.number}",
            visit=visit,
        )
        return make_response(shown)

    @site.get("/artifacts/<run>/<digest>/<name>")
    def artifact(visit: SignIn, run: str, digest: str, name: str) -> Response:
        if not DIGEST.fullmatch(digest) or not NAME.fullmatch(name):
            return site.nothing(visit)
        _, files = _readable(site, visit, run)
        row = next((file for file in files if file.digest == digest), None)
        return site.nothing(visit) if row is None else _file_answer(site, visit, row)


def _readable(site: Site, visit: SignIn, run: str) -> tuple[CardRow | None, tuple[ArtifactRow, ...]]:
    """Return the run's card and files, as `run_visible` lets the visitor see it; else None and nothing.

    Briefing and transcripts are the operator's alone: of other cards, and comments that may be deleted. So
    are files set aside, which no guard has seen.
    """
    visible = run_visible(site, visit, run)
    if visible is None:
        return None, ()
    with event_store.reading(site.engine) as db:
        files = tuple(file for file in artifacts.of_run(db, RunId(run)) if file.is_for_readers)
    return visible[1], files


def _file_answer(site: Site, visit: SignIn, row: ArtifactRow) -> Response:
    """Return the file, sent piece by piece, or why it is gone. The name in the address is for people only."""
    try:
        file = None if row.dropped else open_host_store(site.config, site.engine).opened(row.digest)
    except StoreError as error:
        log.warning("file not shown digest=%s reason=%s", row.digest, error)
        return site.page("This file cannot be read right now", AWAY, status=503, visit=visit)
    if file is None:
        because = f"{(_why_gone(row) or DAMAGED).capitalize()}."
        digest = f"Its digest was {row.digest}."
        return site.page("This file is gone", because, digest, status=410, visit=visit)
    shape = SHAPES.get(row.kind, OTHER)
    answer = send_file(
        file,
        mimetype=shape.content_type,
        as_attachment=not shape.shown,
        download_name=_file_name(row),
        etag=row.digest,
        conditional=False,
    )
    answer.content_length = os.fstat(file.fileno()).st_size
    if shape.shown:
        answer.headers["Content-Disposition"] = f'inline; filename="{_file_name(row)}"'
    answer.headers["Cache-Control"] = "private, no-cache"  # revalidated each time: rights can be lost
    answer.headers["Content-Security-Policy"] = shape.policy
    try:  # by hand, for `send_file` does not know the length of an open file
        answer.make_conditional(request.environ, accept_ranges=True, complete_length=answer.content_length)
    except RequestedRangeNotSatisfiable:
        answer.close()
        raise
    return answer


def _file_name(row: ArtifactRow) -> str:
    """Return the name of the download; it ends with its kind's suffix."""
    name, suffix = links.slug(row.name), SHAPES.get(row.kind, OTHER).suffix
    return name if name.endswith(suffix) else name + suffix


def _why_gone(row: ArtifactRow) -> str:
    """Return why a file was dropped; empty while it is there."""
    return DROPPED.get(row.dropped, row.dropped)


def _row(file: ArtifactRow) -> Row:
    path = "" if file.dropped else links.of_file("", RunId(file.run_id), file.digest, _file_name(file))
    return Row(
        name=plain(file.name),
        kind=plain(file.kind),
        picture=ICONS.get(file.kind, "paperclip"),
        size=file_size(file.size_bytes),
        kept=_why_gone(file) or stamp(file.at),
        path=path,
    )
