"""What the Agent Client Protocol's messages mean here, and what a program that lies can do."""

import json
from time import process_time
from typing import Any, get_args

import pytest
from acp import schema
from acp.meta import CLIENT_METHODS
from hypothesis import given
from hypothesis import strategies as st

from runner.agents.contract import (
    Metering,
    Noise,
    PermissionAsked,
    Phase,
    Session,
    Text,
    TodoShown,
    ToolEnd,
    ToolStart,
    TurnEnd,
    Usage,
)
from tests.runner.agents.acp_partner import HELLO, LAYOUT, Partner, agent, kept

LOADS = {**HELLO, "agentCapabilities": {"loadSession": True}}
MODEL = {"id": "m", "name": "Model", "category": "model", "type": "select", "currentValue": "old"}


def words(session: str) -> dict[str, Any]:
    content = {"type": "text", "text": "x"}
    return {"sessionId": session, "update": {"sessionUpdate": "agent_message_chunk", "content": content}}


def error_of(events: Any) -> str:
    (end,) = events
    assert isinstance(end, TurnEnd)
    return end.error


def test_a_turn_is_a_greeting_a_session_with_the_board_a_prompt_and_an_end() -> None:
    partner = Partner()
    assert partner.open() == [Session("s1", "1.2")]
    assert partner.chunk("Hel") == partner.chunk("lo") == []
    assert partner.answer({"stopReason": "end_turn"}) == [Text("Hello"), TurnEnd("")]
    assert [it["method"] for it in partner.sent] == ["initialize", "session/new", "session/prompt"]
    hello, opened, asked = (it["params"] for it in partner.sent)
    assert hello["clientCapabilities"] == {
        "fs": {"readTextFile": False, "writeTextFile": False},
        "terminal": False,
    }
    board = {"type": "http", "name": "board", "url": "http://127.0.0.1:4000/board", "headers": []}
    assert opened == {"cwd": "/workspace/repo", "mcpServers": [board]}
    assert asked["prompt"] == [{"type": "text", "text": "do it"}]


def test_a_program_without_http_gets_the_board_by_a_child_and_a_chat_gets_none() -> None:
    partner = Partner()
    partner.open({"protocolVersion": 1})
    (board,) = partner.sent[1]["params"]["mcpServers"]
    assert (board["command"], board["args"][-2:]) == ("python3", ["/player/board.py", "--mcp"])
    assert board["env"] == [{"name": "CARDINAL_GATEWAY", "value": LAYOUT.gateway}]
    chat = Partner(Phase.CHAT)
    chat.open()
    assert chat.sent[1]["params"]["mcpServers"] == []


def test_its_endpoint_and_model_are_in_its_start_and_no_word_of_the_prompt() -> None:
    command = Partner(prompt="secret words").dialogue.command
    assert command.argv[-2:] == ("fake", "--model=big")
    assert command.env == {"URL": "http://127.0.0.1:4000/compatible/v1"}
    assert not any("secret" in word for word in command.argv)


@pytest.mark.parametrize(("hello", "method"), [(HELLO, "session/resume"), (LOADS, "session/load")])
def test_a_session_goes_on_and_what_it_repeats_is_not_said_again(hello: Any, method: str) -> None:
    partner = Partner(session="s1")
    partner.answer(hello)
    assert (partner.sent[-1]["method"], partner.sent[-1]["params"]["sessionId"]) == (method, "s1")
    assert partner.chunk("of last week") == []
    assert partner.answer(None if method == "session/load" else {}) == [Session("s1", "1.2")]
    assert partner.answer({"stopReason": "end_turn"}) == [TurnEnd("")]


def test_a_session_that_it_does_not_know_or_cannot_continue_is_gone() -> None:
    partner = Partner(session="s0")
    partner.answer(HELLO)
    (end,) = partner.fail(-32002, "no such session")
    assert end == TurnEnd("it cannot continue the session s0: no such session", session_gone=True)
    (end,) = Partner(session="s0").answer({"protocolVersion": 1})
    assert isinstance(end, TurnEnd)
    assert end.session_gone


BIG = {"value": "big", "name": "Big"}


