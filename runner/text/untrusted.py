"""Words of others between tags that they cannot forge, for whoever reads them as a model. Pure."""

import re

from runner.text.invisible import without_invisible

# Whatever looks like such a tag in the words themselves: a reader that is no parser could take it for one.
_LIKE = re.compile(r"untrusted(?=-)", re.IGNORECASE)


def delimit_untrusted(text: str, tag: str) -> str:
    """Return `text` between `tag`s; nothing in it looks like one of them."""
    kept = _LIKE.sub(lambda found: found[0][:2] + "·" + found[0][2:], text)
    return f"<{tag}>\n{kept}\n</{tag}>"


def flat(text: str, most: int = 300) -> str:
    """Return a name or a path of others as one short line: no heading, list or tag begins in it."""
    return " ".join(without_invisible(text[: 4 * most]).replace("<", "‹").split())[:most]
