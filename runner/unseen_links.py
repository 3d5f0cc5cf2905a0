"""Takes out of links, images and footnotes in Markdown what GitHub's readers do not see. Pure.

Hidden are the texts of images, titles, labels whose text is another one, and definitions that nothing uses.
"""

import re
from bisect import bisect_left
from collections import Counter

_LINE = r"\n(?![ \t>]*\n)"  # a blank line ends whatever it stands in
_TITLE = rf"""(?:"(?:[^"\\\n]|\\.|{_LINE})*+"|'(?:[^'\\\n]|\\.|{_LINE})*+'|\((?:[^()\\\n]|\\.|{_LINE})*+\))"""
_GAP = r"[ \t]*+(?:\n[ \t>]*+)?+"
_MARK = r"^(?P<lead>[ ]{0,3}(?:(?:>|[-+*]|[0-9]{1,9}[.)])[ \t]{0,4})*+)"
_TEXT = r"(?:[^\[\]\\]|\\[\s\S])"
# github.github.com/gfm/#link-reference-definitions: shown nowhere, and so a favourite for "comments".
_DEFINITION = re.compile(
    _MARK + r"\[(?P<label>(?!\^)" + _TEXT + r"{1,999})\]:" + _GAP + r"(?P<to><(?:[^<>\n\\]|\\.)*>|[^\s<]\S*)"
    r"(?P<title>(?:(?<=\s)|" + _GAP + r")" + _TITLE + r")?[ \t]*$",
    re.MULTILINE,
)
# Deeper in, it is a definition in a list or code that is shown: what it can say there is what counts.
_DEEP = re.compile(
    r"^(?P<lead>[ \t]{4,40}+(?:(?:>|[-+*]|[0-9]{1,9}[.)])[ \t]{0,4})*+)"
    r"\[(?P<label>(?!\^)" + _TEXT + r"{1,999})\]:[ \t]*+(?P<to><[^<>\n]*>|[^\s<]\S*)[ \t]+"
    + _TITLE + r"[ \t]*$",
    re.MULTILINE,
)  # fmt: skip
_FOOTNOTE = re.compile(
    _MARK + r"\[(?P<label>\^[^\]\n]{1,200})\]:[^\n]*(?:\n(?![ \t]*\n|[ >]{0,9}\[[^\]\n]+\]:)[^\n]+)*"
    r"(?:\n(?:[ \t>]*\n)+(?: {4}|\t)[^\n]+(?:\n(?![ \t]*\n)[^\n]+)*)*",
    re.MULTILINE,
)
_LABEL = re.compile(r"\[(" + _TEXT + r"{1,999})\]")
_FULL = re.compile(r"\]\[(?P<label>" + _TEXT + r"{1,999})\]")
_SQUARE = re.compile(r"\\[\s\S]|[\[\]]")
_ANGLE = re.compile(r"<(?:[^<>\n\\]|\\.)*>")
_TAIL = re.compile(_GAP + r"(?:(?<=\s)" + _TITLE + r")?+" + _GAP + r"\)")
_OPENS = re.compile(r"\((?:" + _GAP + r")")
_ROUND = re.compile(r"\\[\s\S]|[()]")
_SPACE = re.compile(r"\s")
_PARAGRAPH = re.compile(r"\n[ \t>]*\n")
# What can turn a mark of a footnote into plain text, and the footnote into one that nobody sees.
_UNSURE = re.compile(r"[`~<\\$\t]|^[ >]*[ ]{4}", re.MULTILINE)
_LONGEST_ADDRESS = 200  # that is written in the place of a label


def without_hidden_links(text: str) -> str:
    """Return `text` with what links and images say to nobody taken out."""
    if "]" not in text:
        return text
    text = _without_titles(_without_image_texts(text))
    text = _without_footnotes(text)
    return _without_definitions(text)


def _name(label: str) -> str:
    return " ".join(label.split()).casefold()


