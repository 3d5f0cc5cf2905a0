"""OpenCode's set-up, and what the lines of its bridge mean."""

import json
from pathlib import Path
from typing import Any

import pytest
from genai_prices import Usage, calc_price
from hypothesis import given
from hypothesis import strategies as st

from runner.agents import load
from runner.agents.adapters.opencode import AGENT, OpenCodeDialogue
from runner.agents.contract import (
    AgentEvent,
    Layout,
    Noise,
    PermissionAsked,
    Phase,
    Session,
    Task,
    Text,
    TodoShown,
    ToolEnd,
    ToolStart,
    TurnEnd,
)

LAYOUT = Layout(
    "/workspace/repo",
    "/workspace/home",
    "",
    "python3",
    "/player",
    "http://127.0.0.1:4000",
    "http://127.0.0.1:4001",
)


def dialogue(
    phase: Phase = Phase.WORK, *, model: str = "default", read_only: bool = False, session: str = ""
) -> OpenCodeDialogue:
    return AGENT.begin(
        Task(phase, "work", "do it", "r7", session, model, read_only, 60, 2.0, Path("scenarios")), LAYOUT
    )


def opening(open_code_dialogue: OpenCodeDialogue) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(open_code_dialogue.command.opening)
    return said


def line(kind: str, **said: object) -> str:
    return json.dumps({"type": kind, **said})


def tool(kind: str = "tool_end", **said: object) -> str:
    return line(kind, **{"tool": "bash", "input": {}, "child": False, "ok": True, "title": "", **said})


def permission(**said: object) -> str:
    known = {"id": "per_1", "permission": "bash", "command": "", "patterns": [], "child": False}
    return line("permission", **{**known, **said})


TABLE: dict[str, tuple[str, tuple[AgentEvent, ...]]] = {
    "session": (line("session", session="ses_1", version="1.18.33"), (Session("ses_1", "1.18.33"),)),
    "text": (line("text", text="a\nb"), (Text("a\nb"),)),
    "a command begins": (
        tool("tool_start", input={"command": "make\ntest"}),
        (ToolStart("bash", "make test"),),
    ),
    "a command failed": (
        tool(input={"command": "make"}, ok=False),
        (ToolEnd("bash", "make", False),),
    ),
    "an edit": (
        tool(tool="edit", input={"filePath": "/workspace/repo/a/b.py"}),
        (ToolEnd("edit", "a/b.py", True),),
    ),
    "a tool without words": (
        tool(tool="todowrite", title="2 todos"),
        (ToolEnd("todowrite", "2 todos", True),),
    ),
    "an unknown tool": (
        tool(tool="invalid", input={"tool": "fly"}, ok=False),
        (ToolEnd("invalid", "no such tool: fly", False),),
    ),
    "a subagent's": (
        tool(input={"command": "ls"}, child=True),
        (ToolEnd("bash", "subagent: ls", True),),
    ),
    "a board tool is the gateway's to tell": (tool(tool="board_plan"), ()),
    "ok is nothing but true": (tool(input={"command": "x"}, ok="yes"), (ToolEnd("bash", "x", False),)),
    "todo": (line("todo", items=[["a", True], ["b", False]]), (TodoShown((("a", True), ("b", False))),)),
    "may I run": (
        permission(command="git add -A && git commit -m x", patterns=["git add -A", "git commit -m x"]),
        (PermissionAsked("per_1", "run", "bash", "git add -A && git commit -m x"),),
    ),
    "may I edit": (
        permission(permission="edit", command="/workspace/repo/a.py", patterns=["a.py"]),
        (PermissionAsked("per_1", "edit", "edit", "a.py"),),
    ),
    "may I patch": (
        permission(permission="edit", command="", patterns=["a.py", "b.py"]),
        (PermissionAsked("per_1", "edit", "edit", "a.py, b.py"),),
    ),
    "may I read": (
        permission(permission="read", patterns=["x"]),
        (PermissionAsked("per_1", "read", "read", "x"),),
    ),
    "may I use the board": (
        permission(permission="board_ask", patterns=["*"]),
        (PermissionAsked("per_1", "board", "board_ask", "*"),),
    ),
    "may I do what nobody knows": (
        permission(permission="teleport", patterns=["home"]),
        (PermissionAsked("per_1", "other", "teleport", "home"),),
    ),
    "retry": (
        line("retry", attempt=2, message="over\nloaded"),
        (Noise("attempt 2 failed: over loaded"),),
    ),
    "a sign of life": (line("alive"), ()),
    "the end": (line("end", error=""), (TurnEnd(""),)),
    "a bad end": (line("end", error="APIError: 401 bad key"), (TurnEnd("APIError: 401 bad key"),)),
    "an unknown line": (line("new"), (Noise('{"type": "new"}'),)),
    "no line of the bridge": ("Segmentation fault", (Noise("Segmentation fault"),)),
    "an incomplete line": (line("session"), (Noise('{"type": "session"}'),)),
}


@pytest.mark.parametrize("name", TABLE)
def test_a_line_means_this(name: str) -> None:
    said, meant = TABLE[name]
    assert dialogue().decode(said) == meant


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KINDS = st.sampled_from(["session", "text", "tool_start", "tool_end", "todo", "permission", "retry", "end"])
FIELDS = st.sampled_from(
    [
        "tool",
        "input",
        "child",
        "ok",
        "title",
        "items",
        "id",
        "permission",
        "command",
        "patterns",
        "error",
        "text",
    ]
)


@given(st.text(max_size=200))
def test_no_text_breaks_the_decoder(said: str) -> None:
    dialogue().decode(said)


