"""How each kind of artifact is given out: a closed table. What is not in it is a download of bytes."""

from collections.abc import Mapping
from dataclasses import dataclass

from bot.render.markdown.links import slug
from ledger.views.artifacts import ArtifactRow

# Nothing in a file acts on these pages' origin, whatever a browser takes it for.
LOCKED = "sandbox; default-src 'none'; frame-ancestors 'none'"
# A browser shows a picture or a film in a page of its own making, which loads the file once more.
SEEN = f"{LOCKED}; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'"


@dataclass(frozen=True, slots=True)
class Shape:
    """A content type, whether the browser may show it, and how its file name ends."""

    content_type: str
    shown: bool
    suffix: str = ""
    policy: str = LOCKED


def _text(suffix: str = "") -> Shape:
    return Shape("text/plain", shown=True, suffix=suffix)  # in UTF-8, as werkzeug adds


SHAPES: Mapping[str, Shape] = {
    "console": _text(".txt"),
    "file": _text(),
    "log": _text(".txt"),
    "patch": _text(".patch"),
    "report": _text(".md"),
    "screenshot": Shape("image/png", shown=True, suffix=".png", policy=SEEN),
    "video": Shape("video/webm", shown=True, suffix=".webm", policy=SEEN),
    "trace": Shape("application/zip", shown=False, suffix=".zip"),
}
OTHER = Shape("application/octet-stream", shown=False)


def shape_of(row: ArtifactRow) -> Shape:
    """Return how this artifact is given out."""
    return SHAPES.get(row.kind, OTHER)


def file_name(row: ArtifactRow) -> str:
    """Return the name under which a browser keeps it; it ends as its kind does."""
    name, suffix = slug(row.name), shape_of(row).suffix
    return name if name.endswith(suffix) else name + suffix
