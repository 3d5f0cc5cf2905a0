"""Colours for lines of source files: escaped HTML, from lexers that are known, in bounded time."""

import re
import time
from collections.abc import Sequence
from functools import cache

from markupsafe import Markup, escape
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Number, String, Token

PIECE_CHARS = 2_000  # read at once: some expressions take time by the square of their text
MAX_S = 0.1  # of one page; the rest of it has no colours
# Each was tried with texts that are made to be slow: no step took longer than the time of a page.
LEXERS = {
    "bash": "sh bash",
    "c": "c h",
    "cpp": "cc cpp cxx hh hpp",
    "csharp": "cs",
    "css": "css",
    "docker": "dockerfile",
    "elixir": "ex exs",
    "go": "go",
    "html": "html htm",
    "java": "java",
    "javascript": "js jsx mjs cjs",
    "json": "json",
    "kotlin": "kt kts",
    "lua": "lua",
    "make": "makefile mk",
    "php": "php",
    "python": "py pyi",
    "ruby": "rb",
    "rust": "rs",
    "scss": "scss",
    "sql": "sql",
    "swift": "swift",
    "toml": "toml",
    "tsx": "tsx",
    "typescript": "ts mts",
    "xml": "xml svg",
    "yaml": "yml yaml",
}
_BY_ENDING = {ending: name for name, endings in LEXERS.items() for ending in endings.split()}
_NOT_ENDING, MAX_ENDING = re.compile(r"[^a-z0-9]"), 20
_CLASSES = (
    (Comment, "tc"),
    (String, "ts"),
    (Keyword, "tk"),
    (Number, "tn"),
    (Name.Function, "tf"),
    (Name.Class, "tf"),
    (Name.Tag, "tk"),
)


class Colours:
    """What gives the lines of one page their colours, until its time is over."""

    def __init__(self, max_s: float = MAX_S) -> None:
        self._left_s = max_s  # to load a lexer takes longer, once in the life of a process

    def of_lines(self, path: str, lines: Sequence[str]) -> list[Markup]:
        """Return the lines as HTML; without colours for an unknown kind of file, or once time is over."""
        name = _BY_ENDING.get(_NOT_ENDING.split(path.lower()[-MAX_ENDING:])[-1])
        if name is None:
            return [escape(line) for line in lines]
        made = list[Markup]()
        for piece in _pieces(lines):
            made += self._colour(_lexer(name), piece)
        return made

    def _colour(self, lexer: Lexer, lines: Sequence[str]) -> list[Markup]:
        plain = [escape(line) for line in lines]
        spans, text = list[tuple[str, str]](), "\n".join(lines)
        began, left_s = time.monotonic(), self._left_s
        for _, token, part in lexer.get_tokens_unprocessed(text) if left_s > 0 else ():
            self._left_s = left_s - (time.monotonic() - began)
            if self._left_s <= 0:
                return plain
            look = _class_of(token)
            if spans and spans[-1][0] == look:
                spans[-1] = look, spans[-1][1] + part
            else:
                spans.append((look, part))
        if "".join(part for _, part in spans) != text:  # a lexer may leave something out
            return plain
        made = [Markup("")]
        for look, part in spans:
            first, *others = part.split("\n")
            made[-1] += _span(look, first)
            made += [_span(look, line) for line in others]
        return made


def _pieces(lines: Sequence[str]) -> list[list[str]]:
    pieces, room = list[list[str]](), 0
    for line in lines:
        room -= len(line) + 1
        if room < 0 or not pieces:
            pieces.append([])
            room = PIECE_CHARS - len(line)
        pieces[-1].append(line)
    return pieces


@cache
def _lexer(name: str) -> Lexer:
    return get_lexer_by_name(name)


@cache
def _class_of(token: object) -> str:
    return next((look for kind, look in _CLASSES if token in kind), "") if token is not Token else ""


def _span(look: str, text: str) -> Markup:
    return Markup('<i class="{}">{}</i>').format(look, text) if look and text.strip() else escape(text)
