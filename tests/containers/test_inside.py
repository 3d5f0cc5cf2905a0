"""Cardinal's own programs in a workspace: the forwarder to the gateway's sockets, and the board's client."""

import hashlib
import json
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, TextContent, Tool
from starlette.types import Receive, Scope, Send

from tests.containers.locked import AGENT, ROOT, inside, need_image
from tests.waiting import until

BIG = bytes(range(256)) * 40_000  # 10 MB
FETCH = (
    "import hashlib, sys, urllib.request;"
    " print(hashlib.sha256(urllib.request.urlopen(sys.argv[1], timeout=60).read()).hexdigest())"
)


class UnixServer(ThreadingHTTPServer):
    """HTTP on a unix socket, as the gateway's."""

    address_family = socket.AF_UNIX

    def server_bind(self) -> None:
        self.socket.bind(self.server_address)
        Path(str(self.server_address)).chmod(0o666)


class Big(BaseHTTPRequestHandler):
    """Answers everything with the same ten megabytes."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(BIG)

    def address_string(self) -> str:
        return "unix"

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(autouse=True)
def _engine() -> None:
    need_image(AGENT)


@pytest.fixture
def sockets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield a folder for sockets that everybody may enter, with a path short enough for them."""
    folder = Path("/tmp") / f"cardinal-s{time.monotonic_ns()}"
    folder.mkdir(mode=0o755)
    yield folder
    shutil.rmtree(folder)