@pytest.mark.parametrize("offered", [[BIG], [{"group": "g", "name": "G", "options": [BIG]}]])
def test_a_model_is_chosen_where_it_is_offered_by_that_name(offered: Any) -> None:
    partner = Partner()
    partner.open(configOptions=[{**MODEL, "options": offered}])
    assert partner.sent[-1]["params"] == {"sessionId": "s1", "configId": "m", "value": "big"}
    partner.answer({"configOptions": []})
    assert partner.sent[-1]["method"] == "session/prompt"


def test_a_model_that_is_not_offered_is_left_to_the_start_of_the_program() -> None:
    partner = Partner()
    partner.open(configOptions=[{**MODEL, "options": [{"value": "other", "name": "Other"}]}])
    assert partner.sent[-1]["method"] == "session/prompt"


@pytest.mark.parametrize(
    ("code", "words", "said"),
    [(-32000, "Authentication required", "give Cardinal the key"), (-32603, "boom", "boom")],
)
def test_an_error_ends_the_turn_and_a_missing_login_says_what_to_do(code: int, words: str, said: str) -> None:
    partner = Partner()
    partner.answer(HELLO)
    assert said in error_of(partner.fail(code, words))


def test_a_prompt_whose_model_breaks_off_is_continued_as_long_as_the_work_goes_on() -> None:
    partner = Partner()
    partner.open()
    partner.update("tool_call", toolCallId="t1", title="ls", kind="execute")
    assert partner.fail(500, "terminated") == []
    assert "failed: terminated" in partner.sent[-1]["params"]["prompt"][0]["text"]
    assert error_of(partner.fail(500, "terminated")) == "terminated"


def test_a_session_that_the_provider_refuses_before_anything_was_done_is_gone() -> None:
    partner = Partner(session="s1")
    partner.open()
    partner.update("tool_call", toolCallId="t1", title="ls", kind="execute", status="completed")  # of old
    (end,) = partner.fail(400, "a result without its call")
    assert isinstance(end, TurnEnd)
    assert (end.session_gone, "cannot continue the session s1" in end.error) == (True, True)
    fresh = Partner()
    fresh.open()
    assert fresh.fail(400, "no") == [TurnEnd("no")]


def test_another_version_of_the_protocol_is_refused() -> None:
    assert "version 2" in error_of(Partner().answer({**HELLO, "protocolVersion": 2}))


@pytest.mark.parametrize("reason", ["refusal", "max_tokens", "max_turn_requests", "cancelled", "bored"])
def test_every_other_reason_to_stop_is_an_error(reason: str) -> None:
    partner = Partner()
    partner.open()
    assert error_of(partner.answer({"stopReason": reason}))


def test_messages_are_whole_tools_begin_and_end_and_a_plan_is_its_list() -> None:
    partner = Partner()
    partner.open()
    partner.chunk("One.", messageId="m1")
    assert partner.chunk("Two.", messageId="m2") == [Text("One.")]
    assert partner.update("agent_thought_chunk", content={"type": "text", "text": "hm"}) == []
    place = [{"path": "/workspace/repo/a.txt"}]
    begun = partner.update("tool_call", toolCallId="t1", title="Write", kind="edit", locations=place)
    assert begun == [Text("Two."), ToolStart("edit", "a.txt")]
    assert partner.update("tool_call_update", toolCallId="t1", status="in_progress") == []
    ended = partner.update("tool_call_update", toolCallId="t1", status="completed")
    assert ended == [ToolEnd("edit", "a.txt", ok=True)]
    entries = [{"content": "Look", "priority": "low", "status": "completed"}]
    assert partner.update("plan", entries=entries) == [TodoShown((("Look", True),))]


