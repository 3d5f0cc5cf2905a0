"""Bytes carried between the two ends of a proxied request."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

import h11

CHUNK_BYTES = 1 << 16
_LAST_WORDS_S = 5.0
Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Reads(Protocol):
    """An end that bytes come from; none is its end."""

    async def read(self, n: int) -> bytes:
        """Return at most `n` bytes."""


async def read_request(head: h11.Connection, reader: Reads) -> h11.Request:
    """Return the next request. Raises ConnectionResetError when none comes, and h11's own errors."""
    while True:
        event = head.next_event()
        if isinstance(event, h11.Request):
            return event
        if event is not h11.NEED_DATA:
            raise ConnectionResetError("it closed before it asked for anything")
        head.receive_data(await reader.read(CHUNK_BYTES))


async def send_body(
    head: h11.Connection,
    onwards: h11.Connection,
    reader: Reads,
    writer: asyncio.StreamWriter,
    beat: Callable[[], None],
) -> None:
    """Send the body of the request in `head` onwards."""
    while True:
        event = head.next_event()
        if event is h11.NEED_DATA:
            head.receive_data(await reader.read(CHUNK_BYTES))
            beat()
        elif isinstance(event, h11.Data):
            writer.write(onwards.send(h11.Data(data=event.data)) or b"")
            await writer.drain()
        elif isinstance(event, h11.EndOfMessage):
            writer.write(onwards.send(h11.EndOfMessage()) or b"")
            return
        else:
            raise ConnectionResetError("it went away within its request")


async def pump(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    beat: Callable[[], None],
    checked: Callable[[bytes], bytes] = bytes,
) -> None:
    """Carry bytes until one end has no more."""
    while chunk := await reader.read(CHUNK_BYTES):
        beat()
        writer.write(checked(chunk))
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


async def drain_stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Read the rest: a socket closed with unread bytes would discard its answer."""
    with suppress(OSError):
        writer.write_eof()
        async with asyncio.timeout(_LAST_WORDS_S):
            while await reader.read(CHUNK_BYTES):
                pass


async def close_writer(writer: asyncio.StreamWriter) -> None:
    """Send the rest within the time of an active reader, then close."""
    writer.close()
    try:
        async with asyncio.timeout(_LAST_WORDS_S):
            await writer.wait_closed()
    except (OSError, asyncio.CancelledError):
        abort(writer)


def abort(writer: asyncio.StreamWriter) -> None:
    """End the connection at once; Python 3.11.2, Debian 12's, fails where one with TLS was lost before."""
    with suppress(AttributeError):
        writer.transport.abort()


async def both(first: asyncio.Task[None], second: asyncio.Task[None]) -> None:
    """Wait for two tasks; when one fails, or the wait is cancelled, the other ends too."""
    try:
        await asyncio.wait((first, second), return_when=asyncio.FIRST_EXCEPTION)
    finally:
        first.cancel()
        second.cancel()
        await asyncio.gather(first, second, return_exceptions=True)
