"""How Claude Code is started: what it may use, what it is told, and what it never learns."""

import json

import pytest
from genai_prices import Usage, calc_price

from runner.agents.contract import Dialogue, Phase
from tests.runner.agents.claude_lines import CLAUDE, begun, written


def option(dialogue: Dialogue, name: str) -> str:
    [found] = [word for word in dialogue.command.argv if word.startswith(f"{name}=")]
    return found.removeprefix(f"{name}=")


def test_every_tool_that_changes_something_asks_and_the_boards_do_not() -> None:
    rules = json.loads(option(begun(), "--settings"))["permissions"]
    assert rules == {"ask": ["Bash", "Edit", "Write", "NotebookEdit"], "allow": ["mcp__board"]}
    assert option(begun(), "--permission-prompt-tool") == "stdio"
    assert option(begun(), "--permission-mode") == "default"


def test_it_has_no_tool_for_the_web_and_none_that_outlives_its_turn() -> None:
    offered = option(begun(), "--tools").split(",")
    assert offered == ["Bash", "Edit", "Write", "Read", "Glob", "Grep", "NotebookEdit", "TodoWrite", "Task"]
    assert begun().command.env["CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"] == "1"


def test_nothing_of_the_repository_configures_it() -> None:
    dialogue = begun()
    assert {"--setting-sources=", "--strict-mcp-config", "--disable-slash-commands"} < set(
        dialogue.command.argv
    )
    for switch in ("CLAUDE_MDS", "AUTO_MEMORY", "FILE_MENTIONS"):
        assert dialogue.command.env[f"CLAUDE_CODE_DISABLE_{switch}"] == "1"


def test_it_knows_the_gateway_and_no_other_address_and_no_key() -> None:
    dialogue = begun()
    env = dialogue.command.env
    assert env["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:4000/anthropic"
    assert env["ANTHROPIC_API_KEY"] == "cardinal-gateway"
    board = json.loads(option(dialogue, "--mcp-config"))
    assert board == {"mcpServers": {"board": {"type": "http", "url": "http://127.0.0.1:4000/board"}}}
    told = " ".join((*dialogue.command.argv, *env.values()))
    assert (
        told.count("http") == told.count("http://127.0.0.1:4000") + 1
    )  # and the word that names the transport
    assert env["NO_PROXY"] == env["no_proxy"] == "127.0.0.1,localhost"


def test_it_keeps_its_state_under_the_workspaces_home() -> None:
    env = begun().command.env
    for place in ("CLAUDE_CONFIG_DIR", "CLAUDE_CODE_TMPDIR"):
        assert env[place].startswith("/workspace/home/")


def test_it_is_quiet() -> None:
    quiet = (
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "DISABLE_AUTOUPDATER",
        "DISABLE_TELEMETRY",
        "DISABLE_ERROR_REPORTING",
    )
    assert {begun().command.env[name] for name in quiet} == {"1"}


def test_commits_carry_no_line_about_their_author() -> None:
    assert json.loads(option(begun(), "--settings"))["attribution"] == {"commit": "", "pr": ""}


@pytest.mark.parametrize("wanted", ["default", "small", "opus", "sonnet", "haiku", "claude-sonnet-5-5"])
def test_whatever_it_does_it_asks_for_the_one_model_that_is_allowed_and_has_a_price(wanted: str) -> None:
    dialogue, [model] = begun(model=wanted), CLAUDE.models(wanted)
    assert option(dialogue, "--model") == model
    pinned = {value for name, value in dialogue.command.env.items() if name.endswith("_MODEL")}
    assert pinned == {model}
    calc_price(Usage(input_tokens=1, output_tokens=1), model_ref=model, provider_id="anthropic")


def test_a_model_of_another_name_stays_as_it_is() -> None:
    assert CLAUDE.models("claude-of-tomorrow") == ("claude-of-tomorrow",)


def test_a_session_is_resumed_by_its_name_and_a_new_one_gets_its_name_from_the_program() -> None:
    assert option(begun(session="0f24-77"), "--resume") == "0f24-77"
    assert not [word for word in begun().command.argv if "session" in word or "resume" in word]


def test_a_chat_has_no_tool_no_board_and_no_session() -> None:
    dialogue = begun(Phase.CHAT, model="small")
    assert option(dialogue, "--tools") == ""
    assert "--no-session-persistence" in dialogue.command.argv
    assert "--strict-mcp-config" in dialogue.command.argv
    assert not [word for word in dialogue.command.argv if "mcp-config=" in word]


def test_the_prompt_is_one_line_on_stdin_whatever_it_holds() -> None:
    dialogue = begun(prompt="Fix it\n$(reboot) \ud800 é")
    message = written(dialogue.command.opening)
    assert message["message"]["content"] == [{"type": "text", "text": "Fix it\n$(reboot) \ud800 é"}]
    assert "reboot" not in " ".join(dialogue.command.argv)


@pytest.mark.parametrize("text", ["/clear", " /clear", "\n/cost now"])
def test_a_persons_words_are_never_a_command_of_the_program(text: str) -> None:
    dialogue = begun()
    for message in (dialogue.steer(text), begun(prompt=text).command.opening):
        [block] = written(message)["message"]["content"]
        assert block["text"] == f"A person wrote: {text}"
