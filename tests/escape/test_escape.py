"""From inside a run's container every way out is tried: without a network, and with a list of hosts."""

import json
import os
import select
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.exec.child import finish
from runner.gateway.control.link import Gateway
from runner.gateway.control.messages import HostRequest
from runner.gateway.control.terms import Terms
from tests.containers.conftest import bench
from tests.containers.engine import Bench, hear_until, start
from tests.escape.outside import SECRET, Outside, outside

__all__ = ["bench"]
pytestmark = pytest.mark.timeout(300)
PROBE = Path(__file__).with_name("probe.py")
CANARY = "CARDINAL_ESCAPE_CANARY"
SERVE = """import socket, time
server = socket.create_server(('0.0.0.0', 5000))
print('serving', flush=True)
time.sleep(100)
"""
FILES = (
    "/etc/shadow", "/var/run/docker.sock", "/run/docker.sock", "/dev/sda", "/dev/vda",
    "/dev/mem", "/dev/kmsg", "/mirror/HEAD", "/workspace/out/x", "/workspace/card",
)  # fmt: skip
UNWRITABLE = (
    "/etc/passwd", "/etc/hosts", "/etc/resolv.conf", "/usr/bin/x", "/player/enter.sh", "/player/gitconfig",
    "/x", "/workspace/x", "/run/x", "/run/cardinal/x", "/var/tmp/x", "/proc/sysrq-trigger",
    "/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches", "/sys/kernel/mm/ksm/run",
    "/sys/fs/cgroup/cgroup.procs", "/dev/x",
)  # fmt: skip
LEAKS = (
    "/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/latency_stats", "/proc/kmsg",
    "/proc/1/root/etc/shadow", "/sys/firmware/acpi/tables/DSDT", "/sys/kernel/debug/x",
)  # fmt: skip


@pytest.fixture
def around(bench: Bench, tmp_path: Path) -> Iterator[Outside]:
    """Yield what stands around the container."""
    with outside(tmp_path) as new_outside:
        yield new_outside


@pytest.mark.parametrize("network", ["none", "list"])
def test_no_way_leads_out_of_a_container(
    bench: Bench, around: Outside, tmp_path: Path, network: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CANARY, SECRET)
    allowed = f"localhost:{around.ports['allowed']}"
    # A name on the list is no leave for a private address: that is the operator's.
    listed = (allowed, f"127.0.0.1:{around.ports['loopback']}", "169.254.169.254")
    terms = Terms((), network, listed if network == "list" else (), (allowed,))
    other = Gateway.spawn(tmp_path / "g" / "other", Terms((), "full"), {})
    own_gateway = Gateway.spawn(tmp_path / "g" / "own", terms, {})
    neighbour = bench.open("neighbour", "r2")
    workspace = bench.open("own", "r1")
    try:
        serving = start(neighbour, "python3", "-c", SERVE)
        hear_until(serving, "serving")
        given = questions(around, tmp_path, bench, allowed)
        child = start(
            workspace, "python3", "-c", PROBE.read_text(), json.dumps(given), gateway=own_gateway.folder
        )
        ran = finish(child, what="the probe", timeout_s=90, beat=lambda: None)
        assert ran.exit_code == 0, ran.tail
        found = json.loads(ran.out)
        serving.close()
        host_requests = heard(own_gateway)
    finally:
        for gateway in (own_gateway, other):
            gateway.close()
        for one in (workspace, neighbour):
            one.destroy()
    assert_shut(found, network)
    assert_quiet(found)
    assert around.asked == (["/go", "/plain"] if network == "list" else [])
    assert {(request.host, request.port) for request in host_requests if request.allowed} == (
        {("localhost", around.ports["allowed"])} if network == "list" else set()
    )
    assert any(request.host == "api.anthropic.com" and not request.allowed for request in host_requests)


