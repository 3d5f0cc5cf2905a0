"""Text from people and agents, made harmless before it stands in a comment of Cardinal's own."""

import re
from collections.abc import Iterable
from enum import StrEnum

from cmarkgfm import github_flavored_markdown_to_html

# GitHub refuses comments over 65,536 characters ("body is too long (maximum is 65536 characters)").
COMMENT_LIMIT = 60_000
# Splits what GitHub would act on (a mention, a tag, a reference) and shows as nothing, in prose as in code.
APART = "\u200b"
# C0 and C1 controls but tab and newline; zero-width, bidirectional and tag characters; the byte-order mark.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_MENTION = re.compile(r"@(?=[A-Za-z0-9])")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_IMAGE = re.compile(r"!(?=\[)")
_TASK = re.compile(
    r"^([ \t]*(?:>[ \t]*)*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+(?:>[ \t]*)*)+)\[([ xX])\](?=\s)", re.MULTILINE
)
_ENTITY = re.compile(r"&(?=#?[A-Za-z0-9]{1,32};)")  # GitHub looks for mentions after `&#64;` became `@`
# docs.github.com/issues/tracking-your-work-with-issues/using-issues/linking-a-pull-request-to-an-issue
_CLOSING = re.compile(
    r"\b((?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\b:?\s+)(?=\S{0,200}(?:#|GH-|/issues/|/pull/)\d)",
    re.IGNORECASE,
)
# docs.github.com/get-started/writing-on-github#alerts: a title, in Cardinal's words alone
_ALERT = re.compile(r"\[(?=\\?![A-Za-z]{1,20}\])")
_HEADING = re.compile(r"(?<!#)#+(?=\s|$)", re.MULTILINE)
_UNDERLINE = re.compile(r"^([ \t>]*[-=])(?=[-=]*[ \t]*$)", re.MULTILINE)
_LINK = re.compile(r"\](?=[(:\[])")
# Source: github.github.com/gfm/#autolinks-extension- and GitHub's own references.
_BARE_LINK = re.compile(r"(www(?=\.)|:(?=//)|#(?=\d)|GH-(?=\d))", re.IGNORECASE)
_SPACE = re.compile(r"\s")
_REFERENCE = re.compile(r"(#|GH-|://)(?=\S)")
# What would open a heading, quote, list, rule, table or fence at the start of a line.
_BLOCK_START = re.compile(r"^(?:[#>|=]|[-+*_](?=\s|[-*_]|$)|`{3}|~{3}|\d{1,9}[.)](?=\s|$))")

_FENCE, MAX_FENCES = re.compile(r"^.*?(`{3,}|~{3,})", re.MULTILINE), 5


class Alert(StrEnum):
    """An alert of GitHub's: a note, what waits for a person, a failure."""

    NOTE = "NOTE"
    IMPORTANT = "IMPORTANT"
    CAUTION = "CAUTION"


def escape_mentions(text: str) -> str:
    """Return `text` without mentions, tags, closing words, images, alerts and boxes to tick; it reads the
    same.
    """
    text = _LONE_SURROGATE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
    text = _UNSEEN.sub("", text)
    text = _ENTITY.sub("&" + APART, text)
    text = _MENTION.sub("@" + APART, text)
    text = _TAG.sub("<" + APART, text)
    text = _IMAGE.sub("!" + APART, text)
    text = _ALERT.sub("[" + APART, text)
    text = _TASK.sub(lambda match: match[1] + ("☐" if match[2] == " " else "☑"), text)
    return _keep_open(text)


def make_inert(text: str) -> str:
    """Return what `quote` or `line` made without headings, links and references; it reads the same."""
    text = _HEADING.sub(lambda found: f"#{APART}" * len(found[0]), text)
    text = _UNDERLINE.sub(r"\1" + APART, text)
    text = _LINK.sub("]" + APART, text)
    return _BARE_LINK.sub(r"\1" + APART, text)


