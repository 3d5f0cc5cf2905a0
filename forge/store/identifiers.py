"""Numbers and node ids that look like GitHub's."""

import base64
from threading import Lock

# docs.github.com/graphql/guides/using-global-node-ids: opaque, a type prefix, then base64url.
PREFIXES = {
    "user": "U",
    "bot": "BOT",
    "organization": "O",
    "repository": "R",
    "label": "LA",
    "issue": "I",
    "pull": "PR",
    "comment": "IC",
    "review": "PRR",
    "thread": "PRRT",
    "review_comment": "PRRC",
    "reaction": "REA",
    "check_run": "CR",
    "check_suite": "CS",
    "status": "SC",
    "project": "PVT",
    "item": "PVTI",
    "draft_issue": "DI",
    "field": "PVTF",
    "single_select_field": "PVTSSF",
    "value": "PVTFV",
    "status_update": "PVTSU",
    "status_change": "PVTISC",
    "app": "A",
    "installation": "MDIzOkludGVncmF0aW9uSW5zdGFsbGF0aW9u",
}


class Identifiers:
    """Hands out numbers; no number is ever given twice, whatever the resource."""

    def __init__(self, first: int = 1001) -> None:
        self._next = first
        self._lock = Lock()

    def __reduce__(self) -> tuple[type["Identifiers"], tuple[int]]:
        return Identifiers, (self._next,)

    def next_id(self) -> int:
        """Return a number that was not given before."""
        with self._lock:
            number, self._next = self._next, self._next + 1
            return number

    def node_id(self, kind: str, number: int) -> str:
        """Return the global node id of resource `number` of `kind` (a key of PREFIXES)."""
        tail = base64.urlsafe_b64encode(number.to_bytes(6, "big")).decode().rstrip("=")
        return f"{PREFIXES[kind]}_kwDO{tail}"

    def pair(self, kind: str) -> tuple[int, str]:
        """Return a new number and its node id."""
        number = self.next_id()
        return number, self.node_id(kind, number)
