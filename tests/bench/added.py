"""What Cardinal adds to a bare agent: seconds before its first model call, its whole run, and tokens by part.

The bare program does the same card's work in the same image, against the same scripted model, with the same
settings, but for the board and for asking leave.
"""

import json
import os
import socket
import socketserver
import subprocess
import tempfile
import threading
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from sqlalchemy import Engine

import docker
from forge.demo.launch import MODEL_KEY, Scene, settings_of_model
from forge.demo.people import Team, wait_for
from forge.model.server import ModelRequest, ScriptedModel, texts
from ledger.event import Recorded
from ledger.events.instruction import InstructionsStacked
from ledger.events.policy import PolicyLoaded
from ledger.events.run import BriefingMade, RunClaimed, RunEnded, RunEvent
from ledger.lifecycle.open import open_ledger
from ledger.log import event_store
from ledger.states import Ending
from runner import agents
from runner.agents.contract import Phase, Task
from runner.workspaces.backends.docker import LAYOUT, Docker
from runner.workspaces.contract import DEFAULT_IMAGE
from runner.workspaces.docker.engine import engine_address
from tests.bench.figures import Figure, percentile, say
from tests.bench.world import running

RUNS, FEW_RUNS = 3, 1
PATIENCE_S = 240
MAX_FIRST_CALL_S, MAX_TIMES, MAX_TOKENS = 2.0, 1.3, 1_500
TOKEN_BYTES = 4  # no tokenizer is at hand; of English and JSON this is the usual estimate
THINKING_S = 2.0  # of the model that takes its time, for each answer
COLUMNS = {"Planning": "claude", "In Progress": "codex", "Review": "opencode"}
TITLE, BODY = "Say hello", "There shall be a file hello.txt that says hello."
STEPS: list[dict[str, Any]] = [
    {"edit": {"path": "hello.txt", "content": "hello\n"}},
    {"run": "cat hello.txt"},
    {"run": "git status --short"},
    {"commit": "Say hello"},
]
PLAN = {"plan": {"summary": "Write the greeting.", "steps": ["Write hello.txt", "Commit it"]}}
FINISH = {"finish": {"done": "There is a greeting.", "changed": ["hello.txt: new"], "check": ["Read it"]}}
POLICY = "\n".join(
    (
        "version: 1",
        "board:",
        "  home: acme/board",
        "  columns:",
        "    Tasks: {archetype: inbox}",
        *(
            f"    {name}: {{archetype: execution, agent: {agent}, model: default, plan_approval: 'off'}}"
            for name, agent in COLUMNS.items()
        ),
        "    QA: {archetype: review}",
        "    Done: {archetype: terminal}",
    )
)
OWNER = os.getuid() or 1000  # the program's user; root is not to be measured
BARE = (
    f"Run bare, turn work (work).\n\n# {TITLE}\n\n{BODY}\n\nDo this on the branch you are on, and commit it."
)


def measure(*, quick: bool) -> Iterator[Figure]:
    """Let each agent do the same card as a run of Cardinal and bare; with a model that answers at once, and
    with one that takes its time.
    """
    if problem := Docker().problem():
        raise RuntimeError(f"{problem}; or run scripts/engine scripts/bench")
    count = FEW_RUNS if quick else RUNS
    runs = _runs(0.0, count)
    slow = {} if quick else _runs(THINKING_S, 1)
    for agent in COLUMNS.values():
        bare = [_bare(agent, 0.0) for _ in range(count)]
        yield from _figures(agent, runs[agent], bare)
        if slow:
            yield _ratio(
                f"{agent}_thinking_run_over_bare",
                slow[agent][-1:],
                [_bare(agent, THINKING_S)],
                f"the model takes {THINKING_S:g} s for each answer",
            )


@dataclass(frozen=True, slots=True)
class Played:
    """One card's work: its requests to the model, the whole in seconds, and until the first request."""

    took_s: float
    requests: tuple[ModelRequest, ...]
    first_call_s: float = 0.0
    parts: Mapping[str, float] | None = None


