"""Names of columns, compared the way people read them."""

import unicodedata

# Letters, numbers and their accents, punctuation, and the plus, equals and currency signs tell columns apart.
# Spaces, emoji (So, with skin tones in Sk), joiners (Cf) and controls do not.
_IGNORED = ("Z", "So", "Sk", "C")
_EMOJI_STYLE = dict.fromkeys(range(0xFE00, 0xFE10)) | {0x20E3: None}  # variation selectors and the keycap


def column_key(name: str | None) -> str:
    """Return the common form of a column's names, without case, spaces and emoji; empty for no column.

    GitHub's templates say *In progress* and *🏗 In progress*, a policy *In Progress*. A name of emoji alone
    is compared as it is.
    """
    folded = unicodedata.normalize("NFKC", (name or "").translate(_EMOJI_STYLE)).casefold()
    kept = "".join(each for each in folded if not unicodedata.category(each).startswith(_IGNORED))
    return kept or (name or "").casefold().strip()


def same_column(first: str | None, second: str | None) -> bool:
    """Whether two names mean the same column, as `column_key` compares them."""
    return column_key(first) == column_key(second)
