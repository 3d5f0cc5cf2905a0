"""Limits of waits for another machine that fell silent, and their suspension.

A worker renews its lease after a third of it and is dead when a fifth is left (`runner.exec.deadline`). Of
the default of 15 s that leaves 7 s: for one connection that breaks, and the start of another.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection

from ledger.db.transactions import WAIT_S

SILENCE_S = 4  # without a sign of the other machine
IDLE_S, PROBE_S, PROBES = 2, 1, 2  # the kernel's questions while nothing is sent: SILENCE_S in all
CONNECT_S = 3
# A proxy, or a kernel whose server is stopped, gives signs and no answer. Who waits for the writers' turn is
# answered after WAIT_S at the latest.
ANSWER_S = WAIT_S + 2.0


@contextmanager
def unbound(db: Connection) -> Iterator[None]:
    """Let statements take as long as they need within: those of a migration."""
    driver: Any = db.connection.driver_connection
    limit_s = getattr(driver, "answer_s", None)  # of `ledger.lifecycle.open`
    if limit_s is None:
        yield
        return
    driver.answer_s = None
    try:
        yield
    finally:
        driver.answer_s = limit_s
