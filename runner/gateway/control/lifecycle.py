"""A gateway's process: forked from its supervisor, stripped of inherited resources, gone with it."""

import asyncio
import gc
import importlib
import os
import resource
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

import uvicorn
import uvicorn.protocols.http.h11_impl  # noqa: F401 - uvicorn would import it in every gateway

from runner.exec.deadline import Deadline
from runner.exec.launch import detach, with_parent
from runner.gateway.control.asgi import App, Receive, Scope, Send
from runner.gateway.control.messages import Warned
from runner.gateway.control.terms import Terms
from runner.gateway.control.uplink import Order, Uplink
from runner.gateway.models import prices, routes, upstream
from runner.gateway.models.proxy import Models
from runner.gateway.network.addresses import NetworkAccess, NetworkRules
from runner.gateway.network.authority import Authority
from runner.gateway.network.proxy import serve_proxy
from runner.gateway.network.secret_tunnel import SecretTunnels
from runner.gateway.servers.tool_servers import ToolServers
from runner.run.provider import Provider

_BOARD = "/board"
_FAILED = 70  # source: sysexits.h, EX_SOFTWARE
_KEEP_S = 120
POLL_S = 0.5  # between two looks at the clock: a wait stands still while the machine sleeps


def warm() -> None:
    """Load everything that a gateway would load at its first calls."""
    prices.warm()
    upstream.trust()
    importlib.import_module("runner.gateway.control.mcp_server")
    importlib.import_module("httpcore2")
    importlib.import_module("anyio._backends._asyncio")


def fork(
    line: socket.socket,
    listeners: tuple[socket.socket, ...],
    terms: Terms,
    providers: Mapping[str, Provider],
    deadline: Deadline,
    *,
    certificates: Path | None = None,
) -> int:
    """Fork a gateway that serves these sockets and return its pid. Raises OSError.

    The sockets are those of models and network, and of the network of each tool server with hosts.

    `certificates` gets the certificate of its own authority, where the terms have secrets for hosts.
    It ends by itself at the deadline, whatever became of the other processes.
    """
    arrange = with_parent(expendable=True)
    pid = os.fork()
    if pid:
        return pid
    try:
        gc.freeze()  # or the collector would touch, and so copy, every page that is shared
        arrange()
        _forget((line, *listeners))
        asyncio.run(_live(line, listeners, terms, providers, deadline, certificates=certificates))
    finally:
        os._exit(_FAILED)  # never the parent's finally blocks, exit hooks and buffers


def _forget(kept: tuple[socket.socket, ...]) -> None:
    """Drop the parent's descriptors, signal handlers, terminal and environment."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    detach((0, 1, 2, *(open_socket.fileno() for open_socket in kept)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core would hold the keys
    os.environ.clear()


async def _live(
    line: socket.socket,
    listeners: tuple[socket.socket, ...],
    terms: Terms,
    providers: Mapping[str, Provider],
    deadline: Deadline,
    *,
    certificates: Path | None,
) -> None:
    def handle_order(order: Order) -> None:
        servers.handle_order(order)
        if order["type"] != "attach":
            models.handle_order(order)

    uplink = Uplink(line, handle_order=handle_order, gone=lambda: os._exit(0))
    servers = ToolServers(uplink, terms.servers, earlier=terms.server_calls)
    access = NetworkAccess(NetworkRules(terms.network, terms.hosts, terms.private_hosts))
    models = Models(terms, providers, uplink, routes.open_transport(), time.monotonic, access=access)
    secrets = _secret_tunnels(terms, uplink, certificates)
    uplink.tell({"type": "ready"})
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_serve_models(listeners[0], _app(models, uplink, servers)))
            tasks.create_task(serve_proxy(listeners[1], access, uplink.tell, secrets=secrets))
            for server, listener in zip((s for s in terms.servers if s.hosts), listeners[2:], strict=False):
                rules = NetworkRules("list", server.hosts, terms.private_hosts, f"tool server {server.name}")
                tasks.create_task(serve_proxy(listener, NetworkAccess(rules), uplink.tell))
            tasks.create_task(_end_at(deadline))
    except BaseException as error:
        uplink.say(Warned(f"the gateway stopped: {type(error).__name__}"))
        raise
    finally:
        servers.close()


def _secret_tunnels(terms: Terms, uplink: Uplink, certificates: Path | None) -> SecretTunnels | None:
    """Make the authority of this claim, and show its certificate beside the machine's own."""
    if not terms.added or certificates is None:
        return None
    authority = Authority(tuple(header.host for header in terms.added))
    with certificates.open("ab") as bundle:
        bundle.write(authority.certificate)
    return SecretTunnels(terms.added, authority, upstream.trust(), uplink.tell)


async def _end_at(deadline: Deadline) -> NoReturn:
    while (left_s := deadline.left_s) > 0:
        await asyncio.sleep(min(left_s, POLL_S))
    os._exit(0)


async def _serve_models(listener: socket.socket, app: App) -> NoReturn:
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            http="h11",
            loop="asyncio",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_keep_alive=_KEEP_S,
        )
    )
    await server.serve(sockets=[listener])
    raise SystemExit("the server of models stopped")


def _app(models: Models, uplink: Uplink, servers: ToolServers) -> App:
    board = importlib.import_module("runner.gateway.control.mcp_server").board_app(uplink, servers)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if path == _BOARD or path.startswith(_BOARD + "/"):
            await board({**scope, "path": path.removeprefix(_BOARD) or "/"}, receive, send)
        else:
            await models(scope, receive, send)

    return app
