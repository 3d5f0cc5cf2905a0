"""A claim's gateway: its start, its grants, and its last messages at a turn's end."""

import os
import select
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

from ledger.events.agent import HostReached, SecretSent
from ledger.events.run import CHECK
from ledger.events.turn import OWN_LOGIN
from ledger.ids import RunId
from runner.agents.contract import AgentAdapter, Metering
from runner.errors import MissingSecretError
from runner.exec.deadline import Deadline
from runner.gateway.control.link import Gateway
from runner.gateway.control.messages import MESSAGE_BYTES, Drained, HostRequest, SecretUse
from runner.gateway.control.terms import Terms, ToolServerTerms
from runner.gateway.network.added_header import AddedHeader
from runner.run.provider import Provider
from runner.run.run_spec import HostPaths, RunSpec
from runner.text.plain import one_line

DRAIN_S = 3.0
MAX_HOSTS = 200  # a limit, since an agent could invent names all day


def gateway_of(
    spec: RunSpec,
    agent: AgentAdapter,
    models: tuple[str, ...],
    providers: Mapping[str, Provider],
    deadline: Deadline,
    *,
    tool_secrets: Mapping[str, str] | None = None,
    server_calls: int = 0,
) -> AbstractContextManager[Gateway | None]:
    """Return the gateway of a claimed run, as `gateway_for` does; it ends at the claim's deadline.

    `server_calls` are those of tool servers in the run's earlier claims.

    Raises MissingSecretError too.
    """
    known = tool_secrets or {}
    terms = Terms(
        models,
        spec.tools.network,
        spec.tools.hosts,
        spec.private_hosts,
        servers=tuple(_servers(spec, known)),
        server_calls=server_calls,
        added=_list_added_headers(spec, known),
    )
    return gateway_for(
        agent, terms, spec.paths, f"{spec.run_id}-{spec.generation}", providers, deadline=deadline
    )


@contextmanager
def gateway_for(
    agent: AgentAdapter,
    terms: Terms,
    places: HostPaths,
    name: str,
    providers: Mapping[str, Provider],
    *,
    deadline: Deadline | None = None,
) -> Iterator[Gateway | None]:
    """Give a gateway for the time of a `with`; its folder has that name. Raises SpawnError.

    None where the agent needs none, and the terms grant neither a network nor a tool server.
    """
    if agent.trusted and terms.network == "none" and not terms.servers:
        yield None
        return
    wanted = _payable(agent, providers)
    folder = places.gateways / name
    servers = places.servers / name
    for stale in (folder, servers):
        shutil.rmtree(stale, ignore_errors=True)
    gateway = Gateway.spawn(folder, terms, wanted, deadline, servers=servers)
    try:
        yield gateway
    finally:
        gateway.close()


def _servers(spec: RunSpec, secrets: Mapping[str, str]) -> Iterator[ToolServerTerms]:
    """Yield the terms of the tool servers of which the policy grants a tool; none where no agent works."""
    for server in () if spec.kind == CHECK else spec.servers:
        names = (name.partition("__") for name in spec.tools.mcp)
        tools = tuple(tool for whose, _, tool in names if whose == server.name)
        if tools:
            hidden = tuple(secrets[name] for name in server.secrets if name in secrets)
            yield ToolServerTerms(server.name, tools, server.hosts, hidden)


def _list_added_headers(spec: RunSpec, secrets: Mapping[str, str]) -> tuple[AddedHeader, ...]:
    """Return the headers for hosts; raises MissingSecretError for values that are not there, or no header."""
    names = dict.fromkeys(secret.name for secret in spec.secrets)
    # Blanks at an end would be lost on the way, and all but ASCII is sent by everybody in another way.
    unfit = tuple(
        n for n in names if not secrets.get(n, "").isascii() or not secrets.get(n, "").isprintable()
    )
    missing = tuple(name for name in names if not secrets.get(name, "").strip())
    if missing or unfit:
        raise MissingSecretError(spec.repository, missing or unfit, "the column")
    return tuple(
        AddedHeader.of(secret.host, secret.name, secret.header, secret.format, secrets[secret.name].strip())
        for secret in spec.secrets
    )


def payer(agent: AgentAdapter, model: str, providers: Mapping[str, Provider]) -> str:
    """Return the name of the provider that is paid for the agent's model; empty where none is."""
    if agent.metering is Metering.AGENT:
        return OWN_LOGIN
    from runner.gateway.models.routes import payer_of  # its imports are for who has a gateway

    paid = payer_of(agent.provider(model), _payable(agent, providers)) if agent.secrets else None
    return paid.name if paid is not None else ""


def _payable(agent: AgentAdapter, providers: Mapping[str, Provider]) -> dict[str, Provider]:
    return {name: providers[name] for name in agent.secrets if name in providers}


def drain_usage(gateway: Gateway) -> Iterator[str]:
    """Shut the gateway and yield its messages up to the last call's usage, for at most DRAIN_S.

    Nothing else may read its messages meanwhile.
    """
    gateway.shut()
    until = time.monotonic() + DRAIN_S
    while message := _next(gateway, until - time.monotonic()):
        yield message
        if any(isinstance(event, Drained) for event in gateway.decode(message)):
            return


def take_requested_hosts(gateway: Gateway, run_id: RunId) -> tuple[HostReached | SecretSent, ...]:
    """Return the hosts that commands asked for since the last turn, each once, at most MAX_HOSTS; and how
    often they got which secret.
    """
    hosts: dict[HostReached, None] = {}
    uses: Counter[tuple[str, str]] = Counter()
    while message := _next(gateway, 0.0):
        for event in gateway.decode(message):
            if isinstance(event, HostRequest) and len(hosts) < MAX_HOSTS:
                hosts[host_reached(run_id, event)] = None
            elif isinstance(event, SecretUse):
                uses[event.host, event.secret] += 1
    return *hosts, *(secret_sent(run_id, SecretUse(*use), times) for use, times in uses.items())


def secret_sent(run_id: RunId, use: SecretUse, times: int = 1) -> SecretSent:
    return SecretSent(run_id, one_line(use.host, 255), one_line(use.secret, 60), times)


def host_reached(run_id: RunId, request: HostRequest) -> HostReached:
    return HostReached(
        run_id, one_line(request.host, 255), request.port, request.allowed, one_line(request.why)
    )


def _next(gateway: Gateway, within_s: float) -> str:
    """Return the next message; empty when none comes in time, or ever."""
    if not select.select([gateway.fileno()], [], [], max(0.0, within_s))[0]:
        return ""
    try:
        return os.read(gateway.fileno(), MESSAGE_BYTES + 1).decode("utf-8", "replace")
    except ConnectionResetError:  # it died
        return ""
