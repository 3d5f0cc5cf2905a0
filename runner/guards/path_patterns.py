"""Path patterns of the policy, matched so that no spelling of a path gets around one. Pure."""

import re
import unicodedata
from collections.abc import Iterable

_ABOVE = (".github", ".github/workflows")  # a link in their place brings workflows of somebody else's
_TOKENS = re.compile(r"\*\*/|\*\*|\*|\?|[^*?]+")
_MEANS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
# Letters of other alphabets that look like these. Source: unicode.org/Public/security, confusables.txt, those
# that people draw alike in lower case; NFKC does not fold them.
_ALIKE = {
    "a": "аɑα", "b": "Ьᖯ", "c": "сϲⅽᴄ", "d": "ԁⅾꓒ", "e": "еҽєεℯ", "f": "ꬵſẝ", "g": "ɡցᶃ", "h": "һհᏂ",
    "i": "іıɩιⅰӏ˛ꙇ", "j": "јϳȷ", "k": "кκᴋ", "l": "ⅼӏɫ|", "m": "мⅿᴍ", "n": "ոռпηᴎ", "o": "оοσօᴏ", "p": "рρⲣ",
    "q": "ԛգզ", "r": "гᴦⲅ", "s": "ѕꜱꮪ", "t": "тτᴛ", "u": "υսᴜц", "v": "νѵᴠⅴ", "w": "ԝшɯᴡѡա", "x": "хχⅹᕁ",
    "y": "уγүʏ", "z": "ᴢ", ".": "․۔᛭", "/": "∕⁄⧸╱", "_": "ߺ", "-": "‐‑‒–⁃−➖", "0": "ⵔ", "3": "з", "6": "б",
}  # fmt: skip
_FOLD = {ord(alike): plain for plain, likes in _ALIKE.items() for alike in likes}
_TRAILING = re.compile(r"[. ]+(?=/|$)")  # Windows drops them from the end of a name


def fold_case(text: str) -> str:
    """Return `text` without case, look-alikes and invisible characters.

    Some file systems fold case and composition, and drop invisible characters (HFS+) or trailing dots (NTFS).
    """
    plain = unicodedata.normalize("NFKC", text)
    if not plain.isprintable():
        seen = (char for char in plain if unicodedata.category(char) not in ("Cf", "Cc") or char == "\n")
        plain = "".join(seen)
    for _ in range(2):  # a capital look-alike is one only in lower case
        plain = unicodedata.normalize("NFKC", plain.translate(_FOLD).casefold())
    return plain.replace("i̇", "i").translate(_FOLD)


def protected(paths: Iterable[str], patterns: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return each protected path with the first pattern that protects it.

    `*` and `?` stay within a name, `**` crosses folders. A pattern without a slash matches at any depth, and
    one for a folder matches everything in it. Case does not count, and look-alikes count as the characters
    that they resemble.
    """
    rules = [(pattern, _compiled(pattern, forgiving=True)) for pattern in patterns if pattern.strip(" /")]
    seen = ((path, fold_case(path)) for path in paths)
    matches = (
        (path, next((rule for rule, shape in rules if _fits(shape, plain)), "")) for path, plain in seen
    )
    return tuple((path, rule) for path, rule in matches if rule)


def outside(paths: Iterable[str], patterns: Iterable[str]) -> tuple[str, ...]:
    """Return the paths that no pattern allows; these match exactly, since permission is never guessed."""
    rules = [_compiled(pattern, forgiving=False) for pattern in patterns if pattern.strip(" /")]
    return tuple(path for path in paths if not any(shape.fullmatch(path) for shape in rules))


def is_workflow(path: str) -> bool:
    """Whether GitHub Actions takes the file for a workflow, or somebody could take it for one."""
    plain = _TRAILING.sub("", fold_case(path))
    return plain.startswith(".github/workflows/") or plain.rstrip("/") in _ABOVE


def _fits(shape: re.Pattern[str], plain: str) -> bool:
    return bool(shape.fullmatch(plain) or shape.fullmatch(_TRAILING.sub("", plain)))


def _compiled(pattern: str, *, forgiving: bool) -> re.Pattern[str]:
    plain = pattern.strip()
    anchored = plain.strip("/")
    if "/" not in plain.rstrip("/"):
        anchored = f"**/{anchored}"
    inside = anchored.removesuffix("/**")
    spelled = fold_case if forgiving else str
    tokens = _TOKENS.findall(inside)
    shape = "".join(_MEANS.get(token, re.escape(spelled(token))) for token in tokens)
    # A link or a submodule in the place of a folder above would bring a folder of somebody else's there.
    above = [re.escape(fold_case(folder)) for folder in _folders_above(inside)] if forgiving else []
    return re.compile("|".join((f"{shape}(?:/.*)?", *above)), re.DOTALL)


def _folders_above(pattern: str) -> list[str]:
    """Return the folders of every path of the pattern, as far as it names them."""
    parts = pattern.split("/")
    named = next((n for n, part in enumerate(parts) if "*" in part or "?" in part), len(parts) - 1)
    return ["/".join(parts[:count]) for count in range(1, named + 1)]