@pytest.mark.parametrize(
    ("call", "kind", "command"),
    [
        ({"kind": "execute", "rawInput": {"command": "rm -r a"}, "title": "ls"}, "run", "rm -r a"),
        ({"kind": "execute", "rawInput": {"command": ["rm", "a b"]}}, "run", "rm 'a b'"),
        ({"kind": "execute", "title": "make"}, "run", "make"),
        ({"kind": "read", "rawInput": {"command": "curl x | sh"}}, "run", "curl x | sh"),
        ({"kind": "other", "rawInput": {"cmd": "curl x | sh"}, "title": "plan"}, "run", "curl x | sh"),
        ({"kind": "read", "locations": [{"path": "/workspace/repo/a"}]}, "read", "a"),
        ({"kind": "edit", "locations": [{"path": "/workspace/repo/a"}]}, "edit", "a"),
        ({"kind": "delete", "locations": [{"path": "/etc/a"}]}, "edit", "/etc/a"),
        ({"kind": "edit", "rawInput": {"command": "create", "path": "b"}}, "edit", "b"),
        ({"kind": "other", "rawInput": {"path": "b", "content": "x"}, "title": "write"}, "edit", "b"),
        ({"kind": "other", "rawInput": {"path": "b", "before": "x", "after": "y"}}, "edit", "b"),
        ({"kind": "other", "rawInput": {"path": "b", "depth": 2}}, "other", "b"),
        ({"kind": "other", "rawInput": {"command": "ls"}, "title": "mcp__board__plan"}, "run", "ls"),
        ({"title": "mcp__board__plan"}, "board", "mcp__board__plan"),
        ({"kind": "other", "title": "plan (board MCP Server)"}, "board", "plan (board MCP Server)"),
        ({"kind": "other", "title": "fetch (board MCP Server)"}, "other", "fetch (board MCP Server)"),
        ({"kind": "edit", "title": "board_notes.md"}, "edit", "board_notes.md"),
        ({"kind": "execute", "title": "board_plan"}, "run", "board_plan"),
        ({"title": "board_notes.md"}, "other", "board_notes.md"),
        ({"kind": "read", "content": [{"type": "diff", "path": "/x", "newText": "y"}]}, "edit", "/x"),
        ({"kind": "fetch", "title": "example.org"}, "other", "example.org"),
        ({"title": "?"}, "other", "?"),
    ],
)
def test_a_permission_is_asked_for_by_what_the_tool_does(call: Any, kind: str, command: str) -> None:
    partner = Partner()
    partner.open()
    (asked,) = partner.ask(**call)
    assert isinstance(asked, PermissionAsked)
    assert (asked.kind, asked.command) == (kind, command)


def test_what_the_request_leaves_out_is_what_the_updates_before_it_said() -> None:
    partner = Partner()
    partner.open()

    def told(text: str) -> list[dict[str, Any]]:
        return [{"type": "content", "content": {"type": "text", "text": text}}]

    partner.update("tool_call", toolCallId="t1", title="Bash", kind="execute", content=told(""))
    partner.update("tool_call_update", toolCallId="t1", content=told('{"command": "git pu'))
    partner.update("tool_call_update", toolCallId="t1", content=told('{"command": "git push -f"}'))
    (asked,) = partner.ask(title="Bash", content=told("Requesting approval to run it"))
    assert isinstance(asked, PermissionAsked)
    assert (asked.kind, asked.command) == ("run", "git push -f")
    meta = {"a": {"toolCall": {"toolName": "board__plan"}}}
    partner.update("tool_call", toolCallId="t1b", title="board: plan", _meta=meta)
    (asked,) = partner.ask(8, toolCallId="t1b", kind="other", title="board: plan")
    assert isinstance(asked, PermissionAsked)
    assert asked.kind == "board"


def test_a_command_that_is_not_told_is_refused() -> None:
    partner = Partner()
    partner.open()
    partner.update("tool_call", toolCallId="t1", title="Bash", kind="execute")
    assert partner.ask(title="Bash") == []
    assert partner.sent[-1]["result"]["outcome"]["optionId"] == "r"


def test_a_permission_is_for_once_and_a_refusal_too() -> None:
    partner = Partner()
    partner.open()
    for allowed, option in ((True, "a"), (False, "r")):
        (asked,) = partner.ask(kind="execute", title="make")
        assert isinstance(asked, PermissionAsked)
        partner.take(partner.dialogue.permit(asked.ask_id, allowed=allowed, why=""))
        assert partner.sent[-1]["result"] == {"outcome": {"outcome": "selected", "optionId": option}}
        assert partner.dialogue.permit(asked.ask_id, allowed=True, why="") is None


def test_what_would_last_or_end_the_asking_is_never_permitted() -> None:
    partner = Partner()
    partner.open()
    lasting = [{"optionId": "a+", "name": "Always", "kind": "allow_always"}]
    assert partner.ask(options=lasting, kind="execute", title="make") == []
    assert partner.sent[-1]["result"] == {"outcome": {"outcome": "cancelled"}}
    assert partner.ask(kind="switch_mode", title="Accept everything") == []
    assert partner.sent[-1]["result"]["outcome"]["optionId"] == "r"
    many = [{"path": f"/workspace/repo/{number}"} for number in range(101)]
    for unread in ({"kind": "execute", "title": "x" * 70_000}, {"kind": "edit", "locations": many}):
        assert partner.ask(**unread) == []
        assert partner.sent[-1]["result"]["outcome"]["optionId"] == "r"


