"""Sentences for people: outside text made harmless, amounts, counts and near misses."""

import difflib
from collections.abc import Iterable
from datetime import timedelta

from ledger.states import CardState


def plain(text: str, limit: int = 120) -> str:
    """Return one line of at most `limit` characters without control, hidden or direction marks."""
    # Cut first: a megabyte of somebody's comment is not worth one line. Beside spaces, what is not printable
    # is of Unicode's categories Cc, Cf, Cs, Co and Cn.
    words = text[: limit * 8].split()
    kept = (word if word.isprintable() else "".join(filter(str.isprintable, word)) for word in words)
    line = " ".join(filter(None, kept))
    return line if len(line) <= limit and len(text) <= limit * 8 else line[: limit - 1].rstrip() + "…"


def sentence(text: str) -> str:
    """Return our own words as a sentence, with a capital unless they begin with a name such as r1."""
    first = text.partition(" ")[0].rstrip(":,")
    named = any(not char.isalpha() and char not in "'-" for char in first)
    return with_full_stop(text if named else text[:1].upper() + text[1:])


def with_full_stop(text: str) -> str:
    """Return our own words with a full stop, unless they end in a mark already."""
    return text if text.endswith((".", "?", "!", "…", ":")) else f"{text}."


def code(text: str, limit: int = 80) -> str:
    """Return outside text as Markdown code, where no mention, link, image or HTML works."""
    return f"`{plain(text, limit).replace('`', '´') or ' '}`"


def state_word(state: str) -> str:
    """Return a card's or run's state as people read it; empty for a card that rests."""
    return "" if state == CardState.DRAFT else state.replace("_", " ")


def kind_of_run(attempt: int, kind: str) -> str:
    """Return the kind of run for its card: an attempt, or no attempt but the checks alone."""
    from ledger.events.run import (  # its module is slow to import, and every command needs this one
        CHECK,
        RERUN,
    )

    if kind == RERUN:
        return "again, beside the card's runs"
    return "checks only" if kind == CHECK else f"attempt {attempt} ({kind})"


def usd(amount: float) -> str:
    """Return dollars with cents; less than a cent is not nothing."""
    return "under $0.01" if 0 < amount < 0.005 else f"${amount:,.2f}"


def ordinal(number: int) -> str:
    """Return 1st, 2nd, 3rd, 4th …"""
    teens = 10 <= number % 100 <= 20
    return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def in_queue(place: int) -> str:
    return f"{ordinal(place)} in the queue"


def count(number: int, noun: str) -> str:
    """Return `1 thread`, `2,000 threads`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def alternatives(words: Iterable[str]) -> str:
    """Return `a, b or c`."""
    listed = list(words)
    return " or ".join(filter(None, (", ".join(listed[:-1]), listed[-1] if listed else "")))


def near(word: str, known: Iterable[str]) -> str:
    """Return the known word that somebody may have meant, or an empty string."""
    by_lower = {name.lower(): name for name in known}
    matches = difflib.get_close_matches(word.lower()[:80], by_lower, n=1, cutoff=0.6)
    return by_lower[matches[0]] if matches else ""


def brief(length: timedelta) -> str:
    """Return a length of time in its largest unit, as tables have room for: `45 s`, `12 min`, `3 h`."""
    seconds = max(0, int(length.total_seconds()))
    if seconds < 120:
        return f"{seconds} s"
    minutes = seconds // 60
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 48 * 60 else count(minutes // 1440, "day")
