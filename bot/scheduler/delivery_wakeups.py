"""Wake-ups for a group of deliveries, in one call of Redis."""

import json
import logging
import zlib
from collections.abc import Sequence
from uuid import uuid4

from redis import Redis
from redis.exceptions import RedisError
from rq.job import Job

from bot.scheduler.queues import CONTROL, ECHOES, JOBS, MARK_S, mark_key, queue_key
from ledger.ids import DeliveryId

log = logging.getLogger(__name__)

# A mark, a job and its place in a queue at once: none of them is there without the others. KEYS and ARGV have
# three and four words for each delivery. RQ's own `enqueue_call` takes 17 commands for one job.
_ADD = """
for n = 1, #KEYS / 3 do
  local mark, job, queue = KEYS[n * 3 - 2], KEYS[n * 3 - 1], KEYS[n * 3]
  local name, id, label, data = ARGV[n * 4 - 2], ARGV[n * 4 - 1], ARGV[n * 4], ARGV[n * 4 + 1]
  if redis.call('SET', mark, name .. ' ' .. id, 'NX', 'EX', ARGV[1]) then
    redis.call('HSET', job, 'data', data, 'description', label)
    redis.call('RPUSH', queue, id)
  end
end
"""


def wake_ingestion(redis: Redis, deliveries: Sequence[tuple[DeliveryId, bool]]) -> bool:
    """Wake the ingestion of deliveries, each with whether an app acted; False when Redis did not take it.

    Nothing is added for one that is marked already: if that wake-up is lost, a tick finds the delivery.
    """
    keys: list[str] = []
    words: list[str | int | bytes] = [MARK_S]
    for delivery_id, by_app in deliveries:
        name, rq_id, label = ECHOES if by_app else str(CONTROL), str(uuid4()), f"ingest-{delivery_id}"
        call = json.dumps([f"{JOBS}.ingest", None, [delivery_id], {}])
        keys += (mark_key(label), Job.key_for(rq_id), queue_key(name))
        words += (name, rq_id, label, zlib.compress(call.encode()))
    try:
        redis.eval(_ADD, len(keys), *keys, *words)
    except RedisError as error:
        log.warning("wake-ups lost count=%s error=%s", len(deliveries), type(error).__name__)
        return False
    return True