def test_a_program_that_stops_at_a_refusal_hears_why_and_continues() -> None:
    partner = Partner()
    partner.open()
    (asked,) = partner.ask(kind="execute", title="make")
    assert isinstance(asked, PermissionAsked)
    partner.take(partner.dialogue.permit(asked.ask_id, allowed=False, why="the policy says no"))
    assert partner.answer({"stopReason": "end_turn"}) == []
    assert "the policy says no" in partner.sent[-1]["params"]["prompt"][0]["text"]
    partner.chunk("Then not.")
    assert partner.answer({"stopReason": "end_turn"}) == [Text("Then not."), TurnEnd("")]


def test_a_program_that_is_refused_for_ever_comes_to_an_end() -> None:
    partner = Partner()
    partner.open()
    rounds = 0
    for _ in range(100):
        (asked,) = partner.ask(kind="execute", title="make")
        assert isinstance(asked, PermissionAsked)
        partner.take(partner.dialogue.permit(asked.ask_id, allowed=False, why="no"))
        if partner.answer({"stopReason": "end_turn"}):
            break
        rounds += 1
    assert rounds == 20


def test_a_message_waits_for_the_end_of_the_prompt_and_then_counts_as_heard() -> None:
    partner = Partner()
    partner.open()
    steer = partner.dialogue.steer
    assert steer("In blue.") is steer("In blue.") is None
    assert partner.answer({"stopReason": "end_turn"}) == []
    assert partner.sent[-1]["params"]["prompt"][0]["text"] == "In blue."
    assert steer("In blue.") == b""
    assert partner.answer({"stopReason": "end_turn"}) == [TurnEnd("")]


def test_a_stop_cancels_and_answers_what_was_asked() -> None:
    partner = Partner()
    assert partner.dialogue.interrupt() is None
    partner.open()
    partner.ask(kind="execute", title="make")
    partner.take(partner.dialogue.interrupt())
    cancel, answer = partner.sent[-2:]
    assert (cancel["method"], "id" in cancel) == ("session/cancel", False)
    assert answer["result"] == {"outcome": {"outcome": "cancelled"}}
    assert error_of(partner.answer({"stopReason": "cancelled"}))


def test_a_prompt_never_begins_as_a_command_of_the_program() -> None:
    partner = Partner(prompt="/clear")
    partner.open()
    assert partner.sent[-1]["params"]["prompt"][0]["text"] == "A person wrote: /clear"


@pytest.mark.parametrize("method", ["fs/read_text_file", "fs/write_text_file", "terminal/create", "x/y"])
def test_what_is_not_offered_is_refused(method: str) -> None:
    partner = Partner()
    partner.open()
    partner.say(id="q", method=method, params={"path": "/etc/passwd"})
    assert (partner.sent[-1]["id"], partner.sent[-1]["error"]["code"]) == ("q", -32601)


def test_what_a_program_claims_to_cost_counts_only_where_nothing_else_meters_it() -> None:
    cost = {"amount": 0.5, "currency": "USD"}
    for metering, usage in ((Metering.GATEWAY, []), (Metering.AGENT, [Usage(0.5, 0, 0, 0)])):
        partner = Partner(metering=metering)
        partner.open()
        assert partner.update("usage_update", used=1, size=9, cost=cost) == usage
        assert partner.update("usage_update", used=1, size=9, cost=cost) == []
        for amount in (-1e9, float("nan"), float("inf")):
            bad = {"amount": amount, "currency": "USD"}
            assert partner.update("usage_update", used=1, size=9, cost=bad) == []


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"inputTokens": 5, "outputTokens": 3, "totalTokens": 8}, [Usage(0.0, 5, 3)]),
        ({"inputTokens": float("nan"), "outputTokens": "many"}, [Usage(0.0, 0, 0)]),
        ({"totalTokens": 8}, [Usage(0.0, 0, 0)]),
        ([8], []),
        (None, []),
    ],
)
def test_a_wrong_bill_undoes_no_work(usage: Any, counted: list[Usage]) -> None:
    partner = Partner(metering=Metering.AGENT)
    partner.open()
    assert partner.answer({"stopReason": "end_turn", "usage": usage}) == [*counted, TurnEnd("")]


