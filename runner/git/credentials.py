"""Credentials for one git command, and the wait for them while their giver is away."""

import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from runner.errors import RemoteAwayError
from runner.run.run_spec import Remote

T = TypeVar("T")
AWAY_S = 900.0  # as long as the start of a run waits for GitHub
LIMITED_S = 2 * 3600.0  # GitHub's hour, and once more: the work of a run is not given up for a reset
NAP_S = 0.5


def fresh(remote: Remote, beat: Callable[[], None]) -> Mapping[str, str]:
    """Return fresh credentials. Raises as `answered` does."""
    return credentials_served(remote.git_environment, beat)


def credentials_served(ask: Callable[[], T], beat: Callable[[], None], within_s: float | None = None) -> T:
    """Return the answer of GitHub; while it is away, ask again for `within_s`, or until its limit is reset.

    `beat` is called meanwhile, and may raise to end the wait. Raises RemoteAwayError after it: without a
    time, that is after AWAY_S.
    """
    began, most_s = time.monotonic(), AWAY_S if within_s is None else within_s
    while True:
        try:
            return ask()
        except RemoteAwayError as away:
            again = time.monotonic() + away.retry_after_s
            if again > began + (LIMITED_S if away.limited else most_s):
                raise
        while time.monotonic() < again:
            beat()
            time.sleep(NAP_S)
