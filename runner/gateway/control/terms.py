"""Terms of a gateway for a claim: its providers and hosts, their limits, and its waits."""

from dataclasses import dataclass, field

from runner.gateway.network.added_header import AddedHeader


@dataclass(frozen=True, slots=True)
class ToolServerTerms:
    """The gateway's terms of a tool server: `tools` may be called, `hosts` reached.

    `hidden` are secrets that its results may not show.
    """

    name: str
    tools: tuple[str, ...]
    hosts: tuple[str, ...] = ()
    hidden: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Waits:
    """Timeouts of a provider's answer: to connect, to the first byte, and between two bytes.

    A model may think in silence for minutes; an unstreamed answer comes whole at its end. `abandoned_s` is
    for the rest of an answer whose client is gone: its end has the figures.
    """

    connect_s: float = 10.0
    first_byte_s: float = 600.0
    idle_s: float = 300.0
    abandoned_s: float = 180.0  # less than the silence after which a run has failed: a call may wait for it


@dataclass(frozen=True, slots=True)
class Terms:
    """Grants of a gateway for a whole claim. `models` may be asked for; `narrow` may restrict the network.

    `failures` of a provider in a row end its calls. `calls_per_minute` counts calls of models. `server_calls`
    are those of the run's earlier claims. `added` are headers with secrets for hosts.
    """

    models: tuple[str, ...]
    network: str = "none"
    hosts: tuple[str, ...] = ()
    private_hosts: tuple[str, ...] = ()
    failures: int = 5
    calls_per_minute: int = 120
    request_bytes: int = 32_000_000  # source: docs.anthropic.com/en/api/overview, its own limit
    waits: Waits = Waits()
    servers: tuple[ToolServerTerms, ...] = ()
    server_calls: int = 0
    added: tuple[AddedHeader, ...] = ()
