"""The wait for a store that is away or has no room: somebody may make some."""

from collections.abc import Callable
from typing import TypeVar

from runner.artifacts.backend import OversizedBlobError, StoreError
from runner.errors import RemoteAwayError
from runner.git.credentials import credentials_served
from runner.git.mirror import Beat

T = TypeVar("T")
AGAIN_S = 2.0  # between two questions to a store that is away


def wait_for_store(
    act: Callable[[], T],
    beat: Beat,
    *,
    writes: bool = False,
    within_s: float | None = None,
    say: Callable[[StoreError], None] | None = None,
) -> T:
    """Return the result of `act`; while the store is away, ask again as a start asks GitHub.

    `writes`: a store that cannot be written is waited for as well. `say` is called once, when a wait begins.
    `beat` is called meanwhile, and may raise to end the wait. Raises StoreError for what waiting does not
    mend, and RemoteAwayError after the wait.
    """
    waits = False

    def attempt() -> T:
        nonlocal waits
        try:
            return act()
        except StoreError as error:
            if isinstance(error, OversizedBlobError) or not (error.away or writes):
                raise
            if say is not None and not waits:
                say(error)
            waits = True
            raise RemoteAwayError(str(error), AGAIN_S) from error

    return credentials_served(attempt, beat, within_s)
