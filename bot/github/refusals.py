"""The meaning of GitHub's refusals, by their status and words: the table `refusals.toml`."""

import tomllib
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path


class Meaning(StrEnum):
    """Whether the same call may succeed later; HELD: only after a change outside Cardinal."""

    NOT_YET = "not_yet"
    HELD = "held"
    NEVER = "never"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Refusal:
    """One kind of refusal: `statuses` (200: an error of GraphQL), all `words` in lower case, the next step.

    `call` is a part of the calls' names; empty for all.
    """

    meaning: Meaning
    statuses: tuple[int, ...] = ()
    words: tuple[str, ...] = ()
    call: str = ""
    advice: str = "Cardinal tries again by itself"
    source: str = ""


UNKNOWN = Refusal(Meaning.UNKNOWN, advice="change what GitHub names, then ask again")


@cache
def list_refusals() -> tuple[Refusal, ...]:
    """Return the table, in its order."""
    rows = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["refusal"]
    return tuple(
        Refusal(
            **{
                **row,
                "meaning": Meaning(row["meaning"]),
                "statuses": tuple(row["statuses"]),
                "words": tuple(row["words"]),
            }
        )
        for row in rows
    )


def classify(call: str, status: int, because: str) -> Refusal:
    """Return the first kind that fits the answer; UNKNOWN for any other."""
    said = because.lower().replace("’", "'")
    of_call = (refusal for refusal in list_refusals() if refusal.call in call and status in refusal.statuses)
    return next((refusal for refusal in of_call if all(word in said for word in refusal.words)), UNKNOWN)
