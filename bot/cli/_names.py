"""Names of cards, boards and runs, as people write them."""

import re

from ledger.errors import CardinalError

ISSUE = re.compile(r"(?P<repository>[\w.-]+/[\w.-]+)#(?P<number>[0-9]{1,10})")


class UnlistedNameError(CardinalError):
    """No card, board or run has that name."""

    def __init__(self, kind: str, name: str) -> None:
        self.kind, self.name = kind, name
        listing = "`cardinal runs` lists them"
        if kind == "run" and ISSUE.fullmatch(name):
            listing = f"`cardinal show {name}` prints that card with its runs"
        if kind == "card":
            listing = "`cardinal board` lists them as owner/repository#number"
        if kind == "board":
            listing = "`cardinal boards list` lists them as owner/number"
        super().__init__(f"no {kind} named {name!r}: {listing}")
