"""Guard against work that hangs its worker again and again: it is set aside, and named."""

from collections.abc import Iterator
from contextlib import contextmanager

from rq.timeouts import JobTimeoutException
from sqlalchemy import Engine

from bot.system.current_work import working_on
from ledger.errors import CardinalError
from ledger.ids import DeliveryId
from ledger.log import event_store
from ledger.queue import hangs


class SetAsideError(CardinalError):
    """Work hung its worker too often; or a part of it did lately, and has to be done alone."""

    def __init__(self, name: str, times: int) -> None:
        self.name, self.times, self.because = name, times, f"it hung its worker {times} times"
        super().__init__(f"{name} was not done: {self.because}; {way_on(name, times)}")


def way_on(name: str, times: int) -> str:
    """Return its fate, and the next step."""
    if times < hangs.MAX_HANGS:
        return "it is retried by itself"
    if name.startswith(delivery_name(DeliveryId(""))):
        return "it is set aside; retry it with `cardinal replay`"
    return "it is set aside for a day; report it with the workers' log"


def delivery_name(delivery_id: DeliveryId) -> str:
    return f"delivery:{delivery_id}"


@contextmanager
def guard_hangs(engine: Engine, *names: str) -> Iterator[None]:
    """Have the work of these names at hand meanwhile, so that a hang counts for each of them.

    Raises SetAsideError, before anything is done, for one that hung too often, and for several of which one
    hung lately.
    """
    with event_store.reading(engine) as db:
        times = hangs.hang_counts(db, names)
    for name, count in times.items():
        if count >= hangs.MAX_HANGS or len(names) > 1:
            raise SetAsideError(name, count)
    try:
        with working_on(*names):
            yield
    except JobTimeoutException:  # a hang that its worker survived
        with event_store.writing(engine) as db:
            hangs.count_hang(db, names)
        raise
    if times:
        with event_store.writing(engine) as db:
            hangs.forget_hangs(db, names)
