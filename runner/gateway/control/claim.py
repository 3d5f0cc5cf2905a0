"""A claim's gateway: when it needs one, what it grants, and what is still to be heard at a turn's end."""

import os
import select
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from ledger.events.agent import HostReached
from ledger.ids import RunId
from runner.agents.contract import Agent
from runner.gateway.control.link import Gateway, Terms
from runner.gateway.control.messages import MESSAGE_BYTES, HostRequest, Settled
from runner.run.run_spec import HostPaths, Provider, ToolSpec
from runner.text.truncate import one_line

SETTLE_S = 3.0
MAX_HOSTS = 200  # told apart at once: an agent could make names up all day


@contextmanager
def gateway_for(
    agent: Agent,
    tools: ToolSpec,
    places: HostPaths,
    name: str,
    *,
    models: tuple[str, ...],
    private_hosts: tuple[str, ...],
    providers: Mapping[str, Provider],
) -> Iterator[Gateway | None]:
    """Give the gateway of the claim called `name` (a run and its generation), gone afterwards; None where the
    agent pays for nothing and the policy grants no network. Raises SpawnError.
    """
    if not agent.secrets and tools.network == "none":
        yield None
        return
    terms = Terms(models, tools.network, tools.hosts, private_hosts)
    wanted = {one: providers[one] for one in agent.secrets if one in providers}
    folder = places.gateways / name
    shutil.rmtree(folder, ignore_errors=True)
    gateway = Gateway.spawn(folder, terms, wanted)
    try:
        yield gateway
    finally:
        gateway.close()


def settle(gateway: Gateway) -> Iterator[str]:
    """Shut the gateway and yield what it says until the last call's usage is told, at most SETTLE_S.

    Nobody else may read its words meanwhile.
    """
    gateway.shut()
    until = time.monotonic() + SETTLE_S
    while message := _next(gateway, until - time.monotonic()):
        yield message
        if any(isinstance(event, Settled) for event in gateway.decode(message)):
            return


def requested_hosts(gateway: Gateway, run_id: RunId) -> tuple[HostReached, ...]:
    """Return which hosts commands asked for since the last turn, each once, at most MAX_HOSTS."""
    found: dict[HostReached, None] = {}
    while message := _next(gateway, 0.0):
        for event in gateway.decode(message):
            if isinstance(event, HostRequest) and len(found) < MAX_HOSTS:
                found[host_reached(run_id, event)] = None
    return tuple(found)


def host_reached(run_id: RunId, asked: HostRequest) -> HostReached:
    """Return the event of a host that was asked for."""
    return HostReached(run_id, one_line(asked.host, 255), asked.port, asked.allowed, one_line(asked.why))


def _next(gateway: Gateway, within_s: float) -> str:
    """Return its next message; empty when none comes in time, or none will any more."""
    if not select.select([gateway.fileno()], [], [], max(0.0, within_s))[0]:
        return ""
    try:
        return os.read(gateway.fileno(), MESSAGE_BYTES + 1).decode("utf-8", "replace")
    except ConnectionResetError:  # it died
        return ""
