"""What workers call: each wake-up that somebody can request, and nothing else; and which together."""

import inspect
import time
from itertools import chain
from types import SimpleNamespace

import pytest
from redis import Redis
from rq.serializers import JSONSerializer
from rq.worker import WorkerStatus

from bot.daemon import workers
from bot.daemon.workers import ABOVE, CALLED
from bot.scheduler import jobs, queues
from bot.scheduler.queues import WakeUp


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
    assert of_words | ABOVE.keys() == set(chain.from_iterable(CALLED.values()))


def test_deliveries_that_come_during_the_rest_after_a_group_are_worked_off_together(
    redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups: list[tuple[str, ...]] = []
    lane = [queues.queue(redis, "control")]
    worker = workers.LaneWorker(lane, connection=redis, job_class=WakeUp, serializer=JSONSerializer)
    worker.calls = {workers.INGEST: lambda *ids: groups.append(ids)}

    def meanwhile(rest_s: float) -> None:
        if rest_s > 0:
            assert worker.get_state() == WorkerStatus.BUSY  # else a stop would end it at once, and lose "b"
            queues.request(redis, "ingest", "c")

    monkeypatch.setattr(workers, "REST_S", 60)
    monkeypatch.setattr(workers, "time", SimpleNamespace(sleep=meanwhile, monotonic=time.monotonic))
    for name in ("a", "b"):
        queues.request(redis, "ingest", name)
        taken = worker.dequeue_job_and_maintain_ttl(1)
        assert taken is not None
        worker.execute_job(*taken)
    assert groups == [("a",), ("b", "c")]
