"""Starts the forge with its seeded project, and Cardinal beside it as the operator would: `cardinal up`."""

import dataclasses
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import requests

from forge.demo.people import StoryError, Team
from forge.model.server import ScriptedModel
from forge.store import Store
from forge.web.server import Forge

SCENARIOS = Path(__file__).parent / "scenarios"
SERVER = "3.20.1"  # the oldest release that Cardinal works with
READY_S = 180  # as PATIENCE_S in stage.py: ten processes start, and others may start beside them
COMMAND_S = 300  # a doctor looks at much, and machines are busy
STOP_S = 20
PROVIDERS = ("ANTHROPIC", "OPENAI", "COMPATIBLE", "GEMINI")
MODEL_KEY = "the-demo-has-no-real-key"
MODEL_VARIABLES = ("ANTHROPIC_", "OPENAI_", "GEMINI_", "GOOGLE_", "CLAUDE_", "CODEX_", "GH_", "GITHUB_")
NO_SANDBOX = "No sandbox: agents and checks run as you, with your files in reach. {step} ({found})"
INSTALL = "On Debian: apt-get install bubblewrap."
LET_IT = "Let users make namespaces (sysctl user.max_user_namespaces), or use containers."


def agents() -> tuple[str, ...]:
    """Return Cardinal's agents by their files, for the forge imports nothing of Cardinal."""
    folder = Path(__file__).parents[2] / "runner/agents"
    files = (*folder.glob("adapters/[a-z]*.py"), *folder.glob("acp/programs/*.yml"))
    return tuple(sorted(file.stem for file in files))