def _keep_open(text: str) -> str:
    """Return `text` in which no "fixes #12" closes an issue when it is merged with a pull request."""
    pieces, position = [], 0
    for match in _CLOSING.finditer(text):
        space = _SPACE.search(text, match.end())
        end = space.start() if space else len(text)
        pieces += [text[position : match.end()], _REFERENCE.sub(r"\1" + APART, text[match.end() : end])]
        position = end
    return "".join([*pieces, text[position:]])


def close_code(text: str) -> str:
    """Return `text` with its open code block closed, so that a paragraph behind it is one; else quoted."""
    for end in ("", *reversed(_FENCE.findall(text)[-MAX_FENCES:])):
        whole = f"{text}\n{end}" if end else text
        if github_flavored_markdown_to_html(f"{whole}\n\n{APART}").endswith(f"<p>{APART}</p>\n"):
            return whole
    return quote(text)


def cut(text: str, limit: int, whole: str = "") -> str:
    """Return at most `limit` characters of `text` and an ellipsis, cut between words; `whole` says where it
    stands in full.
    """
    if len(text) <= limit:
        return text
    begun, last = text[:limit], text[limit]
    words = begun if last.isspace() else begun[: max(begun.rfind(" "), begun.rfind("\n"), 0)]
    kept = words if len(words) > limit // 2 else begun  # one word alone may be longer than all of it
    return f"{kept.rstrip()}…{f' ({whole})' if whole else ''}"


def quote(text: str, limit: int = 8_000) -> str:
    """Return `text` as a block quote: nothing inside can reach out of it; empty for blank text."""
    lines = escape_mentions(cut(text.strip(), limit)).strip().split("\n")
    return "\n".join(f"> {line}".rstrip() for line in lines) if lines != [""] else ""


def alert(kind: Alert, text: str, limit: int = 8_000) -> str:
    """Return `text`, quoted, under the title that GitHub gives an alert; empty for blank text.

    The empty line keeps its first line from making the title a heading or a table.
    """
    quoted = quote(text, limit)
    return f"> [!{kind}]\n>\n{quoted}" if quoted else ""


def line(text: str, limit: int = 300) -> str:
    """Return `text` as one line that starts no block; for list items, headings and table cells."""
    plain = escape_mentions(cut(" ".join(text.split()), limit)).strip().replace("|", "\\|")
    if _BLOCK_START.match(plain) and not plain[0].isdigit():
        return f"\\{plain}"
    return re.sub(r"^(\d{1,9})([.)])(?=\s|$)", r"\1\\\2", plain)  # `1\. text` is no list


def code(text: str, limit: int = 200) -> str:
    """Return `text` as a code span on one line."""
    span = _UNSEEN.sub("", _LONE_SURROGATE.sub("\ufffd", " ".join(cut(text, limit).split()))).replace(
        "|", "¦"
    )
    ticks = "`" * (_longest_ticks(span) + 1)
    space = " " if span.startswith("`") or span.endswith("`") else ""
    return f"{ticks}{space}{span or '(empty)'}{space}{ticks}"


def block(text: str, limit: int = 4_000) -> str:
    """Return the end of `text` as a code block; the beginning is cut, as the end of an output tells most."""
    text = _LONE_SURROGATE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
    text = _UNSEEN.sub("", text).strip("\n")
    note = f"… (cut: {len(text) - limit:,} characters before this)\n" if len(text) > limit else ""
    fence = "`" * max(3, _longest_ticks(text) + 1)
    return f"{fence}text\n{note}{text[-limit:]}\n{fence}"


def _longest_ticks(text: str) -> int:
    return max((len(ticks) for ticks in re.findall("`+", text)), default=0)


def fold(summary: str, body: str) -> str:
    """Return `body` folded under `summary`, which must be our own words."""
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"


def fit_comment(needed: Iterable[str], optional: Iterable[str] = (), limit: int = COMMENT_LIMIT) -> str:
    """Return the parts as paragraphs within `limit` characters: optional ones that do not fit go."""
    text = cut("\n\n".join(part for part in needed if part), limit - 200)
    left_out = 0
    for part in optional:
        if part and len(text) + len(part) + 2 <= limit - 200:
            text = f"{text}\n\n{part}"
        elif part:
            left_out += 1
    return f"{text}\n\n_{left_out} part(s) left out: too long for a comment._" if left_out else text
