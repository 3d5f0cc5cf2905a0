"""A public address of this very machine is not the internet: what listens there is the host's own."""

import shutil
import subprocess
import sys
from ipaddress import ip_address
from pathlib import Path

import pytest

from runner.gateway.network.addresses import NetworkRules, reachable_addresses
from runner.gateway.network.proxy import is_own_address

OWN = ("9.9.9.9", "::ffff:9.9.9.9", "2620:fe::9", "11.1.2.3", "2620:fe:1::77")
OTHERS = ("8.8.8.8", "9.9.9.10", "2620:fe::a", "2001:4860:4860::8888")
NAMESPACE = """set -e
ip link set lo up
ip addr add 9.9.9.9/32 dev lo
ip addr add 2620:fe::9/128 dev lo nodad
ip route add local 11.0.0.0/8 dev lo
ip -6 route add local 2620:fe:1::/48 dev lo
ip link add away type veth peer name far
ip link set far up
ip link set away up
ip addr add 203.0.113.5/24 dev away
ip addr add 2001:db8:5::5/64 dev away nodad
ip route add default via 203.0.113.1 dev away
ip -6 route add default via 2001:db8:5::1 dev away
exec "$@"
"""
ASK = """import sys
from ipaddress import ip_address
from runner.gateway.network.proxy import is_own_address
print(*(is_own_address(ip_address(each)) for each in sys.argv[1:]))
"""


def test_the_kernel_says_which_addresses_are_this_hosts() -> None:
    unshare = shutil.which("unshare")
    assert unshare is not None
    inside = [
        unshare,
        "--net",
        "--map-root-user",
        "/bin/sh",
        "-c",
        NAMESPACE,
        "sh",
        sys.executable,
        "-c",
        ASK,
    ]
    ran = subprocess.run([*inside, *OWN, *OTHERS], capture_output=True, text=True, timeout=60, cwd=Path.cwd())
    assert ran.stdout.split() == ["True"] * len(OWN) + ["False"] * len(OTHERS), ran.stderr


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.9.10", "::1"])
def test_loopback_is_this_hosts(address: str) -> None:
    assert is_own_address(ip_address(address))


def test_an_own_address_is_for_the_operators_hosts_alone() -> None:
    def mine(_: object) -> bool:
        return True

    def foreign(_: object) -> bool:
        return False

    quad9 = (ip_address("9.9.9.9"),)
    rules = NetworkRules("list", ("a.example",), ("b.example",))
    for host, is_own, wanted in (
        ("a.example", mine, ()),
        ("a.example", foreign, quad9),
        ("b.example", mine, quad9),
    ):
        assert reachable_addresses(rules, host, 443, quad9, is_own) == wanted
