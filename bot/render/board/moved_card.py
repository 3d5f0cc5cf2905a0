"""Texts of a card carried over from a board of `cardinal try`; they reach nobody and link nowhere."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Protocol

from bot.render.markdown.escape import COMMENT_LIMIT, cut, escape_mentions, line

TITLE_LIMIT = 250
_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)|</?(?:details|summary)>", re.DOTALL)
_APART = "\u200b"
# A mention, as an entity, too, and a reference: the numbers are those of another repository.
_REACHES = re.compile(r"@(?=[A-Za-z0-9])|&(?=#?\w{1,32};)|#(?=\d)|\bGH-(?=\d)", re.IGNORECASE)


class Said(Protocol):
    """A comment by somebody."""

    @property
    def author(self) -> str: ...
    @property
    def at(self) -> datetime: ...
    @property
    def text(self) -> str: ...


def title(text: str) -> str:
    """Return the issue's title."""
    return cut(_still(" ".join(text.split())), TITLE_LIMIT)


def body(text: str) -> str:
    """Return the issue's text: the same words. The whole of one that does not fit is in the history."""
    return cut(_clean(text), COMMENT_LIMIT, "the full text is in the first comment")


def history(name: str, author: str, at: datetime, whole: str, remarks: Sequence[Said]) -> tuple[str, ...]:
    """Return the comments that tell where the card was, and quote its comments."""
    lines = [f"Moved from a local Cardinal board: {name}, by {_name(author)} at {_time(at)}."]
    if len(_clean(whole)) > COMMENT_LIMIT:
        lines += ["", "Full text:", "", *_quote(whole)]
    for remark in remarks:
        lines += ["", f"{_name(remark.author)}, {_time(remark.at)}:", "", *_quote(remark.text)]
    return tuple(_pack(lines))


def _name(author: str) -> str:
    return f"**{line(author, 60)}**"


def _time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


def _quote(text: str) -> Iterator[str]:
    for row in _still(escape_mentions(_HIDDEN.sub("", text).strip())).split("\n"):
        yield from (f"> {row[at : at + 8_000]}".rstrip() for at in range(0, max(len(row), 1), 8_000))


def _pack(lines: Sequence[str]) -> Iterator[str]:
    piece: list[str] = []
    size = 0
    for row in lines:
        size += len(row) + 1
        if size > COMMENT_LIMIT:
            yield "\n".join(piece).strip()
            piece, size = [], len(row) + 1
        piece.append(row)
    yield "\n".join(piece).strip()


def _clean(text: str) -> str:
    return _still(_HIDDEN.sub("", text))


def _still(text: str) -> str:
    return _REACHES.sub(lambda match: match[0] + _APART, text)
