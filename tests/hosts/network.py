"""The network of a site: one bridge, a namespace for each host, and the ways to break the wires between.

All of it is made inside of namespaces of the story's own process: nothing of it outlives that process.
"""

import subprocess
from collections.abc import Sequence

NET = "10.77.0."
FORGE, DATABASE, REDIS, STORE = (f"{NET}{number}" for number in range(1, 5))
SERVICES = {"forge": FORGE, "database": DATABASE, "redis": REDIS, "store": STORE}
_NOBODY = "02:00:00:00:00:fe"  # what is sent there is dropped: a cable that is cut says nothing, either
LIMIT_S = 60


def ip(*words: str) -> None:
    """Run iproute2's program."""
    done = subprocess.run(("ip", *words), capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr}"


def address_of(number: int) -> str:
    """Return the address of the host of that number."""
    return f"{NET}{10 + number}"


def make_bridge() -> None:
    """Make the bridge, with the addresses of all services."""
    ip("link", "set", "lo", "up")
    ip("link", "add", "br0", "type", "bridge")
    ip("link", "set", "br0", "up")
    for address in SERVICES.values():
        ip("address", "add", f"{address}/24", "dev", "br0")


def add_host(name: str, number: int) -> None:
    """Make the host's namespace, with one wire to the bridge."""
    ip("netns", "add", name)
    ip("link", "add", f"to-{name}", "type", "veth", "peer", "name", "eth0", "netns", name)
    ip("link", "set", f"to-{name}", "master", "br0")
    ip("link", "set", f"to-{name}", "up")
    ip("-n", name, "address", "add", f"{address_of(number)}/24", "dev", "eth0")
    ip("-n", name, "link", "set", "eth0", "up")
    ip("-n", name, "link", "set", "lo", "up")


def inside(name: str) -> tuple[str, ...]:
    """Return the words that start a program in the host's network."""
    return ("nsenter", f"--net=/run/netns/{name}")


def cut(name: str, services: Sequence[str]) -> None:
    """Drop what the host sends to these services."""
    for service in services:
        ip(
            "-n",
            name,
            "neigh",
            "replace",
            SERVICES[service],
            "lladdr",
            _NOBODY,
            "nud",
            "permanent",
            "dev",
            "eth0",
        )


def mend(name: str, services: Sequence[str]) -> None:
    """End `cut`."""
    for service in services:
        ip("-n", name, "neigh", "del", SERVICES[service], "dev", "eth0")


def unplug(name: str) -> None:
    """Drop all that goes to the host and comes from it."""
    ip("link", "set", f"to-{name}", "down")


def plug(name: str) -> None:
    """End `unplug`."""
    ip("link", "set", f"to-{name}", "up")
