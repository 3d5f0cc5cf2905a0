"""Qwen Code as data: what it is told not to do, and what it would obey."""

import json
from pathlib import Path
from typing import Any

import pytest
from genai_prices import Usage, calc_price

from runner.agents import load
from runner.agents.acp.program import AcpAgent
from runner.agents.contract import Command, Phase, Task
from tests.runner.agents.acp_partner import LAYOUT

AGENT = load("qwen")
assert isinstance(AGENT, AcpAgent)


def command(phase: Phase = Phase.WORK, model: str = "default") -> Command:
    return AGENT.begin(Task(phase, "work", "x", "r7", "", model, False, 9, 1.0, Path("s")), LAYOUT).command


def setup() -> dict[str, Any]:
    given: dict[str, Any] = json.loads(command().argv[6])
    return given


def test_its_endpoint_is_the_gateway_and_its_model_the_columns() -> None:
    started = command(model="qwen-x")
    assert started.env["OPENAI_BASE_URL"] == "http://127.0.0.1:4000/compatible/v1"
    assert started.env["OPENAI_API_KEY"] == "cardinal-gateway"
    assert (started.env["OPENAI_MODEL"], "--model=qwen-x" in started.argv) == ("qwen-x", True)


@pytest.mark.parametrize("wanted", ["default", "small"])
def test_its_own_models_have_known_prices(wanted: str) -> None:
    (model,) = load("qwen").models(wanted)
    assert calc_price(Usage(input_tokens=1), model).total_price > 0


def test_it_asks_before_commands_and_changes_also_those_that_it_takes_for_harmless() -> None:
    settings = json.loads(setup()["files"][".qwen/cardinal.json"])
    assert "--approval-mode=default" in command().argv
    assert {"run_shell_command", "edit", "write_file"} <= set(settings["permissions"]["ask"])
    assert settings["disableAllHooks"] is True


def test_nothing_of_the_repository_or_of_an_earlier_turn_is_obeyed() -> None:
    assert {".qwen", ".env", ".mcp.json"} <= set(command().hides)
    assert setup()["clears"][".qwen"] == ["projects/*/chats/*.jsonl"]
    assert AGENT.session_files("ab") == (".qwen/projects/*/chats/ab.jsonl",)


def test_a_chat_has_no_tools_and_needs_no_board() -> None:
    chat = command(Phase.CHAT)
    assert ("--core-tools=none" in chat.argv, chat.needs_board) == (True, False)
    assert ("--core-tools=none" in command().argv, command().needs_board) == (False, True)