def questions(around: Outside, folder: Path, bench: Bench, allowed: str) -> dict[str, Any]:
    """Return what the probe shall try."""
    ours = socket.gethostbyname(socket.gethostname()) if socket.gethostname() else "127.0.0.1"
    loop, everywhere = around.ports["loopback"], around.ports["all addresses"]
    state = bench.places.workspaces.parent
    return {
        "secret": SECRET,
        "addresses": {
            "loopback": ("127.0.0.1", loop),
            "loopback everywhere": ("127.0.0.1", everywhere),
            "loopback v6": ("::1", loop),
            "the host": (ours, everywhere),
            "the bridge": ("172.17.0.1", everywhere),
            "the bridge's engine": ("172.17.0.1", 2375),
            "the neighbour": ("127.0.0.1", 5000),
            "the neighbour on a bridge": ("172.17.0.2", 5000),
            "metadata": ("169.254.169.254", 80),
            "metadata v6": ("fd00:ec2::254", 80),
            "internet": ("1.1.1.1", 443),
        },
        "sockets": {
            "abstract": around.abstract,
            "of the host": around.path_socket,
            "of docker": "/var/run/docker.sock",
            "of another run": f"{folder}/g/other/network.sock",
            "of another run beside": "/run/cardinal/../other/network.sock",
        },
        "files": (*FILES, f"{around.folder}/canary", str(state), f"{state}/workspaces/neighbour/repo"),
        "unwritable": UNWRITABLE,
        "leaks": LEAKS,
        "requests": requests(around, loop, everywhere),
        "control": f"GET http://{allowed}/plain HTTP/1.1\r\nHost: {allowed}",
    }


def requests(around: Outside, loop: int, everywhere: int) -> dict[str, str]:
    """Return requests to the proxy of which none may bring the secret or a tunnel."""
    gone = f"localhost:{around.ports['allowed']}"
    hosts = {
        "loopback": f"127.0.0.1:{loop}",
        "loopback by name": f"localhost:{loop}",
        "unspecified": f"0.0.0.0:{everywhere}",
        "v6": f"[::1]:{everywhere}",
        "mapped": f"[::ffff:127.0.0.1]:{everywhere}",
        "short": f"127.1:{everywhere}",
        "number": f"2130706433:{everywhere}",
        "metadata": "169.254.169.254:80",
        "private": "10.0.0.1:80",
        "other host": "example.org:443",
        "provider": "api.anthropic.com:443",
        "another port": f"localhost:{everywhere}",
        "user": f"{gone}@127.0.0.1:{loop}",
    }
    tunnels = {f"tunnel {name}": f"CONNECT {host} HTTP/1.1\r\nHost: {host}" for name, host in hosts.items()}
    plain = {f"plain {name}": f"GET http://{host}/x HTTP/1.1\r\nHost: {host}" for name, host in hosts.items()}
    return {
        **tunnels,
        **plain,
        "two hosts": f"GET http://127.0.0.1:{loop}/x HTTP/1.1\r\nHost: {gone}",
        "redirect": f"GET http://{gone}/go HTTP/1.1\r\nHost: {gone}",
        "file": "GET file:///etc/shadow HTTP/1.1\r\nHost: x",
        "unix": "GET http+unix://%2Frun%2Fdocker.sock/info HTTP/1.1\r\nHost: x",
    }


def heard(gateway: Gateway) -> list[HostRequest]:
    """Return which hosts the gateway says were asked for."""
    host_requests: list[HostRequest] = []
    while select.select([gateway.fileno()], [], [], 0.5)[0]:
        message = os.read(gateway.fileno(), 1 << 20).decode()
        if not message:
            break
        host_requests += [one for one in gateway.decode(message) if isinstance(one, HostRequest)]
    return host_requests


def assert_shut(found: dict[str, str], network: str) -> None:
    """Nothing was open but the one host that the list has."""
    attempts = {name: text for name, text in found.items() if " " in name or text.startswith("open")}
    opened = {name: text for name, text in attempts.items() if text.startswith("open")}
    control = opened.pop("proxy control", "")
    assert (SECRET in control) == (network == "list"), found["proxy control"]
    assert opened == {}
    assert len(attempts) > 80


def assert_quiet(found: dict[str, str]) -> None:
    """Nothing of the host can be seen: no second interface or process, no variable, no path."""
    assert found["interfaces"] == "lo"
    assert int(found["listening"]) == 2
    assert SECRET not in json.dumps(found).replace(found["proxy control"], "")
    assert CANARY not in found["environments"]
    names = set(found["processes"].split())
    assert names <= {"docker-init", "tini", "python3", "socat", "sh"}, names
