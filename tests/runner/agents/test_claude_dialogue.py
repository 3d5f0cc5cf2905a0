"""What the lines of Claude Code mean, how it is answered, and that no line of it can do harm."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runner.agents.contract import (
    Noise,
    PermissionAsked,
    Send,
    Session,
    Text,
    TodoShown,
    ToolEnd,
    ToolStart,
    TurnEnd,
)
from tests.runner.agents.claude_lines import (
    CHILD,
    CLAUDE,
    DONE,
    asking,
    begun,
    echoed,
    failed,
    hear,
    spoke,
    used,
    using,
    written,
)

INIT = {"type": "system", "subtype": "init", "session_id": "s1", "claude_code_version": "2.1.330"}


def test_its_session_and_version_are_told_once() -> None:
    dialogue = begun()
    assert hear(dialogue, INIT, INIT) == [Session("s1", "2.1.330")]
    assert CLAUDE.version == "2.1.330"


def test_what_it_says_is_text_and_what_it_thinks_is_not() -> None:
    thought = {"type": "thinking", "thinking": "secretly", "signature": "x"}
    said = {"type": "text", "text": "I write the file."}
    assert hear(begun(), spoke(thought), spoke(said)) == [Text("I write the file.")]


def test_a_subagents_words_are_not_the_agents_and_its_tools_are_marked() -> None:
    heard = hear(
        begun(),
        spoke({"type": "text", "text": "I am the subagent."}, parent_tool_use_id=CHILD),
        using("Bash", {"command": "ls"}, parent_tool_use_id=CHILD),
        {**used(), "parent_tool_use_id": CHILD},
        using("TodoWrite", {"todos": [{"content": "mine", "status": "pending"}]}, parent_tool_use_id=CHILD),
    )
    assert heard == [ToolStart("Bash", "subagent: ls"), ToolEnd("Bash", "subagent: ls", True)]


@pytest.mark.parametrize(
    "more",
    [
        {"error": "server_error"},
        {"message": {"model": "<synthetic>", "content": [{"type": "text", "text": "API Error"}]}},
    ],
)
def test_what_the_program_itself_says_in_the_agents_name_is_no_text(more: dict[str, Any]) -> None:
    assert hear(begun(), spoke({"type": "text", "text": "API Error: 500"}) | more) == []


@pytest.mark.parametrize(
    ("tool", "given", "summary"),
    [
        ("Bash", {"description": "List", "command": "ls -la\n| head"}, "ls -la | head"),
        ("Write", {"file_path": "/workspace/repo/src/a.py", "content": "x" * 9999}, "src/a.py"),
        ("Edit", {"file_path": "/etc/hosts", "old_string": "a", "new_string": "b"}, "/etc/hosts"),
        ("NotebookEdit", {"new_source": "x", "notebook_path": "/workspace/repo/a.ipynb"}, "a.ipynb"),
        ("Grep", {"pattern": "def walk", "path": "/workspace/repo"}, "def walk"),
        ("Agent", {"description": "Find callers", "prompt": "Look …"}, "Find callers"),
        ("NoSuchTool", {"a": 1, "b": "text"}, "text"),
        ("NoSuchTool", {}, ""),
    ],
)
def test_a_tool_in_use_is_one_short_line(tool: str, given: dict[str, Any], summary: str) -> None:
    dialogue = begun()
    assert hear(dialogue, using(tool, given), used()) == [
        ToolStart(tool, summary),
        ToolEnd(tool, summary, True),
    ]


def test_a_failed_a_refused_and_an_unknown_tool_did_not_go_well() -> None:
    dialogue = begun()
    hear(dialogue, using("Bash", {"command": "false"}, "t1"), using("Bash", {"command": "true"}, "t2"))
    assert hear(dialogue, used("t2", is_error=False), used("t1", is_error=True)) == [
        ToolEnd("Bash", "true", True),
        ToolEnd("Bash", "false", False),
    ]


def test_a_result_of_a_tool_that_never_began_means_nothing() -> None:
    assert hear(begun(), used("t9")) == []


def test_board_calls_are_left_to_the_gateway() -> None:
    dialogue = begun()
    assert hear(dialogue, using("mcp__board__plan", {"summary": "x"}), used()) == []
    assert dialogue.reply("c1", {"ok": True}) is None


def test_the_todo_list_is_shown_with_what_is_done() -> None:
    todos = [
        {"content": "Write\nfile", "status": "completed", "activeForm": "Writing"},
        {"content": "Commit", "status": "in_progress", "activeForm": "Committing"},
    ]
    assert hear(begun(), using("TodoWrite", {"todos": todos}), used()) == [
        TodoShown((("Write file", True), ("Commit", False)))
    ]


@pytest.mark.parametrize(
    ("tool", "given", "kind", "command"),
    [
        ("Bash", {"command": "git add -A &&\ngit push"}, "run", "git add -A &&\ngit push"),
        ("Bash", {"command": "x" * 50_000}, "run", "x" * 50_000),
        ("Write", {"file_path": "/workspace/repo/a.py", "content": "command"}, "edit", "a.py"),
        ("Edit", {"file_path": "/tmp/a"}, "edit", "/tmp/a"),
        ("NotebookEdit", {"notebook_path": "/workspace/repo/a.ipynb"}, "edit", "a.ipynb"),
        ("Read", {"file_path": "/etc/passwd"}, "read", "/etc/passwd"),
        ("Glob", {"pattern": "**"}, "read", "**"),
        ("Grep", {"pattern": "x"}, "read", "x"),
        ("WebFetch", {"url": "http://a/"}, "other", "http://a/"),
        ("Task", {"description": "d"}, "other", "d"),
        ("mcp__board__plan", {"summary": "s"}, "board", "s"),
        ("mcp__evil__board", {}, "other", ""),
    ],
)
def test_a_wish_is_told_whole_with_its_kind(
    tool: str, given: dict[str, Any], kind: str, command: str
) -> None:
    assert hear(begun(), asking(tool, given)) == [PermissionAsked("a1", kind, tool, command)]


def test_what_is_allowed_is_just_what_was_asked_for() -> None:
    dialogue, wish = begun(), {"command": "git push", "description": "é\ud800"}
    hear(dialogue, asking("Bash", wish))
    answer = written(dialogue.permit("a1", allowed=True, why=""))
    assert answer["type"] == "control_response"
    assert answer["response"] == {
        "subtype": "success",
        "request_id": "a1",
        "response": {"behavior": "allow", "updatedInput": wish},
    }
    assert dialogue.permit("a1", allowed=True, why="") is None


def test_a_refusal_tells_the_agent_why() -> None:
    dialogue = begun()
    hear(dialogue, asking("Bash", {"command": "git push"}))
    answer = written(dialogue.permit("a1", allowed=False, why="the policy says so"))["response"]["response"]
    assert answer == {"behavior": "deny", "message": "Cardinal does not allow this: the policy says so"}


def test_a_wish_that_was_taken_back_gets_no_answer() -> None:
    dialogue = begun()
    hear(dialogue, asking("Bash", {"command": "ls"}), {"type": "control_cancel_request", "request_id": "a1"})
    assert dialogue.permit("a1", allowed=True, why="") is None


def test_a_flood_of_wishes_is_refused_and_does_not_pile_up() -> None:
    dialogue = begun()
    heard = [event for number in range(1_001) for event in hear(dialogue, asking("Bash", {}, f"a{number}"))]
    assert all(isinstance(event, PermissionAsked) for event in heard[:-1])
    assert isinstance(heard[-1], Send)
    assert written(heard[-1].data)["response"]["response"]["behavior"] == "deny"


def test_a_request_that_is_not_known_is_answered_so_that_it_does_not_wait() -> None:
    [send] = hear(
        begun(), {"type": "control_request", "request_id": "x", "request": {"subtype": "hook_callback"}}
    )
    assert isinstance(send, Send)
    assert written(send.data)["response"]["subtype"] == "error"


def test_a_turn_that_went_well_ends_without_an_error() -> None:
    assert hear(begun(), echoed("Do it"), DONE) == [TurnEnd("")]


@pytest.mark.parametrize(
    ("result", "error"),
    [
        (
            failed(api_error_status=402, result="API Error: 402 the budget is spent"),
            "the model's provider answered 402: the budget is spent",
        ),
        (
            failed(
                api_error_status=529,
                result="API Error: Overloaded.\nIf it persists, check your inference gateway (here).",
            ),
            "the model's provider answered 529: Overloaded.",
        ),
        (failed(api_error_status=None, result="API Error: Connection lost"), "Connection lost"),
        (failed(subtype="error_x", result=None, terminal_reason="aborted_tools"), "it was interrupted"),
        (failed(subtype="error_max_turns", result=None, errors=["Reached 2 turns"]), "Reached 2 turns"),
        (failed(subtype="error_of_tomorrow", result=None), "it ended with error_of_tomorrow"),
        ({**DONE, "subtype": "error_of_tomorrow"}, "Done."),
        ({**DONE, "is_error": "no"}, "Done."),
        ({**DONE, "is_error": None}, "Done."),
    ],
)
def test_how_it_ended_is_told_by_both_words_of_its_result(result: dict[str, Any], error: str) -> None:
    assert hear(begun(), echoed("Do it"), result) == [TurnEnd(error)]


def test_a_session_that_is_gone_is_named() -> None:
    gone = failed(
        subtype="error_during_execution", result=None, errors=["No conversation found with session ID: s7"]
    )
    [end] = hear(begun(session="s7"), gone)
    assert isinstance(end, TurnEnd)
    assert "session s7 is not in this workspace any more" in end.error
    assert end.session_gone
    assert hear(begun(session="s7"), INIT, gone)[-1] == TurnEnd(end.error)  # it had begun in it


def test_a_message_that_came_at_the_very_end_is_heard_before_the_turn_ends() -> None:
    dialogue = begun()
    assert hear(dialogue, echoed("Do it")) == []
    for text in ("one", "two", "three"):
        assert written(dialogue.steer(text))["message"]["content"][0]["text"] == text
    [waits] = hear(dialogue, echoed("one"), DONE)
    assert isinstance(waits, Noise)
    assert hear(dialogue, echoed("two\n", "three"), DONE) == [TurnEnd("")]


def test_a_failed_turn_ends_whatever_waits_behind_it() -> None:
    dialogue = begun()
    dialogue.steer("one")
    assert hear(dialogue, failed(result="broken")) == [TurnEnd("broken")]


def test_an_interrupted_turn_ends_whatever_waits_behind_it_and_takes_that_along() -> None:
    dialogue = begun()
    dialogue.steer("one")
    request = written(dialogue.interrupt())
    assert request["type"] == "control_request"
    assert request["request"] == {"subtype": "interrupt", "cancel_queued": True}
    assert hear(dialogue, DONE) == [TurnEnd("")]


def test_an_empty_message_is_not_sent_since_it_would_never_come_back() -> None:
    dialogue = begun()
    assert dialogue.steer(" \n") is None
    assert hear(dialogue, echoed("Do it"), DONE) == [TurnEnd("")]


def test_huge_texts_are_cut() -> None:
    dialogue = begun()
    hear(dialogue, using("Bash", {"command": "x" * 900_000}, "t1"))
    [said] = hear(dialogue, spoke({"type": "text", "text": "é" * 500_000}))
    [used_up] = hear(dialogue, used())
    [noise] = dialogue.decode("x" * 900_000)
    assert isinstance(said, Text)
    assert isinstance(used_up, ToolEnd)
    assert isinstance(noise, Noise)
    assert len(said.text.encode()) <= 32_000
    assert len(used_up.summary.encode()) <= 300
    assert len(noise.text.encode()) <= 500


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)
SAMPLES = (
    INIT,
    {"type": "system", "subtype": "api_retry", "attempt": 1, "error": "overloaded"},
    spoke({"type": "text", "text": "words"}),
    using("Bash", {"command": "ls"}),
    using("TodoWrite", {"todos": [{"content": "a", "status": "pending"}]}),
    used(),
    echoed("Do it"),
    asking("Write", {"file_path": "/workspace/repo/a"}),
    {"type": "control_request", "request_id": "x", "request": {"subtype": "hook_callback"}},
    {"type": "control_cancel_request", "request_id": "a1"},
    {"type": "control_response", "response": {"subtype": "success", "request_id": "x"}},
    {"type": "rate_limit_event", "rate_limit_info": {}},
    failed(api_error_status=500, result="API Error: 500", errors=["x"], terminal_reason="api_error"),
)
KNOWN = (Session, Text, ToolStart, ToolEnd, TodoShown, PermissionAsked, Send, TurnEnd, Noise)


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(deeper for key, one in inner for deeper in places(one, (*at, key)))]


def replaced(value: Any, at: tuple[Any, ...], new: Any) -> Any:
    if not at:
        return new
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[at[0]] = replaced(value[at[0]], at[1:], new)
    return copied


@given(
    st.sampled_from(SAMPLES).flatmap(lambda one: st.tuples(st.just(one), st.sampled_from(places(one)), JSON))
)
def test_no_value_anywhere_in_a_line_breaks_it(changed: tuple[Any, tuple[Any, ...], Any]) -> None:
    dialogue = begun()
    heard = dialogue.decode(json.dumps(replaced(*changed)))
    assert all(isinstance(event, KNOWN) for event in heard)
    assert dialogue.decode(json.dumps(failed(result="x")))


@given(st.text())
@example("[" * 100_000)
@example('{"type": "system", "subtype": "init"' + "}" * 9)
@example("1" * 10_000)
@example("\udcff\0")
def test_no_line_breaks_it(line: str) -> None:
    assert all(isinstance(event, KNOWN) for event in begun().decode(line))
