"""Reads a person's reply to a question with choices, without the lines that mail and GitHub add. Pure.

Those lines: RFC 3676 section 4.3 (the line `-- ` before a signature), the first lines of a quoted mail as
mail programs write them, and GitHub's own last lines (docs.github.com, *About email notifications*).
"""

import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass

MAX_CHARS = 8_000  # of a reply that are read


def _words_of(*texts: str) -> frozenset[str]:
    return frozenset(" ".join(texts).split())


# From here on a mail is not its writer's.
_ENDS = re.compile(
    r"^(?:--\s?$|_{8,}$|-{2,}\s?(?:original message|forwarded message)|begin forwarded message:$"
    r"|reply to this email directly|you are receiving this because|sent from my |get outlook for "
    r"|message id: <)"
    r"|^on [^\n]{4,200} wrote:$",
    re.IGNORECASE,
)
_FIELD = re.compile(
    r"^\*?(?:from|sent|date|to|subject):\*? ", re.IGNORECASE
)  # two of them begin a quoted mail
_NUMBER = re.compile(
    r"(?:(?:option|choice|answer|number|nr\.?)\s)?#?\(?(?P<number>[0-9]{1,2})\)?(?P<rest>.*)"
)
_TICKED = re.compile(r"^(?:>\s?)*+(?:[-*+]\s{1,4}(?:\[[xX]\]\s)?)?")
# Signs that change nothing. Any other may: `1?`, `$1`, `~~yes~~`, a crossed-out picture, `<!-- yes -->`.
_HARMLESS = frozenset(" .,!;:-()#@'👍✅✔🙏🙂😊🎉🚀")
_ASCII = {ord("’"): "'", **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2212"), "-")}
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_ORDINALS = {
    **dict.fromkeys(("first", "1st", "one"), "1"),
    **dict.fromkeys(("second", "2nd", "two"), "2"),
    **dict.fromkeys(("third", "3rd", "three"), "3"),
    **dict.fromkeys(("fourth", "4th", "four"), "4"),
}
_POLITE = _words_of(
    "please thanks thank you thx ty cheers many lot so much very regards best kind hi hello hey cardinal"
    " bot team all then it is i i'd i'll would go with take choose pick prefer want my the for let's answer"
    " option choice number"
)
_CLOSING = _POLITE & {"thanks", "thank", "thx", "ty", "cheers", "regards", "best"}
_YES = ("yes", "y", "yep", "yeah", "yup", "sure", "ok", "okay")  # may have the choice's words behind them
_NO = ("no", "n", "nope", "nah")
_AGREES = frozenset(_YES) | {
    *("agreed", "approved", "lgtm", "go on", "continue", "go ahead", "do it", "please do", "go for it"),
    *("sounds good", "looks good", "fine", "great", "perfect", "👍", "+1", ":+1:", ":thumbsup:"),
}
_REFUSES = frozenset(_NO) | {
    *("stop", "don't", "do not", "no way", "rather not", "👎", "-1", ":-1:", ":thumbsdown:")
}
# A name below a thanks: `Anna Weber`, `- A. Weber`.
_NAME = re.compile(r"[-–—]?\s?(?:[^\W\d_a-z][^\W\d_]{0,30}\.?[- ]?){1,3}")
_NAME_LINES = 2
_NO_NAMES = _words_of(
    *_AGREES,
    *_REFUSES,
    "never not wait hold cancel but actually however unless if only later deny undo please",
    "first last next then before after again now today tomorrow soon once both neither none either all other",
    "also and or with without except instead maybe test tests check checks review code docs merge revert",
    "rollback back retry run fix build deploy release publish push rebase abort skip ask tell add remove",
    "keep change use make done more less nothing everything work plan files changes question careful urgent",
)


@dataclass(frozen=True, slots=True)
class ReplyChoice:
    """A reply that was read: `words` without mail's lines, and the choice that it names, from 0.

    `unsure`: it names a choice, but says more, or names several; `choice` is None then.
    """

    words: str
    choice: int | None = None
    unsure: bool = False


def own_words(text: str) -> str:
    """Return a comment without quotes, signatures and what mail programs add; all of it if that is all."""
    return extract_written_words(text) or text.strip()


def extract_written_words(text: str) -> str:
    """Return what the writer of a mail wrote in it, which may be nothing. Fenced blocks stay as they are."""
    lines = text[:MAX_CHARS].replace("\r\n", "\n").replace("\r", "\n").split("\n")
    afters, after = [""] * len(lines), ""
    for number in range(len(lines) - 1, -1, -1):
        afters[number], after = after, lines[number].strip() or after
    kept: list[str] = []
    fenced = False
    for line, after in zip(lines, afters, strict=True):
        bare = line.strip()
        fenced ^= bare.startswith("```")
        if not fenced and _ends_here(bare, after):
            break
        if fenced or not bare.startswith(">"):
            kept.append(line)
    return "\n".join(kept).strip()


def says_more(text: str) -> bool:
    """Tell whether the lines below a command say more than thanks, a yes, a name, or the lines of mail."""
    if len(text.strip()) > MAX_CHARS - 3:
        return True
    own = own_words(f"1\n\n{text.strip()}").split("\n")  # as below the number of a choice
    _, *left = _without_greetings([line for line in own if not line.lstrip().startswith(">")], ())
    return any(map(_says_something, map(_plain, left)))


def _says_something(line: str) -> bool:
    """Tell whether a line says more than thanks or a yes; a sign that may mean a no says something."""
    if _without_politeness(line) in _AGREES:
        return False
    return not _is_polite(line) or any(not char.isalnum() and char not in _HARMLESS for char in line)


def _ends_here(line: str, after: str) -> bool:
    """Tell whether the writer's own words end before this line; `after` is the next one that is not blank."""
    if _ENDS.match(line) or (_FIELD.match(line) and _FIELD.match(after)):
        return True
    # "… wrote:" in any language.
    quotes = "@" in line and line.endswith(":") and after.startswith(">")
    return bool(quotes or (line.lower().startswith("on ") and _ENDS.match(f"{line} {after}")))


def read_reply(
    choices: Sequence[str], text: str, *, yes: int | None = None, no: int | None = None
) -> ReplyChoice:
    """Return which choice a reply names: by its number, its words, or a plain yes or no, which mean these."""
    words = own_words(text)
    said = _plain(" ".join(_without_greetings(words.split("\n"), choices)))
    if not choices or not said:
        return ReplyChoice(words)
    if all(line.lstrip().startswith(">") for line in words.split("\n") if line.strip()):
        yes = no = None  # of somebody else, maybe about another question
    choice = _find_named(choices, said, yes, no) if _is_certain(choices, said) else None
    return ReplyChoice(words, choice, choice is None and _is_near(choices, said))


def _is_certain(choices: Sequence[str], said: str) -> bool:
    """Tell whether it asks nothing, and has no sign that may change its meaning."""
    own = set("".join(map(_plain, choices))) - {"?"}
    core = _without_politeness(said)
    signs = () if core in _AGREES | _REFUSES else (char for char in said if not char.isalnum())
    return not said.startswith("is ") and _HARMLESS.union(own).issuperset(signs)


def _find_named(choices: Sequence[str], said: str, yes: int | None, no: int | None) -> int | None:
    """Return the one choice that all of these words name."""
    named = _find_by_label(choices, said)
    if named is not None:
        return named
    for meant, alone, first in ((yes, _AGREES, _YES), (no, _REFUSES, _NO)):
        if said in alone:
            return meant
        for sign in first:
            rest = said.removeprefix(sign)
            if rest == said or rest[:1].isalnum():
                continue
            rest = rest.strip(" ,.!;:-")
            if _is_polite(rest):
                return meant
            also = _find_by_words(choices, rest)
            if (
                meant is None
                and first is _NO
                and _find_by_number([_letters(choice) for choice in choices], rest) is not None
            ):
                return None  # `no one`
            return also if meant in (None, also) or sign.startswith("ok") else None
    polite = _without_politeness(said)
    if polite != said:
        return _find_named(choices, polite, yes, no) if polite else None
    return _find_by_beginning(choices, said)


def _find_by_label(choices: Sequence[str], said: str) -> int | None:
    """Return the choice whose very words these are, or whose number."""
    bare, labels = _letters(said), [_letters(choice) for choice in choices]
    return labels.index(bare) if labels.count(bare) == 1 else _find_by_number(labels, said)


def _find_by_words(choices: Sequence[str], rest: str) -> int | None:
    """Return the choice that the words behind a yes or no name by themselves."""
    for said in (rest, _without_politeness(rest)):
        if said in _AGREES | _REFUSES:
            return None
        if (named := _find_by_label(choices, said)) is not None:
            return named
    return _find_by_beginning(choices, said)


def _find_by_beginning(choices: Sequence[str], said: str) -> int | None:
    fits = [number for number, choice in enumerate(choices) if _shortens(said, choice)]
    return fits[0] if len(fits) == 1 else None


def _find_by_number(labels: Sequence[str], said: str) -> int | None:
    """Return the choice whose number it is, alone or with that choice's own words behind it."""
    match = _number_in(said)
    if match is None or not 1 <= int(match["number"]) <= len(labels):
        return None
    number, rest = int(match["number"]) - 1, match["rest"]
    again = _number_in(rest.strip(" .,:;-)"))
    last = again["rest"] if again is not None and int(again["number"]) == number + 1 else rest
    if any(more[:1].isalnum() or re.match(r"[.,:/]?[0-9%$€°]", more) for more in (rest, last)):
        return None  # 2nd, 2.5, 2:30, 2%
    return number if _is_polite(last) or _letters(last) == labels[number] else None


def _number_in(said: str) -> re.Match[str] | None:
    ordinal = re.sub(r" (?:one|option|choice)$", "", said)
    return _NUMBER.fullmatch(_ORDINALS.get(ordinal, said))


def _shortens(said: str, choice: str) -> bool:
    """Tell whether it is the first word of a choice, or several of its words."""
    words = [word for word in _WORD.findall(_plain(choice)) if word not in _POLITE]
    mine = _WORD.findall(said)
    return bool(words) and set(mine) <= set(words) and (len(mine) > 1 or mine == words[:1])


def _is_near(choices: Sequence[str], said: str) -> bool:
    """Tell whether a short reply has a choice's number or words in it, whatever else it says."""
    words = _WORD.findall(said)
    numbers = {str(number) for number in range(1, len(choices) + 1)}
    begins = words[:1] and words[0] in numbers.union(_AGREES, _REFUSES)
    labels = (label for label in map(_letters, choices) if len(label) > 3)
    has = any(label in _letters(said) for label in labels) or (
        len(words) <= 6 and numbers.intersection(words)
    )
    short = any(_shortens(said, choice) for choice in choices)
    return len(words) <= 12 and bool(begins or has or short or said.isdigit() or said in _AGREES | _REFUSES)


def _without_greetings(lines: list[str], choices: Sequence[str]) -> list[str]:
    """Return the lines without those at both ends that are polite only.

    A name may stand below a thanks, as in a letter: that one has a blank line before it.
    """
    shown = [number for number, line in enumerate(lines) if line.strip()]
    kept = [_TICKED.sub("", lines[number].strip()) for number in shown]
    polite = [_is_polite(_plain(line)) for line in kept]
    apart = [number > 0 and not lines[number - 1].strip() for number in shown]
    thanks = (n for n, line in enumerate(kept) if n and polite[n] and apart[n] and _closes(_plain(line)))
    closing = next(thanks, len(kept))
    begin = next((n for n, is_polite in enumerate(polite) if not is_polite), len(kept) - 1)
    signed = kept[closing + 1 :]
    words = {word for choice in choices for word in _WORD.findall(_plain(choice))}
    if len(signed) <= _NAME_LINES and all(_is_name(line, words) for line in signed):
        kept = kept[:closing]
    return kept[begin:]


def _is_name(line: str, of_choices: Collection[str]) -> bool:
    """Tell whether a line below a thanks may be its writer's name, and is no word about the question."""
    words = set(_WORD.findall(_plain(line)))
    return bool(_NAME.fullmatch(line)) and words.isdisjoint(_NO_NAMES) and words.isdisjoint(of_choices)


def _closes(line: str) -> bool:
    return bool(_CLOSING.intersection(_WORD.findall(line)))


def _is_polite(line: str) -> bool:
    return all(word in _POLITE for word in _WORD.findall(line))


def _without_politeness(said: str) -> str:
    """Return it without polite words at both ends."""
    kept = said.split()
    while kept and _is_polite_only(kept[0]):
        kept = kept[1:]
    while kept and _is_polite_only(kept[-1]):
        kept = kept[:-1]
    return " ".join(kept).strip(" .,!;:()").rstrip("-")


def _is_polite_only(token: str) -> bool:
    return _is_polite(token) and all(char.isalnum() or char in _HARMLESS for char in token)


def _letters(text: str) -> str:
    return "".join(_WORD.findall(_plain(text)))


def _plain(text: str) -> str:
    """Return the text to compare it: no case, no hidden signs, no Markdown, one kind of space."""
    shown = unicodedata.normalize("NFKC", text).casefold().translate(_ASCII)
    hidden = ("Cf", "Cc", "Mn", "Me", "Sk")
    kept = "".join(char for char in shown if char == "\n" or unicodedata.category(char) not in hidden)
    bare = re.sub(r"[*_\"“”«»]", "", kept)
    lines = (re.sub(r"\s+", " ", line).strip() for line in bare.split("\n"))
    return "\n".join(line for line in lines if line).rstrip(" .!,;")