def test_answers_to_nothing_and_words_of_other_sessions_are_noise() -> None:
    partner = Partner()
    numbers: tuple[Any, ...] = (0, 2, True, "1", 1.5, None, [], {})
    for number in numbers:
        (event,) = partner.say(id=number, result=HELLO)
        assert isinstance(event, Noise)
    partner.open()
    assert partner.say(method="session/update", params=words("s2")) == []
    assert partner.answer({"stopReason": "end_turn"}) == [TurnEnd("")]
    assert isinstance(partner.answer({"stopReason": "end_turn"})[0], Noise)
    assert partner.update("tool_call", toolCallId="late", title="x") == []
    assert partner.ask(kind="execute", title="make") == []
    assert partner.sent[-1]["result"]["outcome"]["optionId"] == "r"


@pytest.mark.parametrize("step", range(3))
@pytest.mark.parametrize("result", [[], "x", 3, {"protocolVersion": {}, "sessionId": []}])
def test_an_answer_without_a_meaning_ends_the_turn(step: int, result: Any) -> None:
    partner = Partner()
    for good in (HELLO, {"sessionId": "s1"})[:step]:
        partner.answer(good)
    events = partner.answer(result)
    assert isinstance(events[-1], TurnEnd)
    assert "retry" in events[-1].error


def test_a_request_for_permission_without_a_meaning_is_answered_too() -> None:
    partner = Partner()
    partner.open()
    empty: tuple[Any, ...] = (None, [], {})
    for params in (*empty, {"options": 3, "toolCall": {}}, {"options": [{}], "toolCall": 1}):
        sent = len(partner.sent)
        partner.say(id=f"q{params}", method="session/request_permission", params=params)
        assert partner.sent[sent]["error"]["code"] == -32602


def test_a_flood_is_answered_in_bounded_memory() -> None:
    partner = Partner()
    partner.open()
    for number in range(3_000):
        partner.ask(number, kind="execute", title="make")
        partner.update("tool_call", toolCallId=str(number), title="x" * 100)
        partner.dialogue.steer(str(number))
    partner.ask(0, kind="execute", title="again by the same id")
    assert partner.sent[-1]["error"]["code"] == -32602
    partner.chunk("x" * 50_000)
    for _ in range(100):
        assert partner.chunk("x" * 50_000) == [Text("x" * 50_000)]
    assert max(kept(partner.dialogue)) <= 1_000
    (noise,) = partner.say(id="x" * 500_000, method="fs/read_text_file", params={})
    assert isinstance(noise, Noise)


MESSAGES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from([
            "id", "method", "params", "result", "error", "sessionId", "update", "sessionUpdate", "content",
            "text", "type", "toolCallId", "toolCall", "options", "kind", "rawInput", "command", "entries",
        ]) | st.text(max_size=4), inner, max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(st.lists(MESSAGES, max_size=6), st.integers(0, 2))
def test_no_message_can_break_it(messages: list[Any], steps: int) -> None:
    partner = Partner()
    for good in (HELLO, {"sessionId": "s1"})[:steps]:
        partner.answer(good)
    for message in messages:
        update = {"method": "session/update", "params": {"sessionId": "s1", "update": message}}
        for line in (json.dumps(message), json.dumps(update)):
            assert isinstance(partner.dialogue.decode(line), tuple)


def test_the_files_of_a_session_are_named_by_its_id() -> None:
    assert agent(sessions=("s/{session}.jsonl",)).session_files("ab") == ("s/ab.jsonl",)


@pytest.mark.parametrize("method", sorted(set(CLIENT_METHODS.values()) - {"session/request_permission"}))
def test_of_the_protocols_requests_only_permission_is_answered_with_more_than_a_refusal(method: str) -> None:
    partner = Partner()
    partner.open()
    before = len(partner.sent)
    assert partner.say(id=9, method=method, params={}) == []
    (refusal,) = partner.sent[before:]
    assert (refusal["id"], refusal["error"]["code"]) == (9, -32601)
    assert all(isinstance(event, Noise) for event in partner.say(method=method, params={}))
    assert partner.answer({"stopReason": "end_turn"}) == [TurnEnd("")]


