"""What workers call: each wake-up that somebody can request, and nothing else."""

import inspect
from itertools import chain

from bot.daemon.workers import CALLED
from bot.scheduler import jobs


def test_every_job_of_words_alone_is_called_by_a_queue() -> None:
    """A job that no queue calls is refused by each worker, for ever, and its work is not done."""
    made = {
        name: it
        for name, it in vars(jobs).items()
        if inspect.isfunction(it) and it.__module__ == jobs.__name__
    }
    of_words = {
        name
        for name, it in made.items()
        if not name.startswith("_")
        and {p.annotation for p in inspect.signature(it).parameters.values()} <= {str}
    }
    assert of_words == set(chain.from_iterable(CALLED.values()))
