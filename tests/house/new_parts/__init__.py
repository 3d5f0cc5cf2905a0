"""New parts, one file each, with programs that use them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sample:
    """One new part: its text, a program that uses it, and what that prints; `{home}` is an empty folder."""

    file: str
    text: str
    use: str
    prints: str