def _figures(agent: str, runs: Sequence[Played], bare: Sequence[Played]) -> Iterator[Figure]:
    first_s = percentile([one.first_call_s for one in runs], 0.5)
    note = f"the middle of {len(runs)} drags of a card with a new checkout; the agent's own start is in it"
    yield Figure(f"{agent}_drag_to_first_model_call", first_s, "s", MAX_FIRST_CALL_S, note)
    yield _ratio(f"{agent}_run_over_bare", runs, bare, "a model that answers at once")
    parts = {"tools": _added_tools(runs[-1], bare[-1]), **(runs[-1].parts or {})}
    listed = ", ".join(f"{name} {tokens:.0f}" for name, tokens in parts.items())
    yield Figure(
        f"{agent}_tokens_added",
        sum(parts.values()),
        "tokens",
        MAX_TOKENS,
        f"in the last request of a plain card's run, {TOKEN_BYTES} bytes each: {listed}",
        parts,
    )
    sizes = (round(_tokens(one[-1].requests[-1].body)) for one in (runs, bare))
    yield Figure(f"{agent}_last_request", next(sizes), "tokens", note=f"the bare program's has {next(sizes)}")


def _ratio(name: str, runs: Sequence[Played], bare: Sequence[Played], model: str) -> Figure:
    """Return the run's middle time over the bare program's; the note says what is in each."""
    took_s, bare_s = (percentile([one.took_s for one in some], 0.5) for some in (runs, bare))
    answers, bare_answers = (len(some[-1].requests) for some in (runs, bare))
    note = (
        f"{took_s:.1f} s from claim to the run's end: checkout, plan, work, guards, push, {answers} answers "
        f"of the model; over {bare_s:.1f} s of one container: the work alone, {bare_answers} answers; {model}"
    )
    return Figure(name, took_s / bare_s, "times", MAX_TIMES, note)


def _scenario(folder: Path, thinking_s: float, *, bare: bool) -> Path:
    pause = [{"sleep": thinking_s}] if thinking_s else []
    steps = [step for one in STEPS for step in (*pause, one)]
    end = {"say": "There is a greeting."} if bare else FINISH
    folder.mkdir()
    sections = {"plan": [*pause, PLAN], "work": [*steps, *pause, end]}
    (folder / "default.yml").write_text(yaml.safe_dump(sections))
    return folder


def _runs(thinking_s: float, count: int) -> dict[str, list[Played]]:
    """Return `count` runs of each agent, behind one that pays what happens once."""
    with tempfile.TemporaryDirectory(prefix="cardinal-bench-") as name:
        folder = _scenario(Path(name) / "scenarios", thinking_s, bare=False)
        with ScriptedModel(folder, key=MODEL_KEY) as model:
            settings = {"CARDINAL_WORKSPACE": "docker", **settings_of_model(model)}
            with running(settings=settings) as scene, _ledger(scene) as engine:
                _lay_down(scene.team, engine)
                return {
                    agent: [_run(scene.team, engine, model, column) for _ in range(count + 1)][1:]
                    for column, agent in COLUMNS.items()
                }


@contextmanager
def _ledger(scene: Scene) -> Iterator[Engine]:
    engine = open_ledger(f"sqlite:///{scene.home / '.cardinal/data/ledger.db'}", migrate=False)
    try:
        yield engine
    finally:
        engine.dispose()


def _lay_down(team: Team, engine: Engine) -> None:
    """Put the policy into the board's repository, and the shop's out of the way: it has checks."""
    for repository, text in (
        ("acme/shop", "version: 1\nrepository: {validation: none}\n"),
        ("acme/board", POLICY),
    ):
        path = f"/repos/{repository}/contents/.github/cardinal.yml"
        old = team.call("alice", "GET", path)
        content = b64encode(text.encode()).decode()
        team.call("alice", "PUT", path, {"message": "Measure", "content": content, "sha": old["sha"]})
    wait_for(
        "the policy is in force",
        lambda: next(
            (
                "yes"
                for one in _read(engine, 0)
                if isinstance(one.event, PolicyLoaded) and one.event.text == POLICY
            ),
            None,
        ),
        limit_s=PATIENCE_S,
    )


def _read(engine: Engine, after: int) -> list[Recorded]:
    found: list[Recorded] = []
    while True:
        with event_store.reading(engine) as db:
            page = event_store.read(db, after=found[-1].seq if found else after)
        if not page:
            return found
        found += page


