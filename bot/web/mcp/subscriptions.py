"""Subscriptions to jobs and runs: one stream of the API for all of a client's, a notification per change.

Clients of 2026-07-28 listen, those before it subscribe to each resource.
Source: modelcontextprotocol.io/specification/2025-11-25/server/resources.
"""

import logging
import math
from collections import Counter
from typing import Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated
from mcp_types import (
    INVALID_PARAMS,
    EmptyResult,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)

from bot.web.api.client import ApiClient
from bot.web.api.following import follow_stream
from bot.web.api.sending import ApiProblemError, ApiUnreachableError
from bot.web.mcp import resources
from ledger.errors import CardinalError

log = logging.getLogger(__name__)
Context = ServerRequestContext[Any, Any]
MAX_SUBSCRIBED = 100  # resources, and streams that listen
AGAIN_S = 30.0


class Subscriptions:
    """The subscriptions of one client. Until there is one, nothing is followed."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client
        self._sessions = dict[str, Any]()  # by the resource's address, for a name in whatever case
        self._bus = InMemorySubscriptionBus()
        self._listen = ListenHandler(self._bus, max_subscriptions=MAX_SUBSCRIBED)
        self._listened = Counter[str]()  # addresses as clients spell them
        self._after = 0
        self._changed = dict[str, None]()
        self._wanted, self._stirred = anyio.Event(), anyio.Event()

    async def subscribe(self, context: Context, sent: SubscribeRequestParams) -> EmptyResult:
        """Let the client know when the resource changes. Raises MCPError."""
        uri = str(sent.uri)
        if len(self._sessions) >= MAX_SUBSCRIBED and uri not in self._sessions:
            because = f"a client may subscribe to up to {MAX_SUBSCRIBED} resources: unsubscribe from some"
            raise MCPError(INVALID_PARAMS, because)
        await resources.read(self._client, uri)
        await self._begin()
        self._sessions[uri] = context.session
        return EmptyResult()

    async def unsubscribe(self, _context: Context, sent: UnsubscribeRequestParams) -> EmptyResult:
        """Let it know no more."""
        self._sessions.pop(str(sent.uri), None)
        return EmptyResult()

    async def listen(
        self, context: Context, sent: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Let the client know of all that it names, until it leaves."""
        await self._begin()
        names = sent.notifications.resource_subscriptions or []
        self._listened.update(names)
        try:
            return await self._listen(context, sent)
        finally:
            self._listened.subtract(names)
            self._listened = +self._listened

    async def _begin(self) -> None:
        """Begin to follow, from now on. Raises MCPError."""
        if self._wanted.is_set():
            return
        try:
            self._after = (await self._client.call("follow_events", {}))["last"]
        except (ApiProblemError, ApiUnreachableError) as error:
            raise MCPError(INVALID_PARAMS, str(error)) from error
        self._wanted.set()

    async def serve(self) -> None:
        """Follow the log and pass events on, until cancelled."""
        await self._wanted.wait()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._follow)
            while True:
                await self._stirred.wait()
                self._stirred = anyio.Event()
                changed, self._changed = self._changed, {}
                for uri in changed:
                    await self._tell(uri)

    async def _follow(self) -> None:
        while True:
            try:
                await follow_stream(
                    self._client, "follow_events", {"after": self._after}, self._take, math.inf
                )
            except CardinalError as error:
                log.warning("no news of resources reason=%s", error)
            await anyio.sleep(AGAIN_S)
            self._take({})

    def _take(self, event: dict[str, Any]) -> None:
        """Note which resources an event is about: all of them, where events may be missing."""
        names = [*self._sessions, *self._listened]
        if "text" in event:
            self._after = event["seq"]
            names = [resources.address("run", run=event["run"])] if event["run"] else []
            owner, _, repository = event["repository"].partition("/")
            names.append(resources.address("job", owner=owner, repository=repository, number=event["number"]))
        self._changed |= dict.fromkeys(names)
        self._stirred.set()

    async def _tell(self, uri: str) -> None:
        same = (it for it in list(self._listened) if it.casefold() == uri.casefold())
        for listened in same:
            await self._bus.publish(ResourceUpdated(uri=listened))
        for subscribed, session in list(self._sessions.items()):
            if subscribed.casefold() == uri.casefold():
                await session.send_resource_updated(subscribed)
