"""Ctrl-C and SIGTERM as an event, for programs that serve until then."""

import signal
from threading import Event

POLL_S = 1.0  # another thread may take the signal: only then does the main thread notice it


def stop_event() -> Event:
    """Return the event that both signals set from now on."""
    stopped = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    return stopped


def wait_for_stop(stopped: Event) -> None:
    while not stopped.wait(POLL_S):
        pass
