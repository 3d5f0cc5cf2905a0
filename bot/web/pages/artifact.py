"""One file that a run left, by its digest: given out as what its kind is, and never as a page."""

import os
import re

from flask import Response, request, send_file
from werkzeug.exceptions import RequestedRangeNotSatisfiable

from bot.runspec import builder
from bot.web.pages import _reading
from bot.web.pages._shapes import file_name, shape_of
from bot.web.pages._site import Site
from bot.web.pages.artifacts import why_gone
from ledger.queue.sign_ins import SignIn
from ledger.views.artifacts import ArtifactRow
from runner.artifacts.store import Store

DIGEST = re.compile(r"[0-9a-f]{64}")
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,200}")
GONE, DAMAGED = "This file is gone", "the file is gone from the store, or its disk has changed it"


def mount(site: Site) -> None:
    """Mount the files."""

    @site.blueprint.get("/artifacts/<run>/<digest>/<name>")
    def artifact(run: str, digest: str, name: str) -> Response:
        visit = site.visit()
        if visit is None:
            return site.stranger()
        if not DIGEST.fullmatch(digest) or not NAME.fullmatch(name):
            return site.nothing(visit)
        left = _reading.found(site, visit, run)
        row = next((one for one in left.files if one.digest == digest), None) if left else None
        if row is None:
            return site.nothing(visit)
        return _given(site, visit, row)


def _given(site: Site, visit: SignIn, row: ArtifactRow) -> Response:
    """Return the file, which is sent piece by piece, or why there is none. The name in the address is for
    people: ours is said.
    """
    file = None if row.dropped else Store(builder.artifacts_of(site.config)).opened(row.digest)
    if file is None:
        because = f"{(why_gone(row) or DAMAGED).capitalize()}."
        return site.page(GONE, because, f"Its digest was {row.digest}.", status=410, visit=visit)
    shape = shape_of(row)
    answer = send_file(
        file,
        mimetype=shape.content_type,
        as_attachment=not shape.shown,
        download_name=file_name(row),
        etag=row.digest,
        conditional=False,
    )
    answer.content_length = os.fstat(file.fileno()).st_size
    if shape.shown:
        answer.headers["Content-Disposition"] = f'inline; filename="{file_name(row)}"'
    answer.headers["Cache-Control"] = "private, no-cache"  # kept, and asked about each time: rights are lost
    answer.headers["Content-Security-Policy"] = shape.policy
    try:  # by hand, for `send_file` does not know how long an open file is
        answer.make_conditional(request.environ, accept_ranges=True, complete_length=answer.content_length)
    except RequestedRangeNotSatisfiable:
        answer.close()
        raise
    return answer
