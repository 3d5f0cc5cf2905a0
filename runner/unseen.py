"""Takes out of a text what GitHub's readers do not see but a model does, and says what it was. Pure.

It is taken out wherever it stands, in code blocks too: telling those apart as GitHub does, in every nesting,
cannot be done with certainty, and a mistake would be an open door.
"""

import html
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from runner.unseen_links import without_hidden_links
from runner.unseen_tags import without_comments, without_hidden_html

COMMENT, CHARACTERS, MARKDOWN = "an HTML comment", "invisible characters", "invisible Markdown"
_MOST_PASSES = 6
_MOST_CHARACTERS = 200_000  # longer than any text on GitHub; patterns must not meet more
_PHANTOM = re.compile(r"\\[hv]?phantom\b(?:(?!```)[^$])*")  # takes room in a formula, and shows nothing
_REMARK = re.compile(r"^[ \t>]*%%[^\n]*", re.MULTILINE)  # a comment in a diagram of Mermaid's
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
# Drawn as nothing: fillers, joiners of graphemes, Mongolian selectors, a note without a head, and what
# Unicode keeps free for more of the kind (unicode.org/reports/tr44/#Default_Ignorable_Code_Point).
_BLANK = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\u2065\U0001d159"
    "\ufff0\ufff1\ufff2\ufff3\ufff4\ufff5\ufff6\ufff7\ufff8"
)
_JOINER, _LOOKS = "\u200d", "\ufe0e\ufe0f"  # they make one picture of several, or a picture of a character


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A text without what nobody sees; `found` names the kinds of what was taken out."""

    text: str
    found: tuple[str, ...]

    def note(self) -> str:
        """Return a sentence about what was taken out, empty when it is nothing."""
        return f"(Hidden text was taken out here: {', '.join(self.found)}.)" if self.found else ""


def clean(text: str) -> Cleaned:
    """Return `text` as a reader on GitHub sees it, with the kinds of what was taken out."""
    found: dict[str, None] = {}
    text = text[:_MOST_CHARACTERS].replace("\r\n", "\n").replace("\r", "\n")
    text = _noted(_characters, text, CHARACTERS, found)
    for _ in range(_MOST_PASSES):  # what was taken out may have held apart the halves of something else
        before = text
        text = _noted(without_comments, text, COMMENT, found)
        text = _noted(_markdown, text, MARKDOWN, found)
        text = _noted(_entities, text, CHARACTERS, found)
        if text == before:
            break
    else:
        text = text.replace("<", "").replace("&", "")  # nobody writes such a text for people
    return Cleaned(text, tuple(found))


def shown(text: str) -> str:
    """Return `text` without what nobody sees, with a sentence where something was taken out."""
    cleaned = clean(text)
    return "\n".join(part for part in (cleaned.text.strip(), cleaned.note()) if part)


def _noted(take: Callable[[str], str], text: str, kind: str, found: dict[str, None]) -> str:
    kept = take(text)
    if kept != text:
        found[kind] = None
    return kept


def _markdown(text: str) -> str:
    text = without_hidden_html(without_hidden_links(text))
    if "phantom" in text:
        text = _PHANTOM.sub("", text)
    return _REMARK.sub("", text) if "mermaid" in text.casefold() else text


def _entities(text: str) -> str:
    return _ENTITY.sub(_entity, text) if "&" in text else text


def _entity(found: re.Match[str]) -> str:
    meant = html.unescape(found[0])
    return "" if meant and all(map(_is_hidden, meant)) else found[0]


def _characters(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    # Each different character is judged once: there are few, however long the text is.
    hidden = [char for char in set(text) if _is_hidden(char)]
    text = text.translate(dict.fromkeys(map(ord, hidden))) if hidden else text
    if _JOINER in text or any(look in text for look in _LOOKS):
        text = "".join(char for at, char in enumerate(text) if _is_needed(text, at))
    return text


def _is_hidden(char: str) -> bool:
    if char in "\n\t" or char == _JOINER or char in _LOOKS:
        return False
    selector = "\ufe00" <= char <= "\ufe0d" or "\U000e0000" <= char <= "\U000e0fff"
    return selector or char in _BLANK or unicodedata.category(char) in ("Cf", "Cc", "Co", "Cs")


def _is_needed(text: str, at: int) -> bool:
    """Whether a joiner stands between two signs, or a look behind one: a row of them spells out bits."""
    char = text[at]
    if char == _JOINER:
        after = text[at + 1 : at + 2]
        before = text[at - 1 : at] if at else ""
        return (
            before > "\u00ff" and after > "\u00ff" and _JOINER not in (before, after) and after not in _LOOKS
        )
    if char in _LOOKS:
        return at > 0 and text[at - 1] not in (_JOINER, *_LOOKS) and not text[at - 1].isspace()
    return True
