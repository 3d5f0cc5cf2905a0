"""The agents' image: everything starts in it, locked in, and nothing else is in it."""

import json

import pytest

from tests.containers.locked import AGENT, docker, inside, need_image

PROGRAMS = {"claude": "2.1.330", "codex": "0.169.0", "opencode": "1.18.33", "qwen": "0.24.4"}


@pytest.fixture(autouse=True)
def _engine() -> None:
    need_image(AGENT)


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_agent_starts_without_a_network_a_writable_root_and_a_known_user(name: str) -> None:
    result = inside(name, "--version")
    assert result.returncode == 0, result.stderr
    label = docker(
        "image", "inspect", "--format", f'{{{{index .Config.Labels "cardinal.agent.{name}"}}}}', AGENT
    )
    assert PROGRAMS[name] == label.stdout.strip()
    assert PROGRAMS[name] in result.stdout


def test_codex_finds_the_files_that_it_expects_around_its_program() -> None:
    result = inside(
        "sh", "-c", "cd $(dirname $(readlink -f $(command -v codex)))/.. && ls bin && rg --version"
    )
    assert {"codex", "codex-code-mode-host"} <= set(result.stdout.split())
    assert "ripgrep" in result.stdout


def test_a_repository_can_be_worked_on() -> None:
    script = (
        "git init -q /tmp/r && cd /tmp/r && echo x >f && git add f"
        " && git -c user.name=a -c user.email=a@b commit -qm one && git log --format=%s"
        " && python3 -m venv --without-pip /tmp/v && /tmp/v/bin/python -c 'print(6 * 7)'"
    )
    result = inside("sh", "-c", script)
    assert result.stdout.split() == ["one", "42"], result.stderr


def test_node_is_there_for_one_program_and_out_of_the_way() -> None:
    result = inside("sh", "-c", "ls /usr/local/lib/qwen && /usr/local/lib/qwen/node --version")
    assert result.stdout.split() == ["code", "node", "v24.19.0"], result.stderr


def test_no_node_no_package_manager_and_no_secret_of_the_build_is_left() -> None:
    result = inside("sh", "-c", "command -v node npm pip gcc; ls -d /npm /node /programs 2>/dev/null; true")
    assert result.stdout == ""
    settings = json.loads(docker("image", "inspect", AGENT).stdout)[0]["Config"]
    assert {entry.split("=")[0] for entry in settings["Env"]} == {"PATH", "LANG"}
    assert settings["User"] == "agent"


def test_no_user_can_change_the_programs_or_gain_rights_by_them() -> None:
    result = docker(
        "run",
        "--rm",
        "--network",
        "none",
        "--user",
        "0",
        AGENT,
        "find",
        "/usr/local",
        "-perm",
        "/6022",
        "-not",
        "-type",
        "l",
    )
    assert result.stdout == ""
