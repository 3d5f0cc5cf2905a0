"""Reachable hosts and addresses: names, patterns, ranges. Pure; ambiguous spellings are refused."""

import ipaddress
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from runner.errors import RunnerError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_PORTS = (80, 443)  # of a pattern that names none
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
# All registered special addresses, also those called globally reachable: none of them is a
# host of somebody on the internet; and multicast and the old site-local ones, which they leave out.
# Source: iana.org/assignments/iana-ipv4-special-registry and iana.org/assignments/iana-ipv6-special-registry.
_SPECIAL = tuple(map(ipaddress.ip_network, (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24",
    "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
    "224.0.0.0/4", "240.0.0.0/4", "::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96",
    "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23", "2001:db8::/32", "2002::/16",
    "2620:4f:8000::/48", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
)))  # fmt: skip
_GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_V4_AT_THE_END = tuple(map(ipaddress.IPv6Network, (
    "::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48",
)))  # fmt: skip
# Addresses at which clouds give credentials to any caller, by their own documentation.
_METADATA = tuple(
    map(
        ipaddress.ip_network,
        (
            "169.254.0.0/16",  # AWS, Azure, Google, and all that is link-local
            "fe80::/10",
            "fd00:ec2::/32",  # AWS
            "fd20:ce::254/128",  # Google
            "100.100.100.200/32",  # Alibaba
            "168.63.129.16/32",  # Azure's host
            "192.0.0.192/32",  # Oracle
        ),
    )
)


class BadAuthorityError(RunnerError):
    """The text is no host and port, or an ambiguous one."""

    def __init__(self, text: str) -> None:
        super().__init__(
            f"network: {text[:100]!r} is no plain host: write a name in lower-case ASCII (xn--… for others),"
            " or an address in its usual form"
        )


@dataclass(frozen=True, slots=True)
class NetworkRules:
    """The policy's grants: `network` is none, list or full; `by` is their source.

    Patterns: `example.org`, and `*.example.org` for names below it, each with `:port`; without one the ports
    are 80 and 443. `private_hosts` are the operator's: only these may have an address that is not public.
    """

    network: str = "none"
    hosts: tuple[str, ...] = ()
    private_hosts: tuple[str, ...] = ()
    by: str = "column"


class NetworkAccess:
    """The network that may be asked for now: the column's grants, restricted by a stage."""

    def __init__(self, granted: NetworkRules) -> None:
        self.granted, self._now = granted, granted

    def narrow(self, network: str, hosts: tuple[str, ...]) -> None:
        """Apply these rules in addition to the column's."""
        same = (network, hosts) == (self.granted.network, self.granted.hosts)
        self._now = self.granted if same else NetworkRules(network, hosts, by="stage")

    @property
    def by(self) -> str:
        """The source of the current rules: the column, or its stage."""
        return self._now.by

    @property
    def network(self) -> str:
        """none, list or full, whichever is stricter."""
        return min(self.granted.network, self._now.network, key=("none", "list", "full").index)

    def refusal(self, host: str, port: int) -> str:
        """Return why that host may not be asked for, for the agent; empty when it may."""
        return address_refusal(self.granted, host, port) or address_refusal(self._now, host, port)


def host_and_port(text: str, default_port: int | None = None) -> tuple[str, int]:
    """Return host and port of an authority, with the host in canonical form; IPv6 without brackets.

    Raises BadAuthorityError, also for user names, percent signs and unusual address formats.
    """
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        host, port = text, ""
    if colon and not port and not text.endswith("]"):
        raise BadAuthorityError(text)
    if port and (not _PORT.fullmatch(port) or int(port) > 65535):
        raise BadAuthorityError(text)
    if not port and default_port is None:
        raise BadAuthorityError(text)
    return _host(host, text), int(port) if port else (default_port or 0)


def literal(host: str) -> Address | None:
    """Return the address in a host; None for a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def address_refusal(rules: NetworkRules, host: str, port: int) -> str:
    """Return why that host may not be asked for, for the agent; empty when it may."""
    where = f"`tools: {{network: […]}}` of the {rules.by}"
    match rules.network:
        case "full":
            return ""
        case "list" if _matches(rules.hosts, host, port):
            return ""
        case "list":
            wanted = host if port in _PORTS else f"{host}:{port}"
            return f"network: list does not allow {wanted}: add it to {where}"
    return f"network: none does not allow {host}: set {where}"


def reachable_addresses(
    rules: NetworkRules,
    host: str,
    port: int,
    addresses: Iterable[Address],
    is_own: Callable[[Address], bool],
) -> tuple[Address, ...]:
    """Return the allowed addresses of `host`: public ones, and private ones of the operator's hosts.

    This machine's own addresses (`is_own`) are private, in whatever range. Addresses of metadata services are
    never allowed.
    """
    private = _matches(rules.private_hosts, host, port)
    return tuple(
        address
        for address in addresses
        if (private and may_be_private(address)) or (is_public_address(address) and not is_own(address))
    )


def is_public_address(address: Address) -> bool:
    """Whether an address belongs to the internet, and not to this machine or a private network."""
    address = plain_address(address)
    if isinstance(address, ipaddress.IPv6Address) and address not in _GLOBAL_V6:
        return False
    return not _is_metadata(address) and not _within(address, _SPECIAL)


def may_be_private(address: Address) -> bool:
    """Whether an operator may allow an address that is not public: never that of a metadata service."""
    plain = plain_address(address)
    odd = plain.is_multicast or plain.is_unspecified or plain.is_reserved
    return not odd and not _is_metadata(address)


def plain_address(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 one maps to."""
    if isinstance(address, ipaddress.IPv6Address) and (address.ipv4_mapped or address in _NAT64):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def _list_embedded_addresses(address: Address) -> tuple[Address, ...]:
    """Return an address and the IPv4 addresses embedded in it: mapped, translated, 6to4 and Teredo."""
    if isinstance(address, ipaddress.IPv4Address):
        return (address,)
    inner = [ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)] if _within(address, _V4_AT_THE_END) else []
    inner += [address.sixtofour] if address.sixtofour is not None else []
    inner += address.teredo or ()
    return (address, *inner)


def _is_metadata(address: Address) -> bool:
    return any(_within(variant, _METADATA) for variant in _list_embedded_addresses(address))


def _within(address: Address, networks: Iterable[Network]) -> bool:
    return any(address in network for network in networks if network.version == address.version)


def _matches(patterns: Iterable[str], host: str, port: int) -> bool:
    return any(_fits(pattern.strip().lower(), host, port) for pattern in patterns)


def _fits(pattern: str, host: str, port: int) -> bool:
    below = pattern.startswith("*.")
    try:
        wanted, wanted_port = host_and_port(pattern.removeprefix("*."), 0)
    except BadAuthorityError:
        return False
    named = host.endswith(f".{wanted}") if below else host == wanted
    return named and (port == wanted_port if wanted_port else port in _PORTS)


def _host(text: str, whole: str) -> str:
    if text.startswith("[") and text.endswith("]"):
        address = literal(text[1:-1]) if "%" not in text else None
        if not isinstance(address, ipaddress.IPv6Address):
            raise BadAuthorityError(whole)
        return str(address)
    name = text.lower() if text.isascii() else ""
    name = name.removesuffix(".")
    labels = name.split(".")
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise BadAuthorityError(whole)
    # Some programs read 127.1, 2130706433, 0x7f.1 and 0177.0.0.1 as addresses, others as names.
    if _NUMBER.fullmatch(labels[-1]) and not isinstance(literal(name), ipaddress.IPv4Address):
        raise BadAuthorityError(whole)
    return name