@dataclasses.dataclass(frozen=True, slots=True)
class Scene:
    """The running demo: the forge's address, Cardinal's address, its folder and its process; the model, if
    there is one, and what the forge keeps, if it runs in this process.
    """

    team: Team
    cardinal_url: str
    home: Path
    environment: dict[str, str]
    group: "subprocess.Popen[bytes]"
    model: ScriptedModel | None = None
    store: Store | None = None

    @property
    def command_line(self) -> str:
        """Return the shell words that run `cardinal` on this home from any folder."""
        program = Path(sys.executable).with_name("cardinal")
        return f"CARDINAL_HOME={shlex.quote(str(self.home / '.cardinal'))} {shlex.quote(str(program))}"

    def words(self, *words: str) -> list[str]:
        """Return the words of a process that runs that command line with `words`."""
        return ["env", *shlex.split(self.command_line), *words]

    def command(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run that command line with `words`, and return its result. Raises StoryError after COMMAND_S."""
        line = self.words(*words)
        try:
            return subprocess.run(
                line, env=self.environment, capture_output=True, text=True, timeout=COMMAND_S, check=False
            )
        except subprocess.TimeoutExpired as error:
            busy = "this machine is too busy: start it again later"
            raise StoryError(f"cardinal {words[0]}", COMMAND_S, busy) from error

    def checkup(self) -> list[dict[str, str]]:
        findings: list[dict[str, str]] = json.loads(self.command("doctor", "--json").stdout)
        return findings


@contextmanager
def running(
    root: Path,
    *,
    port: int = 0,
    settings: dict[str, str] | None = None,
    agent: str = "scripted",
    workspace: str = "local",
    server: str = "",
) -> Iterator[Scene]:
    """Run forge and Cardinal until the block ends; nothing of them is left afterwards.

    An agent that is not the scripted one gets a scripted model in place of its provider.
    `server` is the version of the Enterprise Server that the forge is; empty: github.com.
    """
    root.mkdir(parents=True, exist_ok=True)
    forge = Forge(root / "forge", port)
    forge.store.settings.server_version = server
    forge.start()
    try:
        with model_for(agent, root) as model:
            providers = {} if model is None else settings_of_model(model)
            address = {"CARDINAL_GITHUB_URL": f"{forge.url}/api/v3"} if server else {}
            chosen = {"CARDINAL_WORKSPACE": workspace, **address, **providers, **(settings or {})}
            with cardinal(forge.url, root, settings=chosen, agent=agent) as scene:
                team = Team(forge.url, bool(server))
                yield dataclasses.replace(scene, model=model, team=team, store=forge.store)
    finally:
        forge.stop()


@contextmanager
def model_for(agent: str, root: Path) -> Iterator[ScriptedModel | None]:
    """Run the model that plays the demo's scenarios, if the agent asks one; its requests are in a log."""
    if agent == "scripted":
        yield None
        return
    log = root / "model-requests.jsonl"
    with ScriptedModel(SCENARIOS, scenario="shop", key=MODEL_KEY, log=log) as model:
        yield model


def settings_of_model(model: ScriptedModel) -> dict[str, str]:
    """Return the settings by which Cardinal takes that model for every provider."""
    return {
        name: text
        for provider in PROVIDERS
        for name, text in (
            (f"CARDINAL_{provider}_URL", model.url),
            (f"CARDINAL_{provider}_KEY", MODEL_KEY),
        )
    }


@contextmanager
def cardinal(
    forge_url: str,
    root: Path,
    *,
    settings: dict[str, str] | None = None,
    agent: str = "scripted",
    more_env: Mapping[str, str] | None = None,
) -> Iterator[Scene]:
    """Seed the empty forge at that address and run Cardinal beside it until the block ends."""
    cardinal_port = free_port()
    cardinal_url = f"http://127.0.0.1:{cardinal_port}"
    app = requests.post(f"{forge_url}/_forge/seed", json={"name": "demo", "agent": agent}, timeout=60)
    app.raise_for_status()
    registered = app.json()
    hook = {"url": f"{cardinal_url}/webhooks/github", "secret": registered["webhook_secret"]}
    requests.post(f"{forge_url}/_forge/webhook", json=hook, timeout=30).raise_for_status()
    signing = {"urls": [f"{cardinal_url}/sign-in/back"]}
    requests.post(f"{forge_url}/_forge/callbacks", json=signing, timeout=30).raise_for_status()
    home = root / "operator"
    write_settings(home / ".cardinal", forge_url, cardinal_port, registered, settings or {})
    environment = {**own_environment(), **(more_env or {})}
    with up(home, environment, root / "cardinal.log", cardinal_url) as group:
        yield Scene(Team(forge_url), cardinal_url, home, environment, group)


@contextmanager
def up(folder: Path, environment: dict[str, str], log: Path, url: str) -> "Iterator[subprocess.Popen[bytes]]":
    """Run `cardinal up` there until the block ends. It is killed with this process; its ledger can bear it.

    Source: setpriv(1). Call it in the main thread: the kernel counts the thread that starts it as the parent.
    """
    words = ["setpriv", "--pdeathsig", "KILL", sys.executable, "-P", "-m", "bot.cli", "up"]
    with log.open("ab") as out:
        group = subprocess.Popen(words, cwd=folder, env=environment, stdout=out, stderr=out)
    try:
        _wait_until_ready(url, group, log)
        yield group
    finally:
        stop(group)


def own_environment() -> dict[str, str]:
    """Return this process's environment without keys of providers and settings of another Cardinal."""
    foreign = (*MODEL_VARIABLES, "CARDINAL_")
    return {name: text for name, text in os.environ.items() if not name.startswith(foreign)}


def stop(group: "subprocess.Popen[bytes]") -> None:
    """Stop `cardinal up` as Ctrl-C does, and for good if it does not obey."""
    if group.poll() is None:
        group.send_signal(signal.SIGINT)
        try:
            group.wait(STOP_S)
        except subprocess.TimeoutExpired:
            group.kill()
            group.wait(STOP_S)


def free_port() -> int:
    """Return a port of the loopback address that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def write_settings(
    home: Path, forge_url: str, port: int, registered: dict[str, str], settings: Mapping[str, str]
) -> None:
    """Write Cardinal's home as `cardinal init` does: the key, and the settings in the file `env`.

    Other settings that are in the file stay there.
    """
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    wanted = {
        "CARDINAL_GITHUB_URL": forge_url,
        "CARDINAL_GIT_URL": forge_url,
        "CARDINAL_APP_ID": str(registered["app_id"]),
        "CARDINAL_PRIVATE_KEY": "app.pem",
        "CARDINAL_WEBHOOK_SECRET": registered["webhook_secret"],
        "CARDINAL_PUBLIC_URL": f"http://127.0.0.1:{port}",
        "CARDINAL_CLIENT_ID": registered["client_id"],
        "CARDINAL_CLIENT_SECRET": registered["client_secret"],
        "CARDINAL_BOARD": registered["project"],
        "CARDINAL_PORT": str(port),
        "CARDINAL_SCENARIOS": str(SCENARIOS),
        "CARDINAL_WORKSPACE": "local",
        # Where bubblewrap is missing the demo plays all the same: repository and agent are its own.
        "CARDINAL_ALLOW_UNSANDBOXED": "1",
        **settings,
    }
    there = (home / "env").read_text().splitlines() if (home / "env").exists() else []
    others = [line for line in there if line.partition("=")[0] not in wanted]
    lines = "".join(
        f"{line}\n" for line in (*(f"{name}={quote(text)}" for name, text in wanted.items()), *others)
    )
    for name, text in (("app.pem", registered["pem"]), ("env", lines)):
        fresh = home / f"{name}.new"  # a full disk leaves the file that is there
        fresh.touch(mode=0o600)
        fresh.write_text(text)
        fresh.replace(home / name)


def quote(text: str) -> str:
    """Return a value as the settings' file has it, on one line: a person's folder may have any name."""
    if re.fullmatch(r"[\w./:@%+=,-]*", text):
        return text
    for char, written in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r")):
        text = text.replace(char, written)
    return f'"{text}"'


def _wait_until_ready(url: str, group: "subprocess.Popen[bytes]", log: Path) -> None:
    start = time.monotonic()
    while time.monotonic() - start < READY_S:
        if group.poll() is not None:
            break
        try:
            if requests.get(f"{url}/healthz", timeout=1).ok:
                return
        except requests.RequestException:
            time.sleep(0.1)
    tail = log.read_text(errors="replace")[-2000:]
    raise StoryError("cardinal up", time.monotonic() - start, tail)


def sandbox_warning(findings: list[dict[str, str]]) -> str:
    """Return the warning to print before anything is dragged, if agents run without a sandbox."""
    bad = [
        finding["found"] for finding in findings if finding["name"] == "sandbox" and finding["level"] != "ok"
    ]
    step = LET_IT if shutil.which("bwrap") else INSTALL
    return NO_SANDBOX.format(found=bad[0].rstrip("."), step=step) if bad else ""
