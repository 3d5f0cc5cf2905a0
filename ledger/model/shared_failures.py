"""Failures of runs with a cause that other cards share: a provider, its key, the engine, an image."""

import re

SHARED = ("provider", "spawn_failed")  # reasons of RunEnded that say nothing about the card itself
BY_ITSELF = "Cardinal"  # who lifts a halt when a run has shown that its cause is gone
_PART = re.compile(r"[0-9a-f]{8,}|[0-9]+", re.IGNORECASE)
_MAX = 120


def shared_cause(reason: str, detail: str) -> str:
    """Return a text that is the same for the same cause on other cards; empty for a cause of the card's own.

    Numbers and digests in `detail` tell one attempt from the next, so they count for nothing.
    """
    if reason not in SHARED:
        return ""
    return f"{reason}: {' '.join(_PART.sub('#', detail).split())[:_MAX]}"
