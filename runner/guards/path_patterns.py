"""Path patterns of the policy, matched so that no spelling of a path gets around one. Pure."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

_ABOVE = (".github", ".github/workflows")  # a link in their place brings workflows of somebody else's
_TOKENS = re.compile(r"\*\*/|\*\*|\*|\?|[^*?]+")
_WILD = {"**/": ("[**/", "**/]"), "**": ("**",), "*": ("*",), "?": ("?",)}
# Letters of other alphabets that look like these. Source: unicode.org/Public/security, confusables.txt, those
# that people draw alike in lower case; NFKC does not fold them.
_ALIKE = {
    "a": "аɑα", "b": "Ьᖯ", "c": "сϲⅽᴄ", "d": "ԁⅾꓒ", "e": "еҽєεℯ", "f": "ꬵſẝ", "g": "ɡցᶃ", "h": "һհᏂ",
    "i": "іıɩιⅰӏ˛ꙇ", "j": "јϳȷ", "k": "кκᴋ", "l": "ⅼӏɫ|", "m": "мⅿᴍ", "n": "ոռпηᴎ", "o": "оοσօᴏ", "p": "рρⲣ",
    "q": "ԛգզ", "r": "гᴦⲅ", "s": "ѕꜱꮪ", "t": "тτᴛ", "u": "υսᴜц", "v": "νѵᴠⅴ", "w": "ԝшɯᴡѡա", "x": "хχⅹᕁ",
    "y": "уγүʏ", "z": "ᴢ", ".": "․۔᛭", "/": "∕⁄⧸╱", "_": "ߺ", "-": "‐‑‒–⁃−➖", "0": "ⵔ", "3": "з", "6": "б",
}  # fmt: skip
_FOLD = {ord(alike): plain for plain, likes in _ALIKE.items() for alike in likes}
_TRAILING = re.compile(r"(?<![. ])[. ]++(?=/|$)")  # Windows drops them from the end of a name


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


def find_protected(paths: Iterable[str], patterns: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return each protected path with the first pattern that protects it.

    `*` and `?` stay within a name, `**` crosses folders. A pattern without a slash matches at any depth, and
    one for a folder matches everything in it. Case does not count, and look-alikes count as the characters
    that they resemble.
    """
    rules = [(pattern, _compile(pattern, forgiving=True)) for pattern in patterns if pattern.strip(" /")]
    seen = ((path, fold_case(path)) for path in paths)
    matches = ((path, next((rule for rule, glob in rules if _fits(glob, plain)), "")) for path, plain in seen)
    return tuple((path, rule) for path, rule in matches if rule)


def outside(paths: Iterable[str], patterns: Iterable[str]) -> tuple[str, ...]:
    """Return the paths that no pattern allows; these match exactly, since permission is never guessed."""
    rules = [_compile(pattern, forgiving=False) for pattern in patterns if pattern.strip(" /")]
    return tuple(path for path in paths if not any(glob.fits(path) for glob in rules))


def is_workflow(path: str) -> bool:
    """Whether GitHub Actions takes the file for a workflow, or somebody could take it for one."""
    plain = _TRAILING.sub("", fold_case(path))
    return plain.startswith(".github/workflows/") or plain.rstrip("/") in _ABOVE


def _fits(glob: "PathGlob", plain: str) -> bool:
    return glob.fits(plain) or glob.fits(_TRAILING.sub("", plain))


@dataclass(frozen=True, slots=True)
class PathGlob:
    """A pattern that is matched without going back: its time grows with the path, whatever its stars are.

    `steps` are single characters, `?`, `*`, `**`, and for `**/` the two steps `[**/` and `**/]`. `hint` is a
    text in every path that fits. A path also fits that is one of `above`, or lies below one that fits.
    """

    steps: tuple[tuple[bool, str], ...]  # whether it is a wildcard, and which
    hint: str
    above: frozenset[str]

    def fits(self, path: str) -> bool:
        """Whether the pattern fits the whole path, or a folder above it."""
        if path in self.above:
            return True
        if self.hint not in path:
            return False
        end, now = len(self.steps), self._skip_stars({0})
        for char in path:
            if end in now and char == "/":
                return True
            now = self._skip_stars(self._take_char(now, char))
            if not now:
                return False
        return end in now

    def _take_char(self, now: set[int], char: str) -> set[int]:
        after = set()
        for at in now:
            if at == len(self.steps):
                continue
            is_wild, step = self.steps[at]
            if not is_wild:
                after |= {at + 1} if char == step else set()
            elif step == "?" and char != "/":
                after.add(at + 1)
            elif step in ("**", "**/]") or (step == "*" and char != "/"):
                after.add(at)
                after |= {at + 1} if step == "**/]" and char == "/" else set()
        return after

    def _skip_stars(self, now: set[int]) -> set[int]:
        """Return the positions and those that they lead to without a character."""
        waiting = list(now)
        while waiting:
            at = waiting.pop()
            is_wild, step = self.steps[at] if at < len(self.steps) else (False, "")
            to = {"*": (1,), "**": (1,), "[**/": (1, 2)}.get(step, ()) if is_wild else ()
            fresh = {at + ahead for ahead in to} - now
            now |= fresh
            waiting += fresh
        return now


@lru_cache(maxsize=1024)
def _compile(pattern: str, *, forgiving: bool) -> PathGlob:
    plain = pattern.strip()
    anchored = plain.strip("/")
    if "/" not in plain.rstrip("/"):
        anchored = f"**/{anchored}"
    inside = anchored.removesuffix("/**")
    steps: list[tuple[bool, str]] = []
    literals = [""]
    for token in _TOKENS.findall(inside):
        if token in _WILD:
            steps += ((True, step) for step in _WILD[token])
        else:
            literals.append(fold_case(token) if forgiving else token)
            steps += ((False, char) for char in literals[-1])
    # A link or a submodule in the place of a folder above would bring a folder of somebody else's there.
    above = map(fold_case, _folders_above(inside)) if forgiving else ()
    return PathGlob(tuple(steps), max(literals, key=len), frozenset(above))


def _folders_above(pattern: str) -> list[str]:
    """Return the folders of every path of the pattern, as far as it names them."""
    parts = pattern.split("/")
    named = next((n for n, part in enumerate(parts) if "*" in part or "?" in part), len(parts) - 1)
    return ["/".join(parts[:count]) for count in range(1, named + 1)]
