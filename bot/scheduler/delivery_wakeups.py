"""Wake-ups for a group of deliveries, in one call of Redis."""

import hashlib
import json
import logging
import zlib
from collections.abc import Sequence
from uuid import uuid4

from redis import Redis
from redis.exceptions import RedisError
from rq.job import Job

from bot.scheduler.queues import CONTROL, CROWD, ECHOES, JOBS, MARK_S, mark_key, queue_key
from ledger.ids import DeliveryId

log = logging.getLogger(__name__)

# An issue that sends more than so many deliveries within so many seconds is a crowd. All that waits of it
# moves to the crowd's lane, and what follows goes there until that is empty. So no other card waits for
# hundreds, and those of one issue keep their order.
CROWD_SIZE, CROWD_S = 10, 60

# A mark, a job and its place in a queue at once: none of them is there without the others. Each delivery has
# five words. RQ's own `enqueue_call` takes 17 commands for one job.
_ADD = """
local mark_s, crowd_lane, crowd_s, crowd_size, jobs, marks, queues = unpack(ARGV, 1, 7)
local crowds = queues .. crowd_lane
for n = 8, #ARGV, 5 do
  local name, id, label, data, about = unpack(ARGV, n, n + 4)
  local mark, queue = marks .. label, queues .. name
  if redis.call('EXISTS', mark) == 0 then
    if about ~= '' then
      local recent, crowd = 'cardinal:recent:' .. about, 'cardinal:crowd:' .. about
      local before = redis.call('LRANGE', recent, 0, -1)
      local follows = redis.call('EXISTS', crowd) == 1 and redis.call('LLEN', crowds) > 0
      if follows or #before >= tonumber(crowd_size) then
        for _, one in ipairs(follows and {} or before) do
          if redis.call('LREM', queue, 1, one) == 1 then
            redis.call('RPUSH', crowds, one)
            local its = redis.call('HGET', jobs .. one, 'description') or ''
            redis.call('SET', marks .. its, crowd_lane .. ' ' .. one, 'XX', 'KEEPTTL')
          end
        end
        redis.call('SET', crowd, 1, 'EX', mark_s)
        name, queue = crowd_lane, crowds
      else
        redis.call('DEL', crowd)
        redis.call('RPUSH', recent, id)
        if #before == 0 then
          redis.call('EXPIRE', recent, crowd_s)
        end
      end
    end
    redis.call('SET', mark, name .. ' ' .. id, 'EX', mark_s)
    redis.call('HSET', jobs .. id, 'data', data, 'description', label)
    redis.call('RPUSH', queue, id)
  end
end
"""


def wake_ingestion(redis: Redis, deliveries: Sequence[tuple[DeliveryId, bool, str]]) -> bool:
    """Wake the ingestion of deliveries, each with whether an app acted and the id of its issue.

    False when Redis did not take it. Nothing is added for one that is marked already: if that wake-up is
    lost, a tick finds the delivery.
    """
    words: list[str | int | bytes] = [MARK_S, CROWD, CROWD_S, CROWD_SIZE]
    words += Job.key_for(""), mark_key(""), queue_key("")
    for delivery_id, by_app, about in deliveries:
        call = json.dumps([f"{JOBS}.ingest", None, [delivery_id], {}])
        name = ECHOES if by_app else str(CONTROL)
        words += name, str(uuid4()), f"ingest-{delivery_id}", zlib.compress(call.encode())
        words.append(_digest(about) if about and not by_app else "")
    try:
        redis.register_script(_ADD)(args=words)
    except RedisError as error:
        log.warning("wake-ups lost count=%s error=%s", len(deliveries), type(error).__name__)
        return False
    return True


def _digest(about: str) -> str:
    """Return what names an issue in keys."""
    return hashlib.sha256(about.encode(errors="surrogatepass")).hexdigest()[:32]
