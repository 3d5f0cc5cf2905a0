"""Following a stream of the API to its end, over as many connections as it takes."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import anyio
import httpx2

from bot.web.api.client import ApiClient, connect_api
from bot.web.api.sending import BUSY, ApiProblemError

AGAIN_S = 0.5  # as the stream's `retry` says; doubled for each break in a row
MAX_BREAKS = 5  # in a row, without a message between them
OVER = "over"  # as `bot/web/live/response.py` names the last message

Take = Callable[[dict[str, Any]], None]


async def follow_stream(
    client: ApiClient, name: str, fields: Mapping[str, Any], take: Take, wait_s: float
) -> bool:
    """Hand over each message until the stream is over; False when `wait_s` were over before.

    Raises ApiProblemError, ApiUnreachableError.
    """
    after, breaks = "", 0
    with anyio.move_on_after(wait_s):
        while True:
            try:
                async with client.stream(name, fields, after) as source:
                    async for message in source:
                        breaks = 0
                        if message.event == OVER:
                            return True
                        if message.data:
                            take(json.loads(message.data))
                        after = message.id or after
            except httpx2.TransportError as error:
                if (breaks := breaks + 1) > MAX_BREAKS:
                    raise client.unreachable(str(error) or type(error).__name__) from error
            except ApiProblemError as error:
                if error.status not in BUSY or (breaks := breaks + 1) > MAX_BREAKS:
                    raise
            await anyio.sleep(AGAIN_S * 2**breaks)
    return False


async def _follow_once(client: ApiClient, *how: Any) -> bool:
    async with client.http:
        return await follow_stream(client, *how)


def follow_once(
    url: str, token: str, name: str, fields: Mapping[str, Any], take: Take, *, wait_s: float
) -> bool:
    """Follow as `follow` does, with a client of its own."""
    return anyio.run(_follow_once, connect_api(url, token), name, fields, take, wait_s)
