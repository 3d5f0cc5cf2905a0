"""How the bridge keeps OpenCode's server: its start and end, its secrets, and the repository's files."""

import json
import os
import signal
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from runner.agents.contract import AgentEvent, Session, ToolStart
from tests.runner.agents.opencode_bench import Bridge, bash, end_of


def test_a_stubborn_server_is_killed(bridge: Callable[..., Bridge]) -> None:
    servers: list[psutil.Process] = []

    def react(one: Bridge, event: AgentEvent) -> None:
        servers.extend(one.servers() if isinstance(event, Session) else ())

    played = bridge([{"say": "x"}, {"idle": True}], bounds={"TERM_S": 1}, stubborn=True)
    played.play(react)
    assert servers
    assert played.child.exit_code() == 0
    assert not any(server.is_running() for server in servers)


@pytest.mark.parametrize("how", ["input", "term"])
def test_when_the_supervisor_leaves_the_work_is_aborted_and_the_server_ended(
    bridge: Callable[..., Bridge], how: str
) -> None:
    servers: list[psutil.Process] = []

    def react(one: Bridge, event: AgentEvent) -> None:
        if isinstance(event, ToolStart):
            servers.extend(one.servers())
            if how == "input":
                one.child.end_input()
            else:
                os.kill(one.child.pid, signal.SIGTERM)

    played = bridge([bash("p1", "running")])
    played.play(react)
    assert played.child.exit_code() == 0
    assert played.sent("/abort")
    assert servers
    assert not any(server.is_running() for server in servers)


def test_only_the_session_stays_in_the_home(bridge: Callable[..., Bridge], tmp_path: Path) -> None:
    (tmp_path / "home/.opencode-killed/config").mkdir(parents=True)
    played = bridge([{"say": "x"}, {"idle": True}])
    played.play()
    assert list((played.folder / "home").iterdir()) == []


def git(repo: Path, *words: str) -> str:
    fixed = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
    done = subprocess.run(["git", *fixed, *words], cwd=repo, check=True, capture_output=True, text=True)
    return done.stdout


def committed(folder: Path, *names: str) -> Path:
    repo = folder / "repo"
    repo.mkdir()
    git(repo, "init", "-q")
    for name in names:
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text("x")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "first")
    return repo


@pytest.mark.parametrize("name", [".opencode/plugin/evil.js", "opencode.json", "opencode.jsonc"])
def test_it_does_not_start_where_the_repository_could_run_programs(
    bridge: Callable[..., Bridge], tmp_path: Path, name: str
) -> None:
    committed(tmp_path, name)
    assert "is not hidden here" in end_of(bridge([]).play())
    assert not (tmp_path / "record").exists()


def test_hidden_files_are_neither_deleted_nor_emptied_by_the_agents_commits(
    bridge: Callable[..., Bridge], tmp_path: Path
) -> None:
    repo = committed(tmp_path, ".opencode/plugin/a.js", ".opencode/b c", "opencode.json", "README")
    (repo / ".opencode/plugin/a.js").unlink()
    (repo / ".opencode/plugin").rmdir()
    (repo / ".opencode/b c").unlink()
    (repo / "opencode.json").write_text("")
    seen: list[str] = []

    def react(_: Bridge, event: AgentEvent) -> None:
        if isinstance(event, Session):
            (repo / "README").write_text("y")
            seen.append(git(repo, "status", "--short"))
            git(repo, "commit", "-qam", "all")

    played = bridge([{"say": "x"}, {"idle": True}])
    assert end_of(played.play(react)) == ""
    assert seen == [" M README\n"]
    assert git(repo, "show", "--format=", "--name-only", "HEAD") == "README\n"
    assert all(line[0] == "H" for line in git(repo, "ls-files", "-v").splitlines())


def test_the_password_is_not_in_the_shells_environment(bridge: Callable[..., Bridge]) -> None:
    said: list[str] = []

    def react(one: Bridge, event: AgentEvent) -> None:
        if isinstance(event, Session):
            (server,) = [found for found in one.servers() if "serve" in found.cmdline()]
            inside = server.environ()
            shell = json.loads(inside["OPENCODE_CONFIG_CONTENT"])["shell"]
            assert os.stat(shell).st_mode & stat.S_IXUSR
            done = subprocess.run(
                [shell, "-c", "env"], env=inside, capture_output=True, text=True, check=True
            )
            said.append(done.stdout)

    bridge([{"say": "x"}, {"idle": True}]).play(react)
    assert "HOME=" in said[0]
    assert "OPENCODE_SERVER_PASSWORD" not in said[0]
    assert "OPENCODE_CONFIG_CONTENT" not in said[0]
