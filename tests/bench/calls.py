"""What calls of the forge's record are: their kind, and how often each was made."""

import re
from collections import Counter
from collections.abc import Iterable

# What differs from one thing to the next: numbers, commits, names of branches and files.
NAMED = re.compile(r"(?<=/)([0-9a-f]{40}|\d+)(?=/|$)|(?<=/git/ref/heads/).+|(?<=/contents/).+")


def kind(method: str, path: str, operation: str) -> str:
    """Return the GraphQL operation as `query Card`, or method and path without what differs."""
    if operation:
        return " ".join(operation.split("(", 1)[0].split("{", 1)[0].split())
    return f"{method} {NAMED.sub('…', path)}"


def count(kinds: Iterable[tuple[str, int]]) -> dict[str, float]:
    """Return the sum of each kind, the largest first."""
    counted: Counter[str] = Counter()
    for name, many in kinds:
        counted[name] += many
    return dict(counted.most_common())
