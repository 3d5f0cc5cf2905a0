"""Counts of refused deliveries by reason, shared by all web processes: a flood of them writes no event."""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Mapping
from enum import StrEnum

from bot.github.errors import UnavailableError
from bot.github.shared_records import SharedRecords

log = logging.getLogger(__name__)
RECORD = "refused deliveries"
GATHER_S = 1.0  # between two writes of a process, however many a stranger sends


class DeliveryRefusal(StrEnum):
    """Why a delivery was refused."""

    UNSIGNED = "unsigned"
    SIGNATURE = "signature"  # another secret's, or of another body
    HEADERS = "headers"
    CONTENT_TYPE = "content_type"
    NOT_JSON = "not_json"
    NOT_STORED = "not_stored"  # GitHub has it as failed, and Cardinal asks for it again


class RefusalCounts:
    """The counts of this process that are not in the shared records yet."""

    def __init__(self, records: SharedRecords) -> None:
        self._records = records
        self._fresh = Counter[DeliveryRefusal]()
        self._writing: asyncio.Task[None] | None = None

    def add(self, refusal: DeliveryRefusal) -> None:
        """Count one more; it is written within seconds."""
        self._fresh[refusal] += 1
        if self._writing is None or self._writing.done():
            self._writing = asyncio.ensure_future(self._write())

    async def _write(self) -> None:
        while self._fresh:
            await asyncio.sleep(GATHER_S)
            fresh, self._fresh = self._fresh, Counter()
            try:
                await asyncio.to_thread(_add, self._records, fresh)
            except (UnavailableError, OSError) as error:
                log.warning("refused deliveries not counted reason=%s", error)
                self._fresh.update(fresh)  # for the next one
                return


def _add(records: SharedRecords, fresh: Counter[DeliveryRefusal]) -> None:
    def update(record: bytes, _now_s: float) -> tuple[bytes, None]:
        return json.dumps(_counts(record) + fresh).encode(), None

    records.change(RECORD, update)


def read(records: SharedRecords) -> Mapping[DeliveryRefusal, int]:
    """Return how many deliveries were refused for each reason. Raises UnavailableError."""
    counts = _counts(records.read(RECORD)[0])
    return {refusal: counts[refusal] for refusal in DeliveryRefusal}


def _counts(record: bytes) -> Counter[DeliveryRefusal]:
    return Counter(json.loads(record or b"{}"))
