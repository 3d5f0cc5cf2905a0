"""Cardinal itself in containers: what docker/compose.yml describes starts, works and leaves nothing."""

import json
import os
import re
import shutil
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.containers.locked import AGENT, ROOT, docker, need_image
from tests.ledger.older import make_older
from tests.ledgers import new_ledger
from tests.waiting import until

COMPOSE = ROOT / "docker/compose.yml"
USER = 1000  # of both images
SECRET = "not-a-secret-but-looked-for"
PASSWORD = "a-password-of-redis"


@dataclass(frozen=True, slots=True)
class Stack:
    """One running stack."""

    name: str
    home: Path
    port: int
    profile: tuple[str, ...] = ()

    def compose(self, *words: str, limit_s: float = 90) -> subprocess.CompletedProcess[str]:
        """Run the plugin, or Debian's program of old."""
        engine = os.environ["DOCKER_HOST"].removeprefix("unix://")
        settings = {
            "CARDINAL_HOME": str(self.home),
            "CARDINAL_HOME_B": f"{self.home}-b",
            "CARDINAL_PORT": str(self.port),
            "DOCKER_SOCKET": engine,
            "DOCKER_GROUP": str(Path(engine).stat().st_gid),
        }
        program = ("docker-compose",) if shutil.which("docker-compose") else ("docker", "compose")
        return subprocess.run(
            (*program, *self.profile, "-p", self.name, "-f", str(COMPOSE), *words),
            env=os.environ | settings,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )

    def run(self, service: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command beside a service's own."""
        return self.compose("exec", "-T", service, *words)

    @contextmanager
    def up(self) -> Iterator[None]:
        """Run it until the block ends; nothing of it may be left then."""
        try:
            up = self.compose("up", "-d", "--no-build")
            assert up.returncode == 0, up.stderr
            until(lambda: healthy(self.port), "it is healthy", every_s=0.2)
            yield
        finally:
            down = self.compose("down", "-v")
        assert down.returncode == 0, down.stderr
        assert self.left() == ""

    def left(self) -> str:
        """Return what the engine still has of it."""
        mine = f"label=com.docker.compose.project={self.name}"
        kinds = (("ps", "-a"), ("network", "ls"), ("volume", "ls"))
        return "".join(docker(*kind, "-q", "--filter", mine).stdout for kind in kinds)


def prepare(home: Path) -> None:
    """Make the home as docs/containers.md says: the settings' file and the key belong to the image's user."""
    home.mkdir(mode=0o700)
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    (home / "app.pem").write_bytes(pem)
    lines = {
        "CARDINAL_APP_ID": "1",
        "CARDINAL_PRIVATE_KEY": home / "app.pem",
        "CARDINAL_WEBHOOK_SECRET": SECRET,
        "CARDINAL_BOARD": "acme/1",
        "CARDINAL_GITHUB_URL": "http://127.0.0.1:9",
        "CARDINAL_REDIS_URL": f"redis://:{PASSWORD}@redis:6379/0",
    }
    (home / "redis.conf").write_text(f"requirepass {PASSWORD}\n", encoding="utf-8")
    (home / "env").write_text("".join(f"{name}={text}\n" for name, text in lines.items()), encoding="utf-8")
    for folder in ("web", "data", "artifacts"):
        (home / folder).mkdir(mode=0o700)
    webs = "".join(f"{name}={lines[name]}\n" for name in ("CARDINAL_WEBHOOK_SECRET", "CARDINAL_REDIS_URL"))
    (home / "web/env").write_text(webs, encoding="utf-8")
    _give(home)


def _give(home: Path) -> None:
    """Give the home to the image's user."""
    if os.geteuid() == 0:
        for path in (home, *home.rglob("*")):
            os.chown(path, USER, USER)


def healthy(port: int) -> dict[str, object]:
    """Return what /healthz says, or nothing."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=2) as answer:
            health: dict[str, object] = json.loads(answer.read())
            return health
    except OSError:
        return {}


def free_stack(home: Path, profile: tuple[str, ...] = ()) -> Stack:
    """Return a stack with a free port, which is not prepared yet."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return Stack(f"cardinal-test-{port}", home, port, profile)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    need_image(AGENT)
    need_image("cardinal:latest")
    stack = free_stack(tmp_path_factory.mktemp("compose") / "home")
    prepare(stack.home)
    make_older(new_ledger(f"sqlite:///{stack.home}/data/ledger.db"))
    _give(stack.home)
    with stack.up():
        yield stack


def test_one_of_the_services_upgrades_the_ledger_and_each_finds_the_copy_of_before(stack: Stack) -> None:
    (copy,) = re.findall(r"`cardinal restore (\S+) ", stack.compose("logs", "--no-color").stdout)
    for service in ("web", "workers"):
        assert stack.run(service, "ls", copy).stdout.strip() == copy, service


def test_the_web_process_answers_on_this_machine(stack: Stack) -> None:
    assert healthy(stack.port).get("ok") is True, stack.compose("logs", "--no-color").stdout


def test_the_web_process_sees_neither_the_apps_key_nor_what_agents_left_in_their_places(
    stack: Stack,
) -> None:
    seen = set(stack.run("web", "ls", "-A", str(stack.home)).stdout.split())
    assert {"env", "data", "artifacts"} <= seen
    assert not seen & {"app.pem", "redis.conf", "workspaces", "mirrors", "backups", "web"}
    assert "PRIVATE_KEY" not in stack.run("web", "cat", f"{stack.home}/env").stdout
    assert stack.run("web", "sh", "-c", f"echo x >{stack.home}/artifacts/x").returncode != 0


def test_the_doctor_finds_ledger_and_redis_in_order(stack: Stack) -> None:
    lines = stack.run("workers", "cardinal", "doctor").stdout.splitlines()
    findings = {line.split()[1]: line.split()[0] for line in lines}
    assert [findings.get(name) for name in ("settings", "ledger", "redis", "home")] == ["ok"] * 4, lines


def test_a_worker_starts_containers_that_see_the_home_under_its_own_path(stack: Stack) -> None:
    (stack.home / "data/seen").write_text("the same file\n", encoding="utf-8")
    mount = f"{stack.home}/data/seen:/seen:ro"
    run = stack.run(
        "workers", "docker", "run", "--rm", "--network", "none", "-v", mount, AGENT, "cat", "/seen"
    )
    assert run.stdout == "the same file\n", run.stderr


def test_only_the_workers_reach_the_engine_and_nobody_is_root(stack: Stack) -> None:
    for service, reaches in (("web", False), ("workers", True)):
        assert (stack.run(service, "docker", "version").returncode == 0) is reaches, service
        assert stack.run(service, "id", "-u").stdout.strip() == str(USER)
        assert stack.run(service, "sh", "-c", "echo x >/srv/cardinal/x").returncode != 0


def test_no_secret_is_in_what_the_engine_tells_about_the_containers(stack: Stack) -> None:
    names = docker("ps", "-q", "--filter", f"label=com.docker.compose.project={stack.name}").stdout.split()
    assert len(names) == 3
    told = docker("inspect", *names).stdout
    assert [word for word in (SECRET, PASSWORD) if word in told] == []


def test_redis_answers_nobody_without_its_password(stack: Stack) -> None:
    said = stack.run("redis", "sh", "-c", "printf 'PING\\r\\nQUIT\\r\\n' | socat -t 5 - TCP:redis:6379")
    assert "NOAUTH" in said.stdout
