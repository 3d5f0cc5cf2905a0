"""The page of a run: the files that it left, how large they are, and which are gone and why."""

from dataclasses import dataclass

from flask import Response, make_response, render_template

from bot.render.markdown import links
from bot.web.pages import _reading
from bot.web.pages._shapes import file_name
from bot.web.pages._site import Site, when
from ledger.ids import RunId
from ledger.views.artifacts import ArtifactRow

GONE = {
    "age": "dropped: it was too old",
    "space": "dropped: there was no more room, and it was among the oldest",
    "share": "dropped: the run had used up its share of the store",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the page; without a path there is nothing to open."""

    name: str
    kind: str
    size: str
    kept: str
    path: str


def mount(site: Site) -> None:
    """Mount the page."""

    @site.blueprint.get("/runs/<run>/artifacts")
    def artifacts(run: str) -> Response:
        visit = site.visit()
        if visit is None:
            return site.stranger()
        left = _reading.found(site, visit, run)
        if left is None:
            return site.nothing(visit)
        shown = render_template(
            "run.html",
            title=f"What {run} left",
            lines=() if left.files else ("Nothing yet: files appear as the run works.",),
            rows=[_row(one) for one in left.files],
            card=left.card,
            issue=f"{site.config.git_url}/{left.card.repository}/issues/{left.card.number}",
            visit=visit,
        )
        return make_response(shown)


def why_gone(row: ArtifactRow) -> str:
    """Return why a file is not there any more; empty while it is."""
    return GONE.get(row.dropped, f"dropped: {row.dropped}") if row.dropped else ""


def _row(one: ArtifactRow) -> Row:
    path = "" if one.dropped else links.of_file("", RunId(one.run_id), one.digest, file_name(one))
    return Row(one.name, one.kind, _size(one.size_bytes), why_gone(one) or when(one.at), path)


def _size(size_bytes: int) -> str:
    if size_bytes < 1000:
        return f"{size_bytes} B"
    return f"{size_bytes / 1e3:.0f} kB" if size_bytes < 1e6 else f"{size_bytes / 1e6:.1f} MB"
