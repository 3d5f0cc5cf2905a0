"""The doctor tells which Redis answers, and warns where a release by its makers lacks a known fix."""

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from redis import Redis

from bot.admin.doctor.host import judge_version
from bot.admin.redis_version import FIXES, RedisServer, read_server
from bot.cli import main
from bot.system.config import Config
from bot.system.redis import socket_path
from ledger.queue.examinations import Level

LUA, PATTERNS = "CVE-2025-49844", "CVE-2024-31228"


@pytest.mark.parametrize(
    ("product", "version", "missing"),
    [
        ("Redis", "5.0.14", {LUA, PATTERNS}),
        ("Redis", "6.2.15", {LUA, PATTERNS}),
        ("Redis", "6.2.16", {LUA}),
        ("Redis", "6.2.20", set()),
        ("Redis", "7.0.15", {LUA, PATTERNS}),
        ("Redis", "7.2.5", {LUA, PATTERNS}),
        ("Redis", "7.2.10", {LUA}),
        ("Redis", "7.2.11", set()),
        ("Redis", "7.4.0", {LUA, PATTERNS}),
        ("Redis", "7.4.6", set()),
        ("Redis", "8.0.3", {LUA}),
        ("Redis", "8.0.4", set()),
        ("Redis", "8.2.1", {LUA}),
        ("Redis", "8.2.2", set()),
        ("Redis", "8.4.0", set()),
        ("Redis", "255.255.255", set()),
        ("Valkey", "7.2.10", {LUA}),
        ("Valkey", "7.2.11", set()),
        ("Valkey", "8.0.6", set()),
        ("Valkey", "8.1.3", {LUA}),
        ("Valkey", "8.1.4", set()),
        ("Valkey", "9.0.0", set()),
        ("Redis", "unstable", set()),
    ],
)
def test_a_release_lacks_the_fixes_that_came_later_in_its_series(
    product: str, version: str, missing: set[str]
) -> None:
    server = RedisServer(product, version, "/usr/local/bin/redis-server")
    assert {fix.name for fix in server.missing_fixes()} == missing
    judged = judge_version(server)
    assert judged.level is (Level.WARN if missing else Level.OK)
    assert all(name in judged.message for name in missing)
    assert all(fix.source in judged.next_step for fix in FIXES if fix.name in missing)


@pytest.mark.parametrize(
    "executable", ["/usr/bin/redis-server", "", "/nix/store/x-redis/bin/redis-server", "/tmp/redis-server"]
)
def test_a_distributions_number_alarms_nobody_and_says_what_it_does_not_tell(executable: str) -> None:
    judged = judge_version(RedisServer("Redis", "7.0.15", executable))
    assert judged.level is Level.OK
    assert f"does not show whether it has the fixes for {LUA} and {PATTERNS}" in judged.message
    assert "changelog of its package" in judged.next_step


def test_a_running_server_tells_its_product_and_version(redis: Redis) -> None:
    program = read_server(redis).executable
    shown = subprocess.run([program, "--version"], capture_output=True, text=True, check=True, timeout=60)
    server = read_server(redis)
    assert f"v={server.version} " in shown.stdout
    assert shown.stdout.startswith(server.product)
    assert judge_version(server).message.startswith(f"{server.product} {server.version} ")


def finding(home: Path, url: str) -> dict[str, str]:
    args, env = ("doctor", "--json"), {"CARDINAL_HOME": str(home), "CARDINAL_REDIS_URL": url}
    found = json.loads(CliRunner().invoke(main, args, env=env).stdout)
    return next(one for one in found if one["name"] == "redis")


def test_the_doctor_tells_the_version_and_a_user_who_may_not_ask_for_it_is_told_so(
    redis: Redis, config: Config, tmp_path: Path
) -> None:
    socket = socket_path(config.home)
    server = read_server(redis)
    told = finding(tmp_path / "new", f"unix://{socket}")
    assert told["found"].startswith(f"{server.product} {server.version} ")
    redis.execute_command("ACL", "SETUSER", "shy", "on", ">word", "+ping")
    told = finding(tmp_path / "new", f"unix://shy:word@{socket}")
    assert told["level"] == "ok"
    assert "does not report its version" in told["found"]
    assert "INFO" in told["next_step"]
