"""Markdown of strangers as harmless HTML: no picture, no script, no heading, links that lead outside."""

import re
from functools import lru_cache

import nh3
from cmarkgfm import github_flavored_markdown_to_html
from cmarkgfm.cmark import Options
from markupsafe import Markup

from runner.text.untrusted import without_invisible

MAX_CHARS = 4_000
GROWTH, SPARE = 6, 400  # the HTML of one text: so many bytes a character, and so many more
TAGS = frozenset(
    {"a", "b", "blockquote", "br", "code", "del", "details", "em", "hr", "i", "ins", "kbd", "li", "ol", "p"}
    | {"pre", "s", "strong", "sub", "summary", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul"}
)
_OUTSIDE = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
# As the parser writes them. What people write as HTML themselves is left to the allow-list.
_CHANGES = (
    (re.compile(r"<h[1-6]>"), "<p><strong>"),  # the page has headings of its own
    (re.compile(r"</h[1-6]>"), "</strong></p>"),
    (re.compile(r'<input type="checkbox" checked="" disabled="" />'), "☑"),
    (re.compile(r'<input type="checkbox" disabled="" />'), "☐"),
    (re.compile(r'<img src="([^"]*)" alt="([^"]*)"(?: title="[^"]*")? />'), r'<a href="\1">\2</a>'),
)


@lru_cache(maxsize=256)
def render(text: str, limit: int = MAX_CHARS) -> Markup:
    """Return the HTML of the first `limit` characters; a text that would grow too much stays as written."""
    shown = without_invisible(text.replace("\r\n", "\n"))
    if len(shown) > limit:
        shown = f"{shown[: limit - 1]}…"
    html = github_flavored_markdown_to_html(shown, Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_HARDBREAKS)
    if len(html) <= len(shown) * GROWTH + SPARE:
        for pattern, replacement in _CHANGES:
            html = pattern.sub(replacement, html)
        clean = nh3.clean(
            html,
            tags=set(TAGS),
            attributes={"a": {"href"}, "ol": {"start"}},
            attribute_filter=_keep_outside,
            url_schemes={"http", "https", "mailto"},
            link_rel="nofollow noopener noreferrer",
        )
        if len(clean) <= len(shown) * GROWTH + SPARE:
            for box in "☐☑":  # after the allow-list: a class of the page's own
                clean = clean.replace(f"<li>{box}", f'<li class="task">{box}')
            # An element that no list item, cell or term within can close: a stranger's stays in its text.
            return Markup(f'<article class="md">{clean}</article>')  # noqa: S704 -- it went through nh3
    return Markup('<article class="md"><p class="text">{}</p></article>').format(shown)


def _keep_outside(_tag: str, attribute: str, value: str) -> str | None:
    """Keep the address of a link that leads to another site: no text links to an act of these pages."""
    return value if attribute != "href" or _OUTSIDE.match(value) else None