def _without_image_texts(text: str) -> str:
    if "![" not in text:
        return text
    ends, links = _pairs(text, _SQUARE), [found.start() for found in re.finditer(r"\](?=[(\[])", text)]
    breaks = [found.start() for found in _PARAGRAPH.finditer(text)]
    defined = {_name(found["label"]) for found in _DEFINITION.finditer(text)}
    kept, at = list[str](), 0
    for found in re.finditer(r"!\[", text):
        start = found.end()
        if start < at:
            continue  # inside of an image's text
        end = ends.get(start - 1, -1)
        if end < 0 or text[end + 1 : end + 2] not in ("(", "["):
            if end >= 0 and _name(text[start:end]) in defined:
                kept += [text[at:start], "]"]
                at = end + 1
                continue
            nth = bisect_left(links, start)  # brackets in code do not count: the next link will do
            end = links[nth] if nth < len(links) else -1
            stop = bisect_left(breaks, start)
            if end < 0 or (stop < len(breaks) and breaks[stop] < end):
                continue
        kept.append(text[at:start])
        at = end
    return "".join([*kept, text[at:]])


def _pairs(text: str, brackets: re.Pattern[str]) -> dict[int, int]:
    """Return where each bracket that opens is closed."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    for found in brackets.finditer(text):
        if found[0] in "([":
            opened.append(found.start())
        elif found[0] in ")]" and opened:
            ends[opened.pop()] = found.start()
    return ends


def _without_titles(text: str) -> str:
    """Drop the titles of links, and addresses that are none: only `<…>` holds several words."""
    kept, at, start = list[str](), 0, text.find("](")
    brackets = _Brackets(text)
    while start >= 0:
        shape = brackets.link(start + 1)
        if shape is not None:
            address, end = shape
            kept += [text[at : start + 1], f"({address})"]
            at = end
        start = text.find("](", max(at, start + 1))
    return "".join([*kept, text[at:]])


class _Brackets:
    """Where round brackets close and words end in a text, counted once for all its links."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends = _pairs(text, _ROUND)
        self._gaps = [found.start() for found in _SPACE.finditer(text)]

    def link(self, at: int) -> tuple[str, int] | None:
        """Return the address in the brackets that open at `at` and where they end; None for no link.

        Source: github.github.com/gfm/#links.
        """
        text = self._text
        opened = _OPENS.match(text, at)
        begin = opened.end() if opened else at
        angle = _ANGLE.match(text, begin)
        if opened is None or (angle is None and text[begin : begin + 1] == "<"):
            return None
        end = angle.end() if angle else self._bare_end(at, begin)
        tail = _TAIL.match(text, end)
        if tail is None:
            return None
        address = text[begin:end]
        return ("" if len(address.split()) > 1 else address), tail.end()

    def _bare_end(self, at: int, begin: int) -> int:
        nth = bisect_left(self._gaps, begin)
        end = self._gaps[nth] if nth < len(self._gaps) else len(self._text)
        return min(end, self._ends.get(at, end))


def _without_footnotes(text: str) -> str:
    if "[^" not in text:
        return text
    found = list(_FOOTNOTE.finditer(text))
    marks = Counter(map(_name, _LABEL.findall(text)))
    marks.subtract(_name(one["label"]) for one in found)
    sure, seen = not _UNSURE.search(text), set[str]()

    def kept(one: re.Match[str]) -> str:
        name, first = _name(one["label"]), _name(one["label"]) not in seen
        seen.add(name)
        return one[0] if sure and first and marks[name] > 0 else one["lead"]

    return _FOOTNOTE.sub(kept, text)


def _without_definitions(text: str) -> str:
    """Write addresses in the place of labels that are not shown; drop the definitions left over."""
    text = _DEEP.sub(lambda one: one["lead"], text)
    found = list(_DEFINITION.finditer(text))
    if not found:
        return text
    leads = {_name(one["label"]): one["to"] for one in reversed(found)}  # the first of a name counts

    def named(one: re.Match[str]) -> str:
        to = leads.get(_name(one["label"]))
        if to is None:
            return one[0]
        return f"]({to})" if len(to) <= _LONGEST_ADDRESS and not re.search(r"\s", to) else "]"

    text = _FULL.sub(named, text)
    uses = Counter(map(_name, _LABEL.findall(text)))
    uses.subtract(_name(one["label"]) for one in found)
    seen: set[str] = set()

    def kept(one: re.Match[str]) -> str:
        name, first = _name(one["label"]), _name(one["label"]) not in seen
        seen.add(name)
        leading = one["to"].strip("<>#") and not re.search(r"\s", one["to"])
        if not first or not leading or uses[name] <= 0:
            return one["lead"]
        return f"{one['lead']}[{one['label']}]: {one['to']}"

    return _DEFINITION.sub(kept, text)
