"""The head of the event log as a check run's text holds it, for `cardinal audit verify` to read again."""

import re

from ledger.log.hash_chain import ChainReport

_HEAD = re.compile(r"Cardinal's log here: event ([1-9][0-9]{0,17}), digest `([0-9a-f]{64})`")


def text(head: ChainReport) -> str:
    """Return the sentence that names the newest event and its digest."""
    return f"Cardinal's log here: event {head.events}, digest `{head.head}`"


def read(said: str) -> ChainReport | None:
    """Return the head that a check run's text names; None where it names none."""
    found = _HEAD.search(said)
    return ChainReport(int(found[1]), found[2]) if found else None
