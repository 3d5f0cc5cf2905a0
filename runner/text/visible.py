"""Visible text of Markdown: rendered as GitHub does, with only the visible part kept. Pure.

GitHub's own parser (cmark-gfm) reads the Markdown, its HTML is reduced to the tags that GitHub allows, and
the text of that page is written as plain Markdown. Hidden text cannot pass.
"""

import html
import re
from dataclasses import dataclass

import nh3
from cmarkgfm import github_flavored_markdown_to_html
from cmarkgfm.cmark import Options

from runner.text.page_text import PageText
from runner.text.untrusted import without_invisible

MAX_CHARACTERS = 65_536  # GitHub's own limit for a description or a comment
_MAX_DEPTH = 100  # of quotes and lists in each other: nobody writes more, and parsing gets slow
_OPTIONS = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES | Options.CMARK_OPT_GITHUB_PRE_LANG
# github.com/github/markup#github-markup, and docs.github.com/rest/markdown for what becomes of it
_SHOWN = """
a abbr b bdo blockquote br caption cite code dd del details dfn div dl dt em figcaption figure h1 h2 h3 h4 h5
h6 hr i img input ins kbd li mark ol p pre q rp rt ruby s samp section small span strike strong sub summary
sup table tbody td tfoot th thead time tr tt ul var
"""
_TAGS = set(_SHOWN.split())
_UNSURE = "audio canvas datalist math noscript object script style svg template video"
_EMPTIED = set(_UNSURE.split())  # their contents may or may not be visible, and are left out
_ATTRIBUTES = {
    "a": {"href"},
    "bdo": {"dir"},
    "input": {"type", "checked"},
    "ol": {"start"},
    "pre": {"lang"},
    "code": {"class"},
}
_CONTROLS = re.compile(r"[\0-\x08\x0b\x0c\x0e-\x1f]")
_OPENING = re.compile(r"<(?!!--)")
_TAG = "\x02"  # stands for a `<` that is no tag, until the page is read
_SPELT_TAG = re.compile(r"&(?=#(?:0*2|x0*2);)", re.IGNORECASE)
# A parser of HTML opens each of these again in every block that follows, until it is closed.
# html.spec.whatwg.org/multipage/parsing.html#the-list-of-active-formatting-elements
_REOPENED = re.compile(
    r"<(b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)(?:(?=[\s/])|>)", re.IGNORECASE
)
_MAX_REOPENED = 150_000
# An opening counts even where it never ends: a `<` in one of its attributes hides nothing.
_NESTED = re.compile(r"<(?:/(?:blockquote|ul|ol)\b[^<>]*+(>)|(?:blockquote|ul|ol)\b)")
_COMMENT = re.compile(r"<!--[\s\S]*?(?:-->|\Z)")
# Markup of a page: tags, attributes of marked contents, and attributes of blocks.
_MARKUP = re.compile(
    rf"</?(?:{'|'.join(_TAGS)})\b|\b(?:src|alt|width|height)=\"[^\"]*\""
    r"|\b(?:align|class|id|lang|open)=\"?[\w-]{0,40}\"?|<details open",
    re.IGNORECASE,
)
# Prose in which no character means anything to Markdown or HTML, and its plain lists: all of it is seen.
_LINE = r"[A-Za-z][A-Za-z0-9 ,.;:?!'\"()%/+=#-]*+"
_LIST = rf"- {_LINE}(?:\n(?:- )?{_LINE})*+"
# After a list comes no other one: that would be its own next item, and set apart.
_PROSE = re.compile(rf"(?:{_LIST}\n*+)?+(?:{_LINE}(?:\n{_LINE})*+(?:\n++{_LIST})?+\n*+)*+")
_SPACES = re.compile(r"(?:\n| (?=[ \n]))[ \n]*+")
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Cleaned:
    """Visible text; `hidden` names hidden contents. Links and pictures are marked in place."""

    text: str
    hidden: tuple[str, ...]

    def note(self) -> str:
        """Return a sentence about the hidden contents, empty without any."""
        return (
            f"(Left out here, as GitHub does not show it: {', '.join(self.hidden)}.)" if self.hidden else ""
        )


