"""A tool server in a container: what it sees, what it can reach, and that nothing of it stays."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from ledger.ids import RunId
from runner.gateway.control.link import Gateway
from runner.gateway.control.terms import Terms, ToolServerTerms
from runner.run.run_spec import ToolServerSpec
from runner.workspaces.card_folder import folder_name
from runner.workspaces.contract import CleanWorkspace
from runner.workspaces.docker.errors import ImageMissingError
from tests.containers.engine import CARD, RUN, Bench, sh

LOOK = """
import os, json, pathlib, socket
def reaches(host):
    try:
        socket.create_connection((host, 53), 2)
        return True
    except OSError:
        return False
def writes(path):
    try:
        pathlib.Path(path).write_text("x")
        return True
    except OSError:
        return False
print(json.dumps({
    "repo": os.path.exists("/workspace/repo/README.md"), "home": os.path.exists("/workspace/home/session"),
    "root": os.getuid() == 0,
    "caps": [l for l in open("/proc/self/status") if l.startswith("CapEff")][0].split()[1],
    "reaches": reaches("1.1.1.1"), "writes": [writes(p) for p in ("/x", "/workspace/repo/x", "/tmp/x")],
    "board": os.path.exists("/run/cardinal/models.sock"),
}), flush=True)
input()
"""
NO_DATA = Path("/tmp")
SERVER = ToolServerSpec("look", ("python3", "-c", LOOK))


ASK = """
import http.client, sys
for address in sys.argv[1:]:
    link = http.client.HTTPConnection("127.0.0.1", 4001, timeout=60)
    link.request("GET", address)
    print(link.getresponse().status, end=" ")
print(flush=True)
input()
"""


class Page(BaseHTTPRequestHandler):
    """Answers every request."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def served(
    workspace: CleanWorkspace, server: ToolServerSpec, network: Path | None = None, data: Path = NO_DATA
) -> Iterator[str]:
    """Yield the first line of a tool server, which is ended with the `with`."""
    near, far = socket.socketpair()
    with near, far:
        started = workspace.serve(server, far.fileno(), far.fileno(), network=network, env={}, data=data)
        far.close()
        near.settimeout(60)
        try:
            yield near.makefile().readline()
        finally:
            started.close()


@pytest.mark.parametrize(("reads", "image"), [(False, ""), (True, ""), (False, "cardinal/agent:latest")])
def test_it_sees_the_repository_only_where_granted_and_nothing_else(
    bench: Bench, reads: bool, image: str
) -> None:
    workspace = bench.open_clean()
    for name in ("repo/README.md", "home/session"):
        (bench.places.workspaces / folder_name(CARD) / name).write_text("# Shop\n")
    with served(workspace, replace(SERVER, reads=reads, image=image)) as line:
        assert (
            f'"repo": {str(reads).lower()}, "home": false, "root": false, "caps": "0000000000000000"' in line
        )
        assert '"reaches": false, "writes": [false, false, true], "board": false' in line
        (container,) = bench.containers()
        assert container["Labels"]["cardinal.run"] == RUN
    assert bench.containers() == []


def test_it_reaches_the_hosts_of_its_own_list_and_no_other(bench: Bench, tmp_path: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as page:
        Thread(target=page.serve_forever, daemon=True).start()
        host = f"127.0.0.1:{page.server_port}"
        terms = Terms((), servers=(ToolServerTerms("look", (), (host,)),), private_hosts=(host,))
        gateway = Gateway.spawn(tmp_path / "g", terms, {}, servers=tmp_path / "s")
        try:
            asks = ("python3", "-c", ASK, f"http://{host}/", "http://other.example/")
            server = replace(SERVER, command=asks)
            with served(bench.open_clean(), server, gateway.network_of("look")) as line:
                assert line.split() == ["200", "403"]
        finally:
            gateway.close()
            page.shutdown()


def test_one_whose_worker_died_is_removed_with_its_claim(bench: Bench) -> None:
    workspace = bench.open_clean()
    near, far = socket.socketpair()
    with near, far:
        started = workspace.serve(SERVER, far.fileno(), far.fileno(), network=None, env={}, data=NO_DATA)
        near.settimeout(60)
        assert near.makefile().readline()
        bench.backend.end_claim(bench.places, RunId(RUN), 1)
        assert bench.containers() == []
        started.close()


def test_an_image_that_is_not_there_is_named(bench: Bench) -> None:
    with pytest.raises(ImageMissingError, match="acme/nothing"):
        bench.open_clean(CARD).serve(
            replace(SERVER, image="acme/nothing"), 0, 1, network=None, env={}, data=NO_DATA
        )


PROGRAM = """
import os, subprocess, helper
agent = os.environ["AGENT_FILES"]
git = ["git", "-C", agent]
print(
    helper.SAID,
    open(f"{agent}/data").read().strip(),
    subprocess.run([*git, "status"], capture_output=True).returncode,
    subprocess.run(["git", "status"], capture_output=True).returncode,
    os.path.exists("/tmp/ran"),
    flush=True,
)
input()
"""
HOSTILE = """
mkdir -p tools ~/.local/lib/python3.11/site-packages
echo 'SAID = "evil"' | tee tools/helper.py helper.py sitecustomize.py > /dev/null
echo 'open("/tmp/ran", "w")' | tee ~/.local/lib/python3.11/site-packages/usercustomize.py > usercustomize.py
git init -q . && git config core.fsmonitor 'touch /tmp/ran; false' && echo seen > data && git add data
"""


def test_what_an_agent_wrote_is_data_to_a_server_and_no_part_of_its_program(bench: Bench) -> None:
    card, workspace = bench.open(), bench.open_clean("serve")
    assert sh(card, HOSTILE).exit_code == 0
    assert (
        sh(
            workspace, "mkdir tools && git init -q . && cat > tools/helper.py <<E\nSAID = 'honest'\nE"
        ).exit_code
        == 0
    )
    assert sh(workspace, f"cat > tools/docs.py <<'E'\n{PROGRAM}E").exit_code == 0
    server = replace(SERVER, command=("python3", "tools/docs.py"), reads=True)
    with served(workspace, server, data=card.repo) as line:
        assert line.split() == ["honest", "seen", "128", "0", "False"]
    for one in (card, workspace):
        one.destroy()
