"""The server's end of TLS over the streams of a client."""

import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from runner.gateway.network.relay import CHUNK_BYTES, Ends

T = TypeVar("T")


class TlsEnd:
    """Plain bytes of one client: at most `cap_bytes` in both directions together.

    asyncio's own start_tls would lose the bytes that the client sent early.
    Every method raises OSError when the client is gone or breaks TLS.
    """

    def __init__(self, context: ssl.SSLContext, ends: Ends, early: bytes, cap_bytes: int) -> None:
        self._reader, self._writer = ends
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._incoming.write(early)
        self._left_bytes = cap_bytes

    async def open(self) -> None:
        """Shake hands."""
        await self._carried(self._tls.do_handshake)

    async def read(self, n: int) -> bytes:
        """Return at most `n` bytes; none once the client has no more."""
        try:
            chunk = await self._carried(lambda: self._tls.read(n))
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return b""
        self._count(len(chunk))
        return chunk

    async def write(self, data: bytes) -> None:
        """Send bytes, as fast as the client takes them."""
        if data:
            self._count(len(data))
            await self._carried(lambda: self._tls.write(data))

    async def close(self) -> None:
        """Say that this was all."""
        with suppress(ssl.SSLError):  # the client's own goodbye is not waited for
            self._tls.unwrap()
        await self._flush()

    async def _carried(self, act: Callable[[], T]) -> T:
        while True:
            try:
                done = act()
            except ssl.SSLWantReadError:
                await self._flush()
                chunk = await self._reader.read(CHUNK_BYTES)
                if chunk:
                    self._incoming.write(chunk)
                else:
                    self._incoming.write_eof()
            except ssl.SSLError:
                await self._flush()  # its alert says why
                raise
            else:
                await self._flush()
                return done

    async def _flush(self) -> None:
        if self._outgoing.pending:
            self._writer.write(self._outgoing.read())
            await self._writer.drain()

    def _count(self, count_bytes: int) -> None:
        self._left_bytes -= count_bytes
        if self._left_bytes < 0:
            raise ConnectionAbortedError("more bytes than one request may have")