def clean_markup(text: str, *, tags: bool = True, paths: bool = False) -> Cleaned:
    """Return the visible text of `text` on a page of GitHub.

    Without `tags` a `<` is an ordinary character, except in comments: for text of agents, which Cardinal
    posts so. `paths` keeps links to files: for files of a repository, reviewed as source.
    """
    if len(text) <= MAX_CHARACTERS and _PROSE.fullmatch(text) and not _has_address(text):
        return Cleaned(_with_lists(_SPACES.sub(_space, text).rstrip()), ())
    source = _CONTROLS.sub("", text[:MAX_CHARACTERS]).encode("utf-8", "replace").decode()
    source = source if tags else _OPENING.sub(_TAG, _SPELT_TAG.sub("&amp;", source))
    page = _render(source)
    reader = PageText(paths=paths)
    reader.feed(nh3.clean(page, _TAGS, _EMPTIED, attributes=_ATTRIBUTES, link_rel=None))
    seen = reader.text()
    kept = without_invisible(seen if tags else seen.replace(_TAG, "<"))
    hidden = _count_hidden(text, source, page, seen, " ".join(reader.addresses))
    return Cleaned(kept, hidden)


def _has_address(text: str) -> bool:
    return "://" in text or "www." in text.lower()


def _space(spaces: re.Match[str]) -> str:
    """Return the spaces that a page shows: a blank line between paragraphs, and single ones else."""
    return "\n" * min(2, spaces[0].count("\n")) or " "


def _with_lists(prose: str) -> str:
    """Return prose with its lists as a page shows them: set apart, their lines below each other."""
    if "- " not in prose:
        return prose
    lines: list[str] = []
    in_list = False
    for line in prose.split("\n"):
        begins = line.startswith("- ")
        lines += [""] if begins and not in_list and lines and lines[-1] else []
        in_list = begins or (in_list and line != "")
        lines.append(line if begins or not in_list else f"  {line}")
    return "\n".join(lines)


def clean_line(text: str) -> Cleaned:
    """Return a title without invisible characters; GitHub shows the rest unchanged."""
    kept = without_invisible(text)
    return Cleaned(kept, _count_kinds((len(text) - len(kept), "invisible character", "")))


def strip_hidden(text: str, *, tags: bool = True, paths: bool = False) -> str:
    """Return the visible text of `text`, with a sentence about hidden contents."""
    cleaned = clean_markup(text, tags=tags, paths=paths)
    return "\n".join(part for part in (cleaned.text, cleaned.note()) if part)


def _render(source: str) -> str:
    """Return the HTML of GitHub's parser; empty for a page too complex to read or parse."""
    page: str = github_flavored_markdown_to_html(source, options=_OPTIONS)
    opened = [match[0].lower() for match in _REOPENED.finditer(source)]
    plain = {tag for tag in opened if tag.endswith(">")}  # of which three at most are opened again
    given = sum(not tag.endswith(">") for tag in opened)
    if (3 * len(plain) + given) * page.count("<") > _MAX_REOPENED:
        return ""
    depth = 0
    for match in _NESTED.finditer(page):
        depth += -1 if match[1] else 1
        if depth > _MAX_DEPTH:
            return ""
    return page


def _count_hidden(text: str, source: str, page: str, seen: str, addresses: str) -> tuple[str, ...]:
    comments = _COMMENT.findall(page)
    hidden, written = 0, html.unescape(source)
    if written.split() != seen.split():  # else all of it is seen
        behind = _words(html.unescape(" ".join((addresses, *_MARKUP.findall(page), *comments))))
        hidden = len(_words(written) - _words(seen) - behind)
    unseen = len(seen) - len(without_invisible(seen))
    rest = len(text) - MAX_CHARACTERS
    return _count_kinds(
        (len(comments), "HTML comment", ""),
        (unseen, "invisible character", ""),
        (hidden, "hidden word", ""),
        (rest, "character", f" over {MAX_CHARACTERS:,}"),
    )


def _count_kinds(*kinds: tuple[int, str, str]) -> tuple[str, ...]:
    return tuple(f"{n:,} {what}{'' if n == 1 else 's'}{more}" for n, what, more in kinds if n > 0)


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(without_invisible(text)) if not word.isdigit()}
