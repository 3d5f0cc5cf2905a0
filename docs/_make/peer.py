"""The table of what a GitHub that others wrote does otherwise, from the tests that hold it."""

from docs._make import wording
from tests.peer.divergences import ROWS


def divergences() -> str:
    """Return the table: what GitHub documents and the forge does, and what the peer does."""
    rows = [
        (wording.cell(row.what), _said(row.github), _said(row.peer), wording.cell(row.source)) for row in ROWS
    ]
    return wording.table(("what", "GitHub, and the forge", "`emulate`", "said by"), rows)


def _said(found: object) -> str:
    match found:
        case True:
            return "yes"
        case False:
            return "no"
        case None | []:
            return "nothing"
        case list():
            return ", ".join(f"`{one}`" for one in found)
        case _:
            return f"`{found}`"