@given(KINDS, st.dictionaries(FIELDS, JSON, max_size=8))
def test_no_shape_breaks_the_decoder(kind: str, fields: dict[str, Any]) -> None:
    dialogue().decode(json.dumps({"type": kind, **fields}))


def test_deep_nesting_is_noise() -> None:
    assert isinstance(dialogue().decode("[" * 100_000)[0], Noise)


def test_huge_fields_are_cut() -> None:
    huge = "x" * 900_000
    for said in (
        line("text", text=huge),
        line("end", error=huge),
        line("session", session=huge, version=huge),
    ):
        assert len(repr(dialogue().decode(said))) < 70_000
    for said in (
        tool(input={"command": huge}),
        tool(tool=huge),
        line("todo", items=[[huge[:900], False]] * 1000),
    ):
        assert len(repr(dialogue().decode(said))) < 70_000
    (asked,) = dialogue().decode(
        permission(command=huge, id=huge, permission=huge, patterns=[huge[:9000]] * 50)
    )
    assert len(repr(asked)) < 70_000


def test_it_is_started_through_the_bridge_and_sees_nothing_of_the_repositorys_settings() -> None:
    command = dialogue().command
    assert command.argv == ("python3", "-E", "-s", "-S", "-B", "/player/opencode_bridge.py")
    assert command.hides == (".opencode", "opencode.json", "opencode.jsonc")
    assert command.env["OPENCODE_DISABLE_PROJECT_CONFIG"] == "1"
    assert opening(dialogue())["hides"] == list(command.hides)
    assert command.listens


def test_no_key_is_told_and_every_call_goes_to_the_gateway() -> None:
    for model, provider, name in (
        ("default", "compatible", "deepseek-v4-pro"),
        ("small", "compatible", "deepseek-v4-flash"),
        ("some/model", "compatible", "some/model"),
        ("anthropic/claude-sonnet-5", "anthropic", "claude-sonnet-5"),
        ("openai/gpt-5.5", "openai", "gpt-5.5"),
        ("gemini/gemini-3.8-flash", "gemini", "gemini-3.8-flash"),
        ("google/gemini-3.8-flash", "compatible", "google/gemini-3.8-flash"),  # as others sell it
        ("compatible/openai/gpt-5.5", "compatible", "openai/gpt-5.5"),
        ("anthropic/", "compatible", "anthropic/"),
    ):
        said = opening(dialogue(model=model))
        config = said["config"]
        own, version = ("google", "v1beta") if provider == "gemini" else (provider, "v1")
        options = {"baseURL": f"http://127.0.0.1:4000/{provider}/{version}", "apiKey": "cardinal-gateway"}
        assert config["provider"][own]["options"] == options
        assert list(config["provider"][own]["models"]) == [name]
        assert config["model"] == config["small_model"] == f"{own}/{name}"
        assert config["enabled_providers"] == [own]
        assert said["message"]["model"] == {"providerID": own, "modelID": name}
        assert AGENT.provider(model) == provider
        assert said["catalogue"] == (provider != "compatible")
        assert AGENT.models(model) == (name,)


def test_whatever_changes_something_asks_first() -> None:
    config = opening(dialogue())["config"]
    allowed = {tool for tool, rule in config["permission"].items() if rule == "allow"}
    reads = {"read", "glob", "grep", "list", "lsp", "todowrite", "todoread", "task"}
    assert allowed == reads | {"board_*", "external_directory"}
    assert config["permission"]["*"] == "ask"
    assert next(iter(config["permission"])) == "*"  # the last rule that fits wins
    assert config["permission"]["webfetch"] == config["permission"]["websearch"] == "deny"
    assert config["mcp"] == {
        "board": {"type": "remote", "url": "http://127.0.0.1:4000/board", "enabled": True, "timeout": 20_000}
    }


def test_a_read_only_task_cannot_edit() -> None:
    rules = opening(dialogue(Phase.PLAN, read_only=True))["config"]["permission"]
    assert rules["edit"] == "deny"
    assert rules["*"] == "ask"


def test_a_chat_has_no_tools() -> None:
    said = opening(dialogue(Phase.CHAT))
    assert said["config"]["permission"] == {"*": "deny"}
    assert said["config"]["mcp"] == {}
    assert said["message"]["tools"] == {"*": False}


def test_a_session_goes_on() -> None:
    assert opening(dialogue(session="ses_1"))["session"] == "ses_1"


def test_what_is_said_to_it_is_one_line_each() -> None:
    open_code_dialogue = dialogue()
    said = (
        open_code_dialogue.steer("a\nb"),
        open_code_dialogue.interrupt(),
        open_code_dialogue.permit("per_1", allowed=False, why="no"),
    )
    assert [json.loads(message or b"") for message in said] == [
        {"steer": "a\nb"},
        {"interrupt": True},
        {"permit": "per_1", "allowed": False, "why": "no"},
    ]
    assert all(message and message.count(b"\n") == 1 for message in said)
    assert open_code_dialogue.reply("c1", {"ok": True}) is None


def test_the_agent_says_what_it_needs() -> None:
    agent = load("opencode")
    assert (agent.version, agent.secrets, agent.trusted, agent.in_image) == (
        "1.18.33",
        ("anthropic", "openai", "gemini", "compatible"),
        False,
        True,
    )


@pytest.mark.parametrize("wanted", ["default", "small"])
def test_its_own_models_have_a_price(wanted: str) -> None:
    (model,) = AGENT.models(wanted)
    price = calc_price(Usage(input_tokens=1000, output_tokens=1000), model_ref=model)
    assert price.total_price > 0
