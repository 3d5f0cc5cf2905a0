"""Two workers' hosts with one PostgreSQL: what docker/compose.yml starts with its profile `scaled`."""

import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest
import requests
from werkzeug.serving import make_server

from forge.demo import launch
from forge.demo.people import REPOSITORY, Team
from forge.web.server import Forge, QuietHandler
from tests.containers.locked import AGENT, ROOT, docker, need_image
from tests.containers.test_compose import SECRET, USER, Stack, free_stack, prepare
from tests.hosts.site import POLICY, put_policy
from tests.waiting import until

DATABASE_PASSWORD = "a-password-of-the-database"
URL = f"postgresql://cardinal:{DATABASE_PASSWORD}@database/cardinal"
HOSTS = {"workers": "a", "workers-b": "b"}
START_S = 90.0
RUN_S = 180.0
DOOR = "forge.sock"
QUICK = {
    "CARDINAL_WORKSPACE": "docker",
    "CARDINAL_LEASE_S": "5",
    "CARDINAL_CHECKPOINT_S": "1",
    "CARDINAL_TICK_S": "0.2",
}


def prepare_both(stack: Stack, forge: str) -> Path:
    """Make the homes as docs/scaling.md says, and return that of the second host."""
    home, second = stack.home, stack.home.with_name("home-b")
    prepare(home)
    app = requests.post(f"{forge}/_forge/seed", json={"name": "demo", "agent": "scripted"}, timeout=60).json()
    hook = {"url": f"http://127.0.0.1:{stack.port}/webhooks/github", "secret": app["webhook_secret"]}
    requests.post(f"{forge}/_forge/webhook", json=hook, timeout=60).raise_for_status()
    launch.write_settings(home, forge, stack.port, app, QUICK)
    (home / "database.password").write_text(DATABASE_PASSWORD, encoding="utf-8")
    webs = (home / "web/env").read_text(encoding="utf-8").replace(SECRET, app["webhook_secret"])
    (home / "web/env").write_text(webs, encoding="utf-8")
    for file in (home / "env", home / "web/env"):
        with file.open("a", encoding="utf-8") as lines:
            lines.write(f"CARDINAL_DATABASE_URL={URL}\nCARDINAL_STORE={home}/artifacts\n")
    second.mkdir(mode=0o700)
    shutil.copy(home / "app.pem", second / "app.pem")
    text = (home / "env").read_text(encoding="utf-8")
    for folder, name in ((home, "a"), (second, "b")):
        shutil.copytree(ROOT / "tests/hosts/scenarios", folder / "scenarios")
        mine = text.replace(str(launch.SCENARIOS), f"{folder}/scenarios") + f"CARDINAL_HOST_NAME={name}\n"
        (folder / "env").write_text(mine, encoding="utf-8")
    if os.geteuid() == 0:
        for path in (second, *second.rglob("*"), *home.rglob("*")):
            os.chown(path, USER, USER)
    return second


class DoorHandler(QuietHandler):
    """Answers at a socket that is no TCP."""

    disable_nagle_algorithm = False


@contextmanager
def doors(forge: Forge, *homes: Path) -> Iterator[None]:
    """Let containers reach the forge, which listens on loopback alone, by a socket in each home."""
    server = make_server(
        f"unix://{homes[0] / DOOR}", 0, forge.answer, threaded=True, request_handler=DoorHandler
    )
    for home in homes:
        if home != homes[0]:
            os.link(homes[0] / DOOR, home / DOOR)
        (home / DOOR).chmod(0o666)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def forge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forge]:
    forge = Forge(tmp_path_factory.mktemp("forge")).start()
    yield forge
    forge.stop()


@pytest.fixture(scope="module")
def scaled(tmp_path_factory: pytest.TempPathFactory, forge: Forge) -> Iterator[Stack]:
    for image in (AGENT, "cardinal:latest", "cardinal/postgres:latest"):
        need_image(image)
    stack = free_stack(tmp_path_factory.mktemp("scaled") / "home", ("--profile", "scaled"))
    second = prepare_both(stack, forge.url)
    put_policy(forge.url, POLICY.replace("plan_approval: required", "plan_approval: off"))
    with doors(forge, stack.home, second), stack.up():
        port = forge.url.rpartition(":")[2]
        listen = f"TCP-LISTEN:{port},bind=127.0.0.1,fork,reuseaddr"
        for service, home in zip(HOSTS, (stack.home, second), strict=True):
            stack.compose("exec", "-d", "-T", service, "socat", listen, f"UNIX-CONNECT:{home / DOOR}")
        yield stack


