"""Credentials for one git command, and the wait for them while their giver is away."""

import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from runner.errors import RemoteAwayError
from runner.run.run_spec import Remote

T = TypeVar("T")
AWAY_S = 900.0  # as long as the start of a run waits for GitHub
NAP_S = 0.5


def fresh(remote: Remote, beat: Callable[[], None]) -> Mapping[str, str]:
    """Return fresh credentials. Raises as `answered` does."""
    return answered(remote.git_environment, beat)


def answered(ask: Callable[[], T], beat: Callable[[], None]) -> T:
    """Return the answer of GitHub; while it is away, ask again for AWAY_S at most.

    `beat` is called meanwhile, and may raise to end the wait. Raises RemoteAwayError after it.
    """
    until = time.monotonic() + AWAY_S
    while True:
        try:
            return ask()
        except RemoteAwayError as away:
            again = time.monotonic() + away.retry_after_s
            if again > until:
                raise
        while time.monotonic() < again:
            beat()
            time.sleep(NAP_S)