def _run(team: Team, engine: Engine, model: ScriptedModel, column: str) -> Played:
    number = team.new_card("carol", TITLE, BODY, "Tasks")
    with event_store.reading(engine) as db:
        before = event_store.last_seq(db)
    asked, answered = len(model.requests), len(model.served)
    dragged = datetime.now(UTC)
    team.drag("alice", number, column)
    wait_for(
        f"the run in {column} ended",
        lambda: "yes" if any(isinstance(one.event, RunEnded) for one in _read(engine, before)) else None,
        limit_s=PATIENCE_S,
    )
    recorded = [one for one in _read(engine, before) if isinstance(one.event, RunEvent)]
    ended = next(one for one in recorded if isinstance(one.event, RunEnded))
    claimed = next(one for one in recorded if isinstance(one.event, RunClaimed))
    assert isinstance(ended.event, RunEnded)
    if ended.event.ending is not Ending.SUCCEEDED or model.problems:
        raise RuntimeError(f"the run in {column} failed: {ended.event.detail} {model.problems}")
    first_s = (model.served[answered].at - dragged).total_seconds()
    took_s = (ended.at - claimed.at).total_seconds()
    say(f"  {COLUMNS[column]}: first call {first_s:.2f} s, run {took_s:.2f} s")
    requests = tuple(model.requests[asked:])
    return Played(took_s, requests, first_s, _parts([one.event for one in recorded], requests[-1].body))


def _parts(events: Sequence[Any], body: Mapping[str, Any]) -> dict[str, float]:
    """Return the tokens of each part that Cardinal put into the request."""
    stacked = next(event for event in events if isinstance(event, InstructionsStacked))
    layers = {f"prompt: {layer.kind}": layer.text for layer in stacked.layers if layer.text}
    briefing = next(event.text for event in events if isinstance(event, BriefingMade))
    rest = {**body, "tools": []}
    prompts = sum(len(text) for text in _said(rest) if text.startswith("Run r"))
    calls = [one for one in _entries(rest) if "board" in f"{one.get('namespace')} {one.get('name')}"]
    told = {
        **{name: len(text) for name, text in layers.items()},
        "prompt: frame of the briefing": len(briefing) - len(TITLE) - len(BODY),
        "prompt: tasks": prompts - len(briefing) - sum(map(len, layers.values())),
        "the agent's calls of the board": len(_compact(calls)) if calls else 0,
    }
    return {name: size / TOKEN_BYTES for name, size in told.items()}


def _added_tools(run: Played, bare: Played) -> float:
    """Return the tokens of the tools that the bare program has not: the board's, and those with which the
    program itself looks for them or reads what a server has. Codex finds the board's by a search.
    """
    there, alone = ({_name(tool): tool for tool in one.requests[-1].body["tools"]} for one in (run, bare))
    return sum(len(_compact(tool)) for name, tool in there.items() if name not in alone) / TOKEN_BYTES


def _name(tool: Mapping[str, Any]) -> str:
    """Return the name of a tool of any protocol; its type, where it has none."""
    return str(tool.get("function", tool).get("name", tool.get("type")))