def hosts(stack: Stack) -> dict[str, str]:
    """Return the state of every host, by its name."""
    listed = stack.run("workers", "cardinal", "hosts", "--json")
    answer = json.loads(listed.stdout or '{"hosts": []}')
    return {host["host"]: host["state"] for host in answer["hosts"]}


def test_two_hosts_with_homes_of_their_own_share_ledger_redis_and_store(scaled: Stack) -> None:
    limit = time.monotonic() + START_S
    while hosts(scaled) != {"a": "alive", "b": "alive"}:
        assert time.monotonic() < limit, scaled.compose("logs", "--no-color").stdout[-4000:]
        time.sleep(0.5)
    for service, name in HOSTS.items():
        lines = scaled.run(service, "cardinal", "doctor").stdout.splitlines()
        findings = {line.split()[1]: line.split()[0] for line in lines if len(line.split()) > 1}
        assert [findings.get(name) for name in ("ledger", "redis", "home", "store")] == ["ok"] * 4, (
            name,
            lines,
        )
    first, second = ({*scaled.run(service, "ls", "-A", str(scaled.home)).stdout.split()} for service in HOSTS)
    assert "app.pem" in first
    assert second == {"artifacts"}, "the second host sees of the first one's home what runs left, and no more"


def recorded(stack: Stack, kind: str) -> list[dict[str, object]]:
    """Return the events of that kind."""
    query = f"SELECT body FROM events WHERE kind = '{kind}' ORDER BY seq"
    asked = (
        f'PGPASSWORD=$(cat /run/secrets/database_password) psql -h /tmp -U cardinal -tAc "{query}" cardinal'
    )
    answer = stack.run("database", "sh", "-c", asked)
    assert answer.returncode == 0, answer.stderr
    return [json.loads(row) for row in answer.stdout.splitlines()]


def holder(homes: dict[str, Path]) -> str:
    """Return the service whose agent holds still after its commit."""
    return next((name for name, home in homes.items() if [*home.glob("workspaces/*/repo/held")]), "")


def is_kept(stack: Stack) -> bool:
    """Tell whether commit and file are in the store: what is not committed is a commit of its own."""
    return any(event["files"] != event["head"] for event in recorded(stack, "Checkpointed")[-1:])


def test_a_run_goes_on_and_delivers_on_the_other_host_when_its_host_s_container_is_killed(
    scaled: Stack, forge: Forge
) -> None:
    team = Team(forge.url)
    homes = dict(zip(HOSTS, (scaled.home, scaled.home.with_name("home-b")), strict=True))
    team.new_card("alice", "Power", "", "In Progress")
    first = until(lambda: holder(homes), "the agent holds still after its commit", RUN_S)
    until(lambda: is_kept(scaled), "commit and file are in the store", RUN_S)
    assert scaled.compose("kill", first).returncode == 0
    (ended,) = until(lambda: recorded(scaled, "RunEnded"), "the run has ended", RUN_S)
    assert ended["ending"] == "succeeded", ended
    (second,) = {*HOSTS} - {first}
    assert [event["host"] for event in recorded(scaled, "WorkspaceTaken")] == [HOSTS[first], HOSTS[second]]
    assert [event["missing"] for event in recorded(scaled, "WorkspaceRestored")] == [[]]
    (pull,) = team.call("alice", "GET", f"/repos/{REPOSITORY}/pulls?state=all")
    files = team.call("alice", "GET", f"/repos/{REPOSITORY}/pulls/{pull['number']}/files")
    assert [file["filename"] for file in files] == ["docs/power.md"]


TWICE = """\
is_ready="until /usr/lib/postgresql/15/bin/pg_isready -q -h 127.0.0.1; do sleep 0.1; done"
start >/tmp/log 2>&1 & timeout 40 sh -c "$is_ready" && kill -INT $! && wait $!
chmod 2770 /data/db
start >/tmp/log 2>&1 & timeout 40 sh -c "$is_ready" && echo again || cat /tmp/log
"""


def test_the_database_starts_again_on_a_volume_whose_group_got_rights(tmp_path: Path) -> None:
    """Kubernetes gives them at each mount, for `fsGroup`."""
    need_image("cardinal/postgres:latest")
    (tmp_path / "database_password").write_text(DATABASE_PASSWORD, encoding="utf-8")
    tmp_path.chmod(0o755)
    mount = f"{tmp_path}:/run/secrets:ro"
    ran = docker("run", "--rm", "--network=none", "-v", mount, "cardinal/postgres:latest", "sh", "-c", TWICE)
    assert ran.stdout == "again\n", ran.stderr
