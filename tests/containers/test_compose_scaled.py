"""Two workers' hosts with one PostgreSQL: what docker/compose.yml starts with its profile `scaled`."""

import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.containers.locked import AGENT, need_image
from tests.containers.test_compose import USER, Stack, free_stack, prepare

DATABASE_PASSWORD = "a-password-of-the-database"
URL = f"postgresql://cardinal:{DATABASE_PASSWORD}@database/cardinal"
HOSTS = {"workers": "a", "workers-b": "b"}
START_S = 90.0


def prepare_both(home: Path) -> Path:
    """Make the homes as docs/scaling.md says, and return that of the second host."""
    prepare(home)
    second = home.with_name("home-b")
    (home / "database.password").write_text(DATABASE_PASSWORD, encoding="utf-8")
    for file in (home / "env", home / "web/env"):
        with file.open("a", encoding="utf-8") as lines:
            lines.write(f"CARDINAL_DATABASE_URL={URL}\nCARDINAL_STORE={home}/artifacts\n")
    second.mkdir(mode=0o700)
    shutil.copy(home / "app.pem", second / "app.pem")
    text = (home / "env").read_text(encoding="utf-8")
    for folder, name in ((home, "a"), (second, "b")):
        mine = text.replace(f"{home}/app.pem", f"{folder}/app.pem") + f"CARDINAL_HOST_NAME={name}\n"
        (folder / "env").write_text(mine, encoding="utf-8")
    if os.geteuid() == 0:
        for path in (second, *second.rglob("*"), home / "database.password"):
            os.chown(path, USER, USER)
    return second


@pytest.fixture(scope="module")
def scaled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    for image in (AGENT, "cardinal:latest", "cardinal/postgres:latest"):
        need_image(image)
    stack = free_stack(tmp_path_factory.mktemp("scaled") / "home", ("--profile", "scaled"))
    prepare_both(stack.home)
    with stack.up():
        yield stack


def hosts(stack: Stack) -> dict[str, str]:
    """Return the state of every host, by its name."""
    listed = stack.run("workers", "cardinal", "hosts", "--json")
    return {host["name"]: host["state"] for host in json.loads(listed.stdout or "[]")}


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
