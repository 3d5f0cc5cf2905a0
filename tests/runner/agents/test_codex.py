"""Codex: the steps of its protocol and how it is started."""

import json
import os
import subprocess
from pathlib import Path

import genai_prices
import pytest

from runner.agents.adapters.codex import AGENT
from runner.agents.contract import Noise, Session, TurnEnd
from runner.run.run_spec import ToolSpec
from tests.runner.agents.codex_partner import (
    THREAD,
    TURN,
    begin,
    flags,
    greeted,
    hear,
    opened,
    sent,
)


def test_each_step_is_sent_when_the_one_before_was_answered() -> None:
    dialogue = begin()
    assert json.loads(dialogue.command.opening)["method"] == "initialize"
    first = greeted(dialogue)
    assert [message["method"] for message in sent(first)] == ["initialized", "thread/start"]
    second = hear(dialogue, id=2, result={"thread": {"id": THREAD}})
    assert second[0] == Session(THREAD, "0.169.0")
    assert [message["method"] for message in sent(second)] == ["turn/start"]
    assert sent(second)[0]["params"]["input"] == [{"type": "text", "text": "Say 'hello'; $(reboot)\n"}]


def test_the_thread_is_read_only_or_the_server_would_trust_the_repository() -> None:
    start = sent(greeted(begin()))[1]["params"]
    assert (start["sandbox"], start["approvalPolicy"]) == ("read-only", "untrusted")
    assert (start["cwd"], start["model"]) == ("/workspace/repo", "gpt-5.5")


@pytest.mark.parametrize(("network", "access"), [("none", "restricted"), ("list", "enabled")])
def test_the_turn_asks_for_everything_and_leaves_the_sandbox_to_the_container(
    network: str, access: str
) -> None:
    turn = sent(opened(begin(tools=ToolSpec(network=network))))[0]["params"]
    assert turn["approvalPolicy"] == "untrusted"
    assert turn["sandboxPolicy"] == {"type": "externalSandbox", "networkAccess": access}


def test_a_session_is_resumed_without_its_history_and_with_the_model_of_today() -> None:
    message = sent(greeted(begin(session=THREAD, model="gpt-9")))[1]
    assert message["method"] == "thread/resume"
    assert message["params"]["threadId"] == THREAD
    assert message["params"]["excludeTurns"] is True
    assert message["params"]["model"] == "gpt-9"
    assert message["params"]["sandbox"] == "read-only"


def test_a_session_that_is_gone_ends_the_turn_and_names_it() -> None:
    dialogue = begin(session="gone")
    greeted(dialogue)
    events = hear(dialogue, id=2, error={"code": -32600, "message": "no rollout found for thread id gone"})
    assert events == (
        TurnEnd(
            "codex cannot continue the session gone: no rollout found for thread id gone", session_gone=True
        ),
    )


@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_refused_step_ends_the_turn(step: int) -> None:
    dialogue = begin()
    for answer in ({"userAgent": "x"}, {"thread": {"id": THREAD}})[: step - 1]:
        hear(dialogue, id=1 if "userAgent" in answer else 2, result=answer)
    events = hear(dialogue, id=step, error={"code": 1, "message": "no\nroom"})
    assert events == (TurnEnd("codex refused to start: no room"),)


def test_an_answer_that_comes_twice_starts_nothing_twice() -> None:
    dialogue = begin()
    opened(dialogue)
    again = hear(dialogue, id=2, result={"thread": {"id": "other"}})
    assert sent(again) == []
    assert all(isinstance(event, Noise) for event in again)
    assert sent(hear(begin(), id=3, result={"turn": {"id": TURN}})) == []


def test_the_version_is_what_the_program_says_of_itself() -> None:
    def version_of(agent: object) -> str:
        dialogue = begin()
        hear(dialogue, id=1, result={"userAgent": agent})
        session = hear(dialogue, id=2, result={"thread": {"id": THREAD}})[0]
        assert isinstance(session, Session)
        return session.version

    assert version_of("cardinal/0.170.2 (Debian)") == "0.170.2"
    assert version_of(None) == version_of("odd") == version_of("cardinal/") == "0.169.0"


def test_its_settings_name_the_gateway_and_no_secret() -> None:
    dialogue = begin(model="small")
    given_ = flags(dialogue)
    assert given_["model_providers.cardinal.base_url"] == "http://127.0.0.1:4000/openai/v1"
    assert given_["mcp_servers.board.url"] == "http://127.0.0.1:4000/board"
    assert given_["mcp_servers.board.default_tools_approval_mode"] == "approve"
    assert (given_["model"], given_["model_provider"]) == ("gpt-5.6-luna", "cardinal")
    assert given_["project_doc_max_bytes"] == 0
    assert given_["features.unbounded_connection_retries"] is False
    assert "features.shell_tool" not in given_
    assert "--strict-config" in dialogue.command.argv
    assert not any("reboot" in word for word in dialogue.command.argv)
    assert set(dialogue.command.env) == {"NO_PROXY", "no_proxy"}


def test_it_declares_its_version_its_key_and_where_it_may_run() -> None:
    assert (AGENT.name, AGENT.version) == ("codex", "0.169.0")
    assert (AGENT.secrets, AGENT.trusted, AGENT.in_image) == (("openai",), False, True)


@pytest.mark.parametrize("wanted", ["default", "small"])
def test_its_own_models_have_a_known_price(wanted: str) -> None:
    used = genai_prices.Usage(input_tokens=1_000, output_tokens=1_000)
    price = genai_prices.calc_price(used, model_ref=AGENT.models(wanted)[0], provider_id="openai")
    assert price.total_price > 0
    assert AGENT.models("gpt-9") == ("gpt-9",)


def start(home: Path) -> subprocess.CompletedProcess[str]:
    """Start the real command line with a program in place of codex that tells its words."""
    tools = home.parent / "bin"
    tools.mkdir()
    program = tools / "codex"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\ncat\nexit 7\n')
    program.chmod(0o755)
    environment = {"PATH": f"{tools}:{os.environ['PATH']}", "HOME": str(home)}
    argv = begin().command.argv
    return subprocess.run(
        argv, env=environment, input="hello\n", capture_output=True, text=True, timeout=60, check=False
    )


def test_what_the_agent_wrote_into_its_own_home_is_gone_but_its_sessions(tmp_path: Path) -> None:
    kept = tmp_path / "home/.codex/sessions/2026/rollout-1.jsonl"
    kept.parent.mkdir(parents=True)
    kept.write_text("{}\n")
    home = tmp_path / "home/.codex"
    (home / "rules").mkdir()
    (home / "rules/default.rules").write_text('prefix_rule(pattern=["rm"], decision="allow")\n')
    (home / "config.toml").write_text('[projects."/workspace/repo"]\ntrust_level = "trusted"\n')
    (home / ".hidden").write_text("x")
    started = start(tmp_path / "home")
    assert [path.name for path in home.iterdir()] == ["sessions"]
    assert kept.read_text() == "{}\n"
    assert started.stdout.startswith("app-server\n--strict-config\n-c\n")
    assert started.stdout.endswith("\nhello\n")
    assert (started.returncode, started.stderr) == (7, "")


def test_a_home_that_points_elsewhere_is_replaced_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "repo"
    elsewhere.mkdir()
    (elsewhere / "work.py").write_text("x = 1\n")
    (tmp_path / "home").mkdir()
    (tmp_path / "home/.codex").symlink_to(elsewhere)
    assert start(tmp_path / "home").returncode == 7
    assert (elsewhere / "work.py").exists()
    assert not (tmp_path / "home/.codex").is_symlink()