def entered(
    sockets: Path, *words: str, given: str = "", more: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Run a command behind enter.sh in a container that sees `sockets`."""
    mounts = (f"{sockets}:/run/cardinal", f"{ROOT}/runner/exec/in_container:/player:ro")
    options = (*(part for mount in mounts for part in ("--volume", mount)), "--workdir", "/tmp", *more)
    return inside("/bin/sh", "/player/enter.sh", *words, options=options, given=given)


@pytest.fixture
def models(sockets: Path) -> Iterator[Path]:
    """Yield the folder with a server behind both sockets."""
    places: list[Any] = [str(sockets / f"{name}.sock") for name in ("models", "network")]
    servers = [UnixServer(place, Big) for place in places]  # typeshed knows no server of HTTP but on TCP
    threads = [threading.Thread(target=server.serve_forever, args=(0.05,)) for server in servers]
    for thread in threads:
        thread.start()
    yield sockets
    for server, thread in zip(servers, threads, strict=True):
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("port", [4000, 4001])
def test_a_socket_of_the_gateway_is_an_address_inside_and_every_byte_arrives(models: Path, port: int) -> None:
    result = entered(models, "python3", "-c", FETCH, f"http://127.0.0.1:{port}/x")
    assert result.stdout.strip() == hashlib.sha256(BIG).hexdigest(), result.stderr


def test_many_connections_at_once_are_served(models: Path) -> None:
    many = (
        "import concurrent.futures as c, urllib.request;"
        " read = lambda _: len(urllib.request.urlopen('http://127.0.0.1:4000/', timeout=60).read());"
        " print(set(c.ThreadPoolExecutor(20).map(read, range(20))))"
    )
    assert entered(models, "python3", "-c", many).stdout.strip() == f"{{{len(BIG)}}}"


def test_without_sockets_the_command_simply_runs_and_its_ending_and_input_are_its_own(sockets: Path) -> None:
    result = entered(sockets, "sh", "-c", "cat; exit 7", given="typed\n")
    assert (result.returncode, result.stdout) == (7, "typed\n")


def test_only_the_address_whose_socket_is_there_is_opened_and_only_on_the_loopback(sockets: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(sockets / "models.sock"))
        server.listen()
        (sockets / "network.sock").write_text("no socket", encoding="utf-8")
        listening = entered(sockets, "sh", "-c", "cat /proc/net/tcp /proc/net/tcp6 | grep ' 0A '").stdout
    assert [line.split()[1] for line in listening.splitlines()] == ["0100007F:0FA0"]


def test_the_forwarder_is_no_child_of_the_command_and_survives_its_group(models: Path) -> None:
    script = (
        "import os, signal, subprocess, urllib.request; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        " os.killpg(0, signal.SIGTERM);"
        " print(len(urllib.request.urlopen('http://127.0.0.1:4000/', timeout=60).read()))\n"
        "try: os.wait()\n"
        "except ChildProcessError: print('no child')"
    )
    assert entered(models, "python3", "-c", script).stdout.split("\n")[:2] == [str(len(BIG)), "no child"]


def test_an_image_without_the_forwarder_is_refused_with_what_to_do(models: Path) -> None:
    result = entered(models, "true", more=("--env", "PATH=/nowhere"))
    assert result.returncode == 127
    assert "install it in the image" in result.stderr


def test_a_forwarder_that_does_not_come_up_ends_the_wait(models: Path, tmp_path: Path) -> None:
    (tmp_path / "socat").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    (tmp_path / "socat").chmod(0o755)
    tmp_path.chmod(0o755)
    fake = ("--volume", f"{tmp_path}/socat:/usr/bin/socat:ro")
    result = entered(models, "true", more=fake)
    assert result.returncode == 126
    assert "nothing listens on 127.0.0.1:4000" in result.stderr


def tools() -> Server:
    """Return a board with one tool, which refuses what is empty."""

    async def listed(_context: object, _page: object) -> ListToolsResult:
        shape = {"type": "object", "properties": {"text": {"type": "string"}}}
        return ListToolsResult(
            tools=[Tool(name="progress", description="One line.\nMore.", input_schema=shape)]
        )

    async def called(_context: object, asked: CallToolRequestParams) -> CallToolResult:
        text = (asked.arguments or {}).get("text", "")
        said = f"heard {asked.name}: {text}" if text else "text: say something"
        return CallToolResult(content=[TextContent(type="text", text=said)], is_error=not text)

    return Server("board", version="1", on_list_tools=listed, on_call_tool=called)


@pytest.fixture(params=[True, False], ids=["json", "events"])
def board(request: pytest.FixtureRequest, sockets: Path) -> Iterator[Path]:
    """Yield the folder with an MCP server of the official package behind `models.sock`, in both dialects."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        sessions = StreamableHTTPSessionManager(tools(), json_response=request.param, stateless=True)
        async with sessions.run():
            await sessions.handle_request(scope, receive, send)

    path = str(sockets / "models.sock")
    server = uvicorn.Server(uvicorn.Config(serve, uds=path, lifespan="off", log_level="critical"))
    thread = threading.Thread(target=server.run)
    thread.start()
    until(lambda: server.started, "the server has started")
    yield sockets
    server.should_exit = True
    thread.join()


def client(board: Path, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return entered(board, "python3", "/player/board.py", *words, given=given)


def test_a_shell_calls_a_board_tool_and_reads_its_answer(board: Path) -> None:
    result = client(board, "progress", '{"text": "half way, ünïcode"}')
    assert (result.returncode, result.stdout) == (0, "heard progress: half way, ünïcode\n"), result.stderr
    assert client(board, "progress", "-", given='{"text": "typed"}').stdout == "heard progress: typed\n"


def test_a_refusal_is_an_exit_code_and_its_reason(board: Path) -> None:
    result = client(board, "progress", "{}")
    assert (result.returncode, result.stdout, result.stderr) == (1, "", "text: say something\n")


def test_the_tools_that_are_offered_can_be_listed(board: Path) -> None:
    assert client(board, "--list").stdout == "progress(text): One line.\n"


def test_a_program_that_knows_no_http_has_the_board_by_lines(board: Path) -> None:
    call = {"name": "progress", "arguments": {"text": "half way"}}
    messages = (
        {"id": 1, "method": "tools/list", "params": {}},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": call},
    )
    result = client(board, "--mcp", given="no JSON\n" + "\n".join(map(json.dumps, messages)) + "\n")
    listed, called = map(json.loads, result.stdout.splitlines())
    assert listed["result"]["tools"][0]["name"] == "progress"
    assert (called["id"], called["result"]["content"][0]["text"]) == (2, "heard progress: half way")


def test_a_program_that_knows_no_http_hears_that_there_is_no_board(sockets: Path) -> None:
    result = client(sockets, "--mcp", given='{"id": 1, "method": "tools/list"}\n')
    assert "no board answers here" in json.loads(result.stdout)["error"]["message"]


def test_a_call_that_is_no_call_says_how_one_looks(sockets: Path) -> None:
    for words in (("progress", "{"), ("progress", "[]"), (), ("--what",), ("a", "b", "c")):
        result = client(sockets, *words)
        assert result.returncode == 2, words
        assert "usage: board.py" in result.stderr


def test_without_a_board_the_client_says_so(sockets: Path) -> None:
    result = client(sockets, "progress", '{"text": "x"}')
    assert result.returncode == 1
    assert "no board answers here" in result.stderr
