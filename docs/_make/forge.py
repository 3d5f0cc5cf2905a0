"""The table of what the forge does otherwise than GitHub, from the forge's own declarations."""

from docs._make import wording
from forge.differences import DIFFERENCES


def differences() -> str:
    """Return the table: what GitHub does, and what the forge does."""
    rows = [
        (wording.cell(row.about), wording.cell(row.github), wording.cell(row.forge)) for row in DIFFERENCES
    ]
    return wording.table(("about", "GitHub", "the forge"), rows)
