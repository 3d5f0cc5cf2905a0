"""An agent that subscribes to a job or a run is notified when it changes, by either way of the protocol."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp_types import (
    EmptyResult,
    ResourceUpdatedNotification,
    SubscribeRequest,
    SubscribeRequestParams,
    UnsubscribeRequest,
    UnsubscribeRequestParams,
)

from bot.web.api.client import connect_api
from bot.web.live.streams import StreamLimits
from bot.web.mcp import server, subscriptions
from bot.web.mcp.subscriptions import Subscriptions
from ledger.events.run import Noted
from tests.bot.flows.cardinal import Cardinal
from tests.bot.web.api.program import Program
from tests.bot.web.live.serving import serving
from tests.bot.web.mcp.test_server import name_of
from tests.bot.web.pages.forms import at_work
from tests.bot.web.pages.world import Pages

WAIT_S = 30
LIMITS = StreamLimits(life_s=0.5, look_s=0.02)


def subscribed(pages: Pages, mode: str, conversation: Callable[[Client, Any], Awaitable[None]]) -> None:
    """Let a client of bob's talk to a server that sends notifications; it gets the changed addresses, too."""

    async def whole(url: str) -> None:
        send, changed = anyio.create_memory_object_stream[str](100)

        async def take(message: object) -> None:
            if isinstance(message, ResourceUpdatedNotification):
                await send.send(str(message.params.uri))

        client = connect_api(url, Program(pages, "bob").token)
        mine = Subscriptions(client)
        async with client.http, send, changed, anyio.create_task_group() as tasks:
            tasks.start_soon(mine.serve)
            made = server.make_server(client, "s", mine)
            with anyio.fail_after(WAIT_S):
                async with Client(made, mode=mode, message_handler=take) as agent:
                    await conversation(agent, changed)
            tasks.cancel_scope.cancel()

    with serving(pages.app, pages.cardinal.services.engine, LIMITS) as (host, port):
        anyio.run(whole, f"http://{host}:{port}")


async def subscribe(client: Client, uri: str) -> None:
    """Subscribe as clients did before 2026-07-28: the package's own method warns of it."""
    about = SubscribeRequest(params=SubscribeRequestParams(uri=uri))
    await client.session.send_request(about, EmptyResult)


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_client_that_subscribes_to_resources_is_told_of_them_alone(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscriptions, "MAX_SUBSCRIBED", 2)
    item = at_work(pages)
    run_id, other = pages.cardinal.run_of(item).run_id, pages.cardinal.run_of(at_work(pages)).run_id
    job = f"cardinal://jobs/ACME/shop/{name_of(pages, item)['number']}"

    async def conversation(client: Client, changed: Any) -> None:
        for uri in (job, f"cardinal://runs/{other}"):
            await subscribe(client, uri)
        for uri in ("cardinal://runs/r999", f"cardinal://runs/{run_id}"):  # not there, and too many
            with pytest.raises(MCPError):
                await subscribe(client, uri)
        pages.cardinal.write(run_id, Noted(run_id, "One"))
        assert await changed.receive() == job
        about = UnsubscribeRequest(params=UnsubscribeRequestParams(uri=job))
        await client.session.send_request(about, EmptyResult)
        pages.cardinal.write(run_id, Noted(run_id, "Two"))
        pages.cardinal.write(other, Noted(other, "Three"))
        assert await changed.receive() == f"cardinal://runs/{other}"

    subscribed(pages, "legacy", conversation)


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_client_that_listens_is_told_of_what_it_names(pages: Pages) -> None:
    item = at_work(pages)
    run_id = pages.cardinal.run_of(item).run_id
    uris = (f"cardinal://runs/{run_id}", f"cardinal://jobs/ACME/shop/{name_of(pages, item)['number']}")

    async def conversation(client: Client, _changed: Any) -> None:
        for uri in uris:
            async with client.listen(resource_subscriptions=[uri]) as events:
                pages.cardinal.write(run_id, Noted(run_id, f"About {uri}"))
                event = await anext(aiter(events))
                assert event.uri == uri  # type: ignore[union-attr]

    subscribed(pages, "auto", conversation)
