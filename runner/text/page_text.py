"""Text of a rendered page as plain Markdown: headings, lists, quotes, tables, code. Pure."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser

IMAGE, FORMULA, DIAGRAM = "(image)", "(formula)", "({} diagram)"
FOLDED, UNFOLDED = "(folded:)", "(end of what is folded)"
ADDRESS = "…"  # of a link whose text is another one
_MAX_FRAMES = 20  # quotes and lists in each other that are written as such
_MAX_SMALL = 2  # of them in each other can be read
_SMALL = frozenset(("code", "rt", "samp", "small", "sub", "sup", "tt"))  # smaller than their surroundings
_SMALL_IN_PRE = _SMALL - {"code", "tt"}
_DRAWN = frozenset(("mermaid", "geojson", "topojson", "stl"))  # GitHub shows a picture in their place
_HEADS = "blockquote caption details div dl dt figcaption figure h1 h2 h3 h4 h5 h6 p pre section table"
_PARTS = "dd hr li ol summary tbody td tfoot th thead tr ul"
_APART = frozenset(_HEADS.split())
_BLOCKS = _APART | frozenset(_PARTS.split())
_WITHOUT_END = frozenset(("br", "hr", "img", "input", "wbr"))
_FIRST_WORDS = {"hr": "---", "details": FOLDED}
_LEADS = {"blockquote": ("> ", "> "), "dd": ("  ", "  ")}
# In inline code these stand for characters that text rules would change: spaces, and dollars.
_AS_CODE, _AS_TEXT = str.maketrans(" $", "\x00\x01"), str.maketrans("\x00\x01", " $")
_MARKS = {0: None, 1: None}  # of nobody else
# What stands between dollars may be drawn by TeX, which can hide words.
# docs.github.com/get-started/writing-on-github: writing mathematical expressions
_FORMULA = re.compile(r"\$\$[\s\S]+?\$\$|\$(?!\s)[^$]+?(?<!\s)\$(?![0-9])")
_DOLLARS = re.compile(r"\$[\s\S]*\$")
_PATH = re.compile(r"(?!/)[\w./-]{1,100}(?:#L[0-9-]+)?", re.ASCII)
# GitHub shows the address of such a page as a reference, without what follows; an Enterprise Server its own.
_SITE = r"https?://[\w.-]+(?::\d+)?"
_REFERENCE = re.compile(
    rf"({_SITE}/[\w.-]+/[\w.-]+/(?:issues|pull|discussions|commit)/[0-9a-f]+)[/?#]\S+", re.ASCII
)
# It shows lines of a file, a film or two names in place of these.
_EMBEDDED = re.compile(
    rf"({_SITE}/(?:[\w.-]+/[\w.-]+/(?:blob|assets|compare)|user-attachments/assets)/[^\s?#]+)"
    r"(?:\?[^\s#]*)?(?:(#L[0-9CL-]+)|#\S*)?",
    re.ASCII,
)


@dataclass(slots=True)
class _Frame:
    """A quote or list item: the prefix of its first line, and that of the others."""

    first: str
    rest: str
    begun: bool = False

    def lead(self) -> str:
        lead, self.begun = self.rest if self.begun else self.first, True
        return lead


def _around(before: str, after: str) -> Callable[[str], str]:
    return lambda said: f"{before}{said}{after}" if said.strip() else said


def _as_code(said: str) -> str:
    ticks = "`" * (max(map(len, re.findall("`+", said)), default=0) + 1)
    space = "\x00" if len(ticks) > 1 else ""
    return f"{ticks}{space}{said}{space}{ticks}" if said else ""


_SPANS: Mapping[str, Callable[[str], str]] = {
    **dict.fromkeys(("b", "strong"), _around("**", "**")),
    **dict.fromkeys(("i", "em"), _around("*", "*")),
    **dict.fromkeys(("s", "del", "strike"), _around("~~", "~~")),
    **dict.fromkeys(("code", "tt"), _as_code),
    "q": _around('"', '"'),
    "rt": _around(" (", ")"),
}


class PageText(HTMLParser):
    """Reads sanitised HTML. `paths` keeps links to files; `addresses` are those of the marked links."""

    def __init__(self, *, paths: bool) -> None:
        super().__init__(convert_charrefs=True)
        self._paths = paths
        self.addresses: list[str] = []
        self._lines: list[str] = []
        self._apart = False  # whether a blank line comes before the next block
        self._frames: list[_Frame] = []
        self._lists: list[int | None] = []  # the number of the next item; None for bullets
        self._buffer: list[str] = []
        self._spans: list[tuple[str, int, str]] = []  # tag, where its text begins in the buffer, address
        self._code: tuple[int, str] | None = None  # where code begins in the buffer, its language
        self._pres = 0  # open `pre` elements: HTML lets one stand in another
        self._cells: list[str] | None = None  # of the row that is read
        self._tables, self._rows = 0, 0
        self._small, self._inline_code, self._left_out = 0, 0, 0

    def text(self) -> str:
        self.close()
        self._end_paragraph()
        return "\n".join(self._lines)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a block, or note where a span begins."""
        given = {name: value or "" for name, value in attrs}
        # What only browsers without ruby show, and letters in the opposite order.
        if self._left_out or tag == "rp" or (tag == "bdo" and given.get("dir", "").lower() != "ltr"):
            self._left_out += tag not in _WITHOUT_END
        elif self._code is not None:
            self._small += tag in _SMALL_IN_PRE
            self._pres += tag == "pre"
            language = given.get("class", "").removeprefix("language-")
            self._code = (self._code[0], self._code[1] or language)
            self._buffer += ["\n"] if tag == "br" else []
        elif tag in _BLOCKS:
            self._begin_block(tag, given)
        elif tag in _WITHOUT_END:
            box = "[x]" if "checked" in given else "[ ]"
            self._buffer.append({"br": "\n", "img": IMAGE, "input": box}.get(tag, ""))
        else:
            self._small += tag in _SMALL
            self._inline_code += tag in ("code", "tt")
            self._spans.append((tag, len(self._buffer), given.get("href", "")))

    def handle_endtag(self, tag: str) -> None:
        """End a block, or write the span that ends."""
        if self._left_out:
            self._left_out -= 1
        elif self._code is not None:
            self._small -= tag in _SMALL_IN_PRE
            self._pres -= tag == "pre"
            self._end_code(*self._code) if not self._pres else None
        elif tag in _BLOCKS:
            self._end_block(tag)
        elif self._spans:
            _, begin, address = self._spans.pop()
            self._small -= tag in _SMALL
            self._inline_code -= tag in ("code", "tt")
            if tag in _SPANS and len(self._spans) < _MAX_FRAMES:
                self._buffer[begin:] = [_SPANS[tag]("".join(self._buffer[begin:]))]
            elif tag == "a":
                self._buffer[begin:] = [self._link("".join(self._buffer[begin:]), address)]

    def handle_data(self, data: str) -> None:
        """Take text that is shown, if it is large enough to be read."""
        if not self._left_out and self._small <= _MAX_SMALL:
            data = data.translate(_MARKS)
            inline = self._code is None and self._inline_code
            self._buffer.append(data.translate(_AS_CODE) if inline else data)

    def _begin_block(self, tag: str, given: Mapping[str, str]) -> None:
        self._end_paragraph()
        self._apart |= tag in _APART or (tag in ("ol", "ul") and not self._lists)
        lead = self._item() if tag == "li" else _LEADS.get(tag)
        if lead:
            self._frames.append(_Frame(*lead))
        if tag in _FIRST_WORDS:
            self._write(_FIRST_WORDS[tag])
        if tag in ("ol", "ul"):
            start = given.get("start", "1")[:9]
            self._lists.append(None if tag == "ul" else int(start) if start.isdecimal() else 1)
        if tag == "pre":
            self._code, self._pres = (len(self._buffer), given.get("lang", "")), 1
        if tag == "table":
            self._tables, self._rows = self._tables + 1, 0 if not self._tables else self._rows
        if tag == "tr" and self._tables == 1:
            self._cells = []

    def _item(self) -> tuple[str, str]:
        number = self._lists[-1] if self._lists else None
        if number is None:
            return "- ", "  "
        self._lists[-1] = number + 1
        return f"{number}. ", " " * len(f"{number}. ")

    def _end_block(self, tag: str) -> None:
        if tag in ("td", "th") and self._tables == 1 and self._cells is not None:
            self._cells.append(" ".join(self._paragraph().split()).replace("|", "\\|"))
        self._end_paragraph(f"{'#' * int(tag[1])} " if tag[1:].isdigit() else "")
        if tag in ("blockquote", "dd", "li"):
            if tag == "li" and not self._frames[-1].begun:
                self._write("")  # its mark is seen
            self._frames.pop()
        elif tag in ("ol", "ul"):
            self._lists.pop()
        elif tag == "details":
            self._write(UNFOLDED)
        elif tag == "tr" and self._tables == 1:
            self._end_row()
        self._tables -= tag == "table"
        self._apart |= tag in _APART

    def _end_row(self) -> None:
        cells, self._cells, self._rows = self._cells or [], None, self._rows + 1
        self._write(f"| {' | '.join(cells)} |")
        if self._rows == 1:
            self._write(f"|{' --- |' * len(cells)}")

    def _end_code(self, begin: int, language: str) -> None:
        code, self._code = "".join(self._buffer[begin:]).removesuffix("\n"), None
        kind = re.split(r"\W", language.casefold(), maxsplit=1)[0]
        if kind == "math" or kind in _DRAWN:
            text = FORMULA if kind == "math" else DIAGRAM.format(kind)
        else:
            fence = "`" * max(3, 1 + max(map(len, re.findall("`+", code)), default=0))
            text = f"{fence}{kind if kind == 'suggestion' else ''}\n{code}\n{fence}"
        del self._buffer[begin:]
        self._write(text)
        self._apart = True

    def _paragraph(self) -> str:
        if not self._buffer:
            return ""  # a block's end is often another's as well
        text = "".join(self._buffer).strip()
        self._buffer.clear()
        self._spans = [(tag, 0, address) for tag, _, address in self._spans]
        text = re.sub(r"(?:(?<![ \t\f\v])[ \t\f\v]++)?\n\s*+", "\n", text)
        if "$" in text:
            text = _FORMULA.sub(
                lambda match: FORMULA if "\\" in match[0] or "%" in match[0] else match[0], text
            )
            text = _DOLLARS.sub(lambda match: FORMULA if "\\" in match[0] else match[0], text)
        text = re.sub(r"[ \t\f\v]+", " ", text)
        if "://" in text:
            text = _REFERENCE.sub(r"\1", _EMBEDDED.sub(r"\1\2", text))
        return text.translate(_AS_TEXT)

    def _end_paragraph(self, lead: str = "") -> None:
        if self._cells is not None:
            self._buffer.append(" ")
        elif text := self._paragraph():
            self._write(lead + (" ".join(text.split("\n")) if lead else text))

    def _write(self, text: str) -> None:
        if self._cells is not None:
            self._buffer.append(f" {text} ")
            return
        frames = self._frames[:_MAX_FRAMES]
        if self._apart and self._lines:
            self._lines.append("".join(frame.rest for frame in frames if frame.begun).rstrip())
        self._apart = False
        self._lines += ["".join([*(frame.lead() for frame in frames), line]) for line in text.split("\n")]

    def _link(self, said: str, address: str) -> str:
        if address.startswith("#"):  # footnotes, and places of the page
            self.addresses += [address] if address.startswith("#fn") else []
            return f"[{said}]" if said.strip() and not address.startswith("#fnref") else ""
        if not address or not said.strip() or said in (address.removeprefix(way) for way in _WAYS):
            return said
        kept = self._paths and _PATH.fullmatch(address) is not None
        self.addresses.append(address)
        return f"[{said}]({address if kept else ADDRESS})"


_WAYS = ("", "mailto:", "http://")
