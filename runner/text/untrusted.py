"""Untrusted text for models: without invisible characters, and between tags that it cannot forge. Pure."""

import re
import unicodedata

# Fillers, joiners of graphemes, Mongolian selectors, a note without a head, and code points that are reserved
# for more of the kind (unicode.org/reports/tr44/#Default_Ignorable_Code_Point).
_BLANK = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\u2065\U0001d159"
    "\ufff0\ufff1\ufff2\ufff3\ufff4\ufff5\ufff6\ufff7\ufff8"
)
_JOINER, _LOOKS = "\u200d", "\ufe0e\ufe0f"  # they make one picture of several, or a picture of a character
# Whatever looks like such a tag in the words themselves: a reader that is no parser could take it for one.
_LIKE = re.compile(r"untrusted(?=-)", re.IGNORECASE)


def delimit_untrusted(text: str, tag: str) -> str:
    """Return `text` between `tag`s, with nothing in it that looks like one."""
    kept = _LIKE.sub(lambda match: match[0][:2] + "·" + match[0][2:], text)
    return f"<{tag}>\n{kept}\n</{tag}>"


def flat(text: str, most: int = 300) -> str:
    """Return a foreign name or path as one short line without headings, lists or tags."""
    return " ".join(without_invisible(text[: 4 * most]).replace("<", "‹").split())[:most]


def without_invisible(text: str) -> str:
    """Return `text` without invisible characters, with line feeds as its only line ends."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
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
    if ord(char) & 0xFFFE == 0xFFFE or "\ufdd0" <= char <= "\ufdef":  # unicode.org/faq/private_use.html
        return True
    selector = "\ufe00" <= char <= "\ufe0d" or "\U000e0000" <= char <= "\U000e0fff"
    return selector or char in _BLANK or unicodedata.category(char) in ("Cf", "Cc", "Co", "Cs")


def _is_needed(text: str, at: int) -> bool:
    """Whether a joiner stands between two symbols, or a selector behind one; others could hide data."""
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