@pytest.mark.parametrize(("reason", "said"), [(reason, "") for reason in get_args(schema.StopReason)])
def test_every_reason_to_stop_of_the_protocol_has_words_for_people(reason: str, said: str) -> None:
    partner = Partner()
    partner.open()
    error = error_of(partner.answer({"stopReason": reason}))
    assert "gave the reason" not in error
    assert (reason == "end_turn") == (error == said)
    assert "retry" in error or reason in ("end_turn", "cancelled")


@pytest.mark.parametrize("lie", [None, "", "bored", 7, [], {"end_turn": 1}, "x" * 500_000, "end_turn\n\0"])
def test_a_reason_that_the_protocol_does_not_have_ends_in_a_short_sentence(lie: Any) -> None:
    partner = Partner()
    partner.open()
    error = error_of(partner.answer({"stopReason": lie} if lie is not None else {}))
    assert "it stopped" in error
    assert "retry" in error
    assert len(error) < 300


@pytest.mark.parametrize(
    "options",
    [
        [], [{"optionId": "", "name": "", "kind": "allow_once"}],
        [{"optionId": "x", "name": "X", "kind": "allow"}],
        [{"optionId": "x", "name": "Reject", "kind": "allow_always"}],
        [{"optionId": 3, "kind": "reject_once"}],
        [{"optionId": "a", "kind": "allow_once"}, {"optionId": "b", "kind": "allow_once"}] * 1_000,
    ],
)  # fmt: skip
def test_options_that_are_empty_odd_or_many_permit_nothing_that_was_not_asked_for(options: Any) -> None:
    partner = Partner()
    partner.open()
    call = {"toolCallId": "t1", "kind": "execute", "title": "make"}
    params = {"sessionId": "s1", "options": options, "toolCall": call}
    asked = partner.say(id=3, method="session/request_permission", params=params)
    if asked:
        (wish,) = asked
        assert isinstance(wish, PermissionAsked)
        partner.take(partner.dialogue.permit(wish.ask_id, allowed=False, why="no"))
    outcome = partner.sent[-1]["result"]["outcome"]
    offered = {str(option["optionId"]): option["kind"] for option in options}
    assert outcome["outcome"] == "cancelled" or offered[outcome["optionId"]] == "reject_once"


def test_an_answer_that_comes_twice_or_after_the_end_changes_nothing() -> None:
    partner = Partner()
    number = partner.sent[-1]["id"]
    partner.answer(HELLO)
    assert isinstance(partner.say(id=number, result=HELLO)[0], Noise)
    partner.answer({"sessionId": "s1"})
    assert [it["method"] for it in partner.sent] == ["initialize", "session/new", "session/prompt"]
    assert partner.answer({"stopReason": "end_turn"}) == [TurnEnd("")]
    sent = len(partner.sent)
    for late in ({"stopReason": "refusal"}, {"sessionId": "s2"}, HELLO):
        assert isinstance(partner.answer(late)[0], Noise)
    assert partner.chunk("late") == []
    assert len(partner.sent) == sent


def test_a_line_of_megabytes_and_thousands_of_updates_are_bounded_work() -> None:
    partner = Partner()
    partner.open()
    begun = process_time()
    partner.raw("x" * 8_000_000)
    partner.raw(
        json.dumps(
            {"jsonrpc": "2.0", "method": "session/update", "params": words("s1"), "x": "y" * 8_000_000}
        )
    )
    partner.update(
        "tool_call", toolCallId="t" * 1_000_000, title="x" * 4_000_000, rawInput={"command": "y" * 4_000_000}
    )
    entries = [{"content": "z" * 1_000, "priority": "low", "status": "pending"}] * 5_000
    (shown,) = [it for it in partner.update("plan", entries=entries) if isinstance(it, TodoShown)]
    for number in range(5_000):
        partner.update(
            "tool_call", toolCallId=str(number), title="x", locations=[{"path": f"/p{number}"}] * 50
        )
    assert len(shown.items) == 100
    assert process_time() - begun < 20
    assert sum(len(tool.command) + len(tool.summary) for tool in partner.dialogue._tools.values()) < 1_000_000
