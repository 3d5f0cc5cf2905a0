"""Real agents drive a board over `/mcp`, set up by the commands of docs/mcp.md, with the scripted model."""

import json
import shlex
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml

from forge.model.server import ScriptedModel
from ledger.events.conversation import CommandGiven
from ledger.events.job import JobMade
from runner.agents.adapters import claude, codex
from runner.agents.contract import Layout, Phase, Task
from tests.bot.flows.opening import opened
from tests.bot.web.api.program import Program
from tests.bot.web.mcp.agent import listening
from tests.bot.web.pages.forms import asked
from tests.bot.web.pages.world import PUBLIC, Pages
from tests.containers.engine import Relay
from tests.containers.locked import AGENT, LOCKED, ROOT, need_image

pytestmark = pytest.mark.timeout(300)
GATEWAY, CARDINAL = "http://127.0.0.1:4000", "http://127.0.0.1:4001"
LAYOUT = Layout("/tmp", "/tmp/home", "/tmp", "python3", "/player", GATEWAY)
PROMPT = "Run r1, turn work (work).\n\n# Lead the board\n\nSee what waits, and have more made.\n"
TASK = Task(Phase.CHAT, "work", PROMPT, "r1", "", "default", False, 9, 5.0, Path())
ALONE = shlex.join(codex.argv(TASK, LAYOUT, "default")[5:])  # `--strict-config`, and each `-c`
STARTS = {  # behind the line of docs/mcp.md that begins with the same word
    "claude": "claude --print --verbose --output-format=stream-json --model=default"
    " --allowedTools=mcp__plugin_cardinal_cardinal",
    "codex": f"codex exec --json --skip-git-repo-check {ALONE}"
    " -c mcp_servers.cardinal.default_tools_approval_mode='\"approve\"' -",
}


def documented(agent: str) -> str:
    """Return the line of docs/mcp.md that sets the agent up for the address `/mcp`."""
    lines = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8").splitlines()
    begins = {"claude": "claude plugin marketplace add", "codex": "codex mcp add cardinal --url"}[agent]
    return next(line for line in lines if line.startswith(begins))


@contextmanager
def behind_sockets(pages: Pages, model: ScriptedModel) -> Iterator[Path]:
    """Serve both on sockets that enter.sh makes addresses of in a container; yield their folder."""
    with TemporaryDirectory(prefix="cardinal-", dir="/tmp") as name:  # a socket's path is short
        folder = Path(name)
        folder.chmod(0o755)
        relay = Relay(str(folder / "models.sock"), ("127.0.0.1", int(model.url.rpartition(":")[2])))
        (folder / "models.sock").chmod(0o666)
        door = socket.socket(socket.AF_UNIX)
        door.bind(str(folder / "network.sock"))
        (folder / "network.sock").chmod(0o666)
        try:
            with listening(pages, door):
                yield folder
        finally:
            relay.stop()


def in_container(sockets: Path, program: Program, agent: str) -> subprocess.CompletedProcess[str]:
    """Run the agent in a container without a network, set up as the documents say."""
    line = documented(agent).replace("https://cardinal.example.com", CARDINAL)
    line = line.replace("cardinal-board/cardinal", "/marketplace")
    environ = claude.command(TASK, LAYOUT, "default").env if agent == "claude" else {}
    environ = {**environ, "CARDINAL_URL": CARDINAL, "CARDINAL_TOKEN": program.token}
    script = f'mkdir -p "$HOME" && {line} >&2 && exec {STARTS[agent]}'
    options = [f"--env={name}={text}" for name, text in environ.items()]
    mounts = [f"{sockets}:/run/cardinal", f"{ROOT}/runner/exec/in_container:/player:ro"]
    mounts += [f"{ROOT}/{part}:/marketplace/{part}:ro" for part in (".claude-plugin", "bot/web/mcp/plugin")]
    options += [f"--volume={mount}" for mount in mounts]
    words = ("docker", "run", "--interactive", *LOCKED, *options, "--workdir=/tmp", AGENT)
    command = (*words, "/bin/sh", "/player/enter.sh", "sh", "-c", script)
    return subprocess.run(command, input=PROMPT, capture_output=True, text=True, timeout=120, check=False)


def calls(agent: str, number: int) -> list[dict[str, Any]]:
    """Return the steps of the model: to look, to have a job made, and to answer what waits."""
    job = {"owner": "acme", "repository": "shop", "number": number}
    wish = {"board": "acme/1", "repository": "acme/shop", "title": "Say hello", "column": "Tasks"}
    wanted: list[tuple[str, dict[str, Any]]] = [
        ("show_board", {"owner": "acme", "number": 1}),
        ("create_job", wish),
        ("get_job", job),
        ("resume_job", {**job, "text": "2"}),
    ]
    if agent == "codex":
        return [{"call": {"namespace": "mcp__cardinal", "name": name, "input": it}} for name, it in wanted]
    return [{"call": {"name": f"mcp__plugin_cardinal_cardinal__{name}", "input": it}} for name, it in wanted]


@pytest.mark.parametrize("agent", sorted(STARTS))
def test_an_agent_looks_has_a_job_made_and_answers_a_question(agent: str, tmp_path: Path) -> None:
    need_image(AGENT)
    with opened(tmp_path / "cardinal", public_url=PUBLIC) as cardinal:
        pages = Pages.over(cardinal)
        item = asked(pages, "8080", "8081")
        steps = calls(agent, cardinal.card(item).number or 0)
        (tmp_path / "default.yml").write_text(yaml.safe_dump({"work": [*steps, {"say": "It is led."}]}))
        with ScriptedModel(tmp_path) as model, behind_sockets(pages, model) as sockets:
            done = in_container(sockets, Program(pages, "bob"), agent)
        assert done.returncode == 0, (done.stdout, done.stderr)
        assert "It is led." in done.stdout
        assert model.problems == []
        seen = json.dumps(model.requests[-1].body)
        assert "It asks: Which <b>port</b>?" in seen
        (event,) = cardinal.events(CommandGiven)
        assert (event.by, event.place, event.via, event.command) == ("bob", "api", "ci", "answer")
        cardinal.catch_up()
        (job_made,) = cardinal.events(JobMade)
        assert job_made.number > 0
