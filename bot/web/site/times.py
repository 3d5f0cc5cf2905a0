"""Times as pages show them."""

from datetime import datetime

from markupsafe import Markup


def when(moment: datetime) -> str:
    """Return a time as pages show it."""
    return f"{moment:%d %b %Y, %H:%M} UTC"


def short_when(moment: datetime) -> str:
    """Return a time as lines show it, under a heading that names UTC."""
    return f"{moment:%d %b, %H:%M:%S}"


def stamp(moment: datetime) -> Markup:
    """Return a time as an element; a script shows it in its reader's own zone."""
    return Markup('<time datetime="{}">{}</time>').format(moment.isoformat(), when(moment))