def _entries(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the calls of tools within a request of any protocol."""
    if isinstance(value, list):
        for one in value:
            yield from _entries(one)
    elif isinstance(value, dict):
        if value.get("type") in ("tool_use", "function_call") or "arguments" in value:
            yield value
        else:
            for one in value.values():
                yield from _entries(one)


def _compact(value: Any) -> str:
    """Return the value as the agents send it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _said(body: Mapping[str, Any]) -> Iterator[str]:
    for message in (*body.get("messages", ()), *body.get("input", ())):
        if message.get("role") == "user":
            yield from texts(message.get("content"))


def _tokens(body: Mapping[str, Any]) -> float:
    told = {
        name: body[name] for name in ("system", "instructions", "tools", "messages", "input") if name in body
    }
    return len(_compact(told)) / TOKEN_BYTES


def _bare(agent: str, thinking_s: float) -> Played:
    """Let the program alone do the work, in a container without a network but for the model."""
    with tempfile.TemporaryDirectory(prefix="cardinal-bench-") as name:
        root = Path(name)
        root.chmod(0o755)
        for folder in ("repo", "home", "sockets"):
            (root / folder).mkdir()
        for words in (("init", "-qb", "main"), ("commit", "-qm", "Begin", "--allow-empty")):
            who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
            subprocess.run(["git", *who, *words], cwd=root / "repo", check=True)
        for path in (*root.rglob("*"), root):
            os.chown(path, OWNER, OWNER)
        scenarios = _scenario(root / "scenarios", thinking_s, bare=True)
        with ScriptedModel(scenarios) as model, _socket(root / "sockets/models.sock", model.url):
            start = time.perf_counter()
            _play_bare(agent, root)
            took_s = time.perf_counter() - start
        made = subprocess.run(
            ["git", "-c", "safe.directory=*", "log", "--format=%s"],
            cwd=root / "repo", capture_output=True, text=True, check=True,
        ).stdout.split("\n")[0]  # fmt: skip
        if made != STEPS[-1]["commit"] or model.problems:
            raise RuntimeError(f"{agent} did not do it by itself: {made} {model.problems}")
        say(f"  {agent} bare: {took_s:.2f} s")
        return Played(took_s, tuple(model.requests))


def _play_bare(agent: str, root: Path) -> None:
    """Run the program's own way to do one thing and end. Raises ContainerError where it fails."""
    words, env, prompt = _bare_command(agent)
    (root / "prompt").write_text(prompt)
    inside = Path(__file__).parents[2] / "runner/exec/in_container"
    folders = {"repo": LAYOUT.repo, "home": LAYOUT.home, "sockets": "/run/cardinal", "prompt": "/run/prompt"}
    binds = {str(root / name): {"bind": at, "mode": "rw"} for name, at in folders.items()}
    people = {f"GIT_{who}_{what}": "a@b.c" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    with closing(docker.DockerClient(base_url=engine_address())) as client:
        client.containers.run(
            DEFAULT_IMAGE,
            ["sh", f"{LAYOUT.player}/enter.sh", "sh", "-c", '"$0" "$@" </run/prompt', *words],
            environment={**env, **people, "HOME": LAYOUT.home},
            volumes={**binds, str(inside): {"bind": LAYOUT.player, "mode": "ro"}},
            network_mode="none",
            remove=True,
            user=f"{OWNER}:{OWNER}",
            working_dir=LAYOUT.repo,
        )


def _bare_command(agent: str) -> tuple[list[str], dict[str, str], str]:
    """Return words, environment and input of the program, from those of Cardinal's adapter."""
    task = Task(
        phase=Phase.WORK,
        turn="work",
        prompt=BARE,
        run_id="bare",
        session_id="",
        model="default",
        read_only=False,
        max_turns=60,
        budget_usd=5.0,
        scenarios=Path("/"),
    )
    command = agents.load(agent).begin(task, replace(LAYOUT)).command
    words, env = list(command.argv), dict(command.env)
    if agent == "claude":
        ours = ("--mcp-config=", "--permission-", "--settings=", "--input-format=", "--replay-")
        alone = [word for word in words if not word.startswith(ours)]
        return [*alone, "--permission-mode=bypassPermissions", "-p"], env, BARE
    if agent == "codex":
        first = words.index("-c", words.index("app-server"))
        pairs = zip(words[first::2], words[first + 1 :: 2], strict=True)
        kept = [word for pair in pairs if not pair[1].startswith("mcp_servers.") for word in pair]
        return ["codex", "exec", "--dangerously-bypass-approvals-and-sandbox", *kept, "-"], env, BARE
    config = json.loads(command.opening)["config"] | {"mcp": {}, "permission": {"*": "allow"}}
    return ["opencode", "run", "--title", TITLE], env | {"OPENCODE_CONFIG_CONTENT": _compact(config)}, BARE


@contextmanager
def _socket(path: Path, url: str) -> Iterator[None]:
    """Lead a socket to the model for the time of the block."""
    port = int(url.rpartition(":")[2])

    class Forward(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with socket.create_connection(("127.0.0.1", port)) as model:
                back = threading.Thread(target=_pump, args=(model, self.request))
                back.start()
                _pump(self.request, model)
                back.join()

    class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
        daemon_threads = True
        block_on_close = False

    with Server(str(path), Forward) as server:
        path.chmod(0o666)
        threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
        try:
            yield
        finally:
            server.shutdown()


def _pump(source: Any, target: Any) -> None:
    try:
        while chunk := source.recv(1 << 16):
            target.sendall(chunk)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        return
