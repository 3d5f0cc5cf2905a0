"""What the messages of Codex mean, and that no message can break the decoder."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.agents.adapters.codex import shell_line
from runner.agents.contract import (
    AgentEvent,
    Dialogue,
    Noise,
    Send,
    Text,
    TodoShown,
    ToolEnd,
    ToolStart,
    TurnEnd,
)
from tests.runner.agents.codex_partner import (
    THREAD,
    TURN,
    begin,
    command,
    hear,
    item,
    patch,
    told,
    working,
)

MEANINGS: list[tuple[str, dict[str, object], tuple[AgentEvent, ...]]] = [
    ("item/completed", item("agentMessage", text="Done."), (Text("Done."),)),
    ("item/completed", item("agentMessage", text=" "), ()),
    ("item/agentMessage/delta", {"itemId": "m", "delta": "Do"}, ()),
    ("item/completed", item("reasoning", summary=["hm"]), ()),
    ("item/started", command("/bin/bash -c 'ls; pwd'"), (ToolStart("exec_command", "ls; pwd"),)),
    (
        "item/completed",
        command("/bin/bash -c ls", status="completed", exitCode=0),
        (ToolEnd("exec_command", "ls", True),),
    ),
    (
        "item/completed",
        command("/bin/sh -c 'exit 3'", status="failed", exitCode=3),
        (ToolEnd("exec_command", "exit 3 (exit 3)", False),),
    ),
    (
        "item/completed",
        command("/bin/bash -c 'git push'", status="declined", exitCode=None),
        (ToolEnd("exec_command", "git push", False),),
    ),
    ("item/started", patch("/workspace/repo/a/b.py"), (ToolStart("apply_patch", "a/b.py"),)),
    (
        "item/completed",
        patch("/workspace/repo/a.py", "/etc/x", status="completed"),
        (ToolEnd("apply_patch", "a.py, /etc/x", True),),
    ),
    (
        "item/completed",
        item("mcpToolCall", server="board", tool="plan", status="completed", error=None),
        (ToolEnd("board.plan", "", True),),
    ),
    (
        "item/completed",
        item("mcpToolCall", server="board", tool="ask", status="failed", error={"message": "no\nway"}),
        (ToolEnd("board.ask", "no way", False),),
    ),
    ("item/completed", item("webSearch", query="cats"), (ToolEnd("web_search", "cats", True),)),
    ("item/completed", item("imageView", path="/tmp/a.png"), (ToolEnd("view_image", "/tmp/a.png", True),)),
    ("item/completed", item("somethingNew"), ()),
    (
        "turn/plan/updated",
        {"plan": [{"step": "one", "status": "completed"}, {"step": "two", "status": "inProgress"}]},
        (TodoShown((("one", True), ("two", False))),),
    ),
    ("turn/completed", {"turn": {"id": TURN, "status": "completed", "error": None}}, (TurnEnd(""),)),
    (
        "turn/completed",
        {"turn": {"id": TURN, "status": "interrupted"}},
        (TurnEnd("codex was interrupted"),),
    ),
    (
        "turn/completed",
        {"turn": {"status": "failed", "error": {"message": "busy", "additionalDetails": "later"}}},
        (TurnEnd("busy: later"),),
    ),
    (
        "turn/completed",
        {"turn": {"status": "failed", "error": None}},
        (TurnEnd("codex failed and did not say why"),),
    ),
    (
        "item/commandExecution/terminalInteraction",
        {"itemId": "c", "processId": "1", "stdin": "git push\n"},
        (ToolEnd("write_stdin", "git push", True),),
    ),
    ("item/commandExecution/terminalInteraction", {"itemId": "c", "processId": "1", "stdin": ""}, ()),
    ("configWarning", {"summary": "x"}, ()),
]


@pytest.mark.parametrize(("method", "params", "meaning"), MEANINGS)
def test_a_message_means(method: str, params: dict[str, object], meaning: tuple[AgentEvent, ...]) -> None:
    assert told(working(), method, **params) == meaning


def test_an_error_that_is_retried_is_noise_and_the_last_one_explains_the_end() -> None:
    dialogue = working()
    retried = told(dialogue, "error", error={"message": "Reconnecting... 1/5"}, willRetry=True)
    assert retried == (Noise("Reconnecting... 1/5"),)
    told(dialogue, "error", error={"message": "no answer"}, willRetry=False)
    assert told(dialogue, "turn/completed", turn={"status": "failed"}) == (TurnEnd("no answer"),)


def test_what_another_thread_does_is_not_ours() -> None:
    dialogue = working()
    other = {"threadId": "other", "turn": {"id": "t", "status": "completed"}}
    assert hear(dialogue, method="turn/completed", params=other) == ()
    assert told(dialogue, "turn/completed", turn={"status": "completed"}) == (TurnEnd(""),)


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        ("/bin/bash -c 'touch b'", "touch b"),
        ("/bin/bash -lc ls", "ls"),
        ("""/bin/bash -c 'echo "$HOME" '"'it'\\\\''s'" """.strip(), "echo \"$HOME\" 'it'\\''s'"),
        ("bash -c 'git commit -m \"a\nb\"'", 'git commit -m "a\nb"'),
        ("/usr/bin/python3 -c 'print(1)'", "/usr/bin/python3 -c 'print(1)'"),
        ("/bin/bash -c ls /etc", "/bin/bash -c ls /etc"),
        ("git status", "git status"),
        ("echo 'open", "echo 'open"),
        ("/bin/bash -c '" + "x y " * 250_000 + "'", "x y " * 250_000),
        ("'\\\"" * 300_000, "'\\\"" * 300_000),
    ],
)
def test_the_shell_line_is_what_the_shell_is_given(asked: str, line: str) -> None:
    assert shell_line(asked) == line


def test_long_texts_and_long_lists_are_cut() -> None:
    dialogue = working()
    (said,) = told(dialogue, "item/completed", **item("agentMessage", text="ä" * 1_000_000))
    assert isinstance(said, Text)
    assert len(said.text.encode()) <= 64_000
    (started,) = told(dialogue, "item/started", **command("/bin/bash -c '" + "x" * 1_000_000 + "'"))
    assert isinstance(started, ToolStart)
    assert len(started.summary) <= 300
    (shown,) = told(dialogue, "turn/plan/updated", plan=[{"step": "s" * 9_000, "status": "pending"}] * 9_000)
    assert isinstance(shown, TodoShown)
    assert len(shown.items) == 100
    assert len(shown.items[0][0]) <= 500
    error = {"message": "e" * 1_000_000}
    (ended,) = told(dialogue, "turn/completed", turn={"status": "failed", "error": error})
    assert isinstance(ended, TurnEnd)
    assert len(ended.error) <= 1_000


HOSTILE = ["", "{", "null", "[]", "1", '"x"', "[" * 100_000, "\udcff", "\0", "1" * 5_000, '{"id": []}', "{}"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
METHODS = [*sorted({method for method, _, _ in MEANINGS}),
    "error", "turn/started", "serverRequest/resolved", "item/commandExecution/requestApproval",
    "item/fileChange/requestApproval", "mcpServer/elicitation/request", "item/tool/call", "nothing",
]  # fmt: skip
FIELDS = [
    "threadId", "turnId", "item", "type", "id", "command", "changes", "path", "kind", "move_path", "text",
    "plan", "step", "status", "error", "message", "turn", "requestId", "server", "tool", "serverName",
    "itemId",
]  # fmt: skip
SHAPED = st.recursive(
    VALUES | st.sampled_from(["agentMessage", "commandExecution", "fileChange", "mcpToolCall", THREAD]),
    lambda inner: st.dictionaries(st.sampled_from(FIELDS), inner, max_size=6) | st.lists(inner, max_size=3),
    max_leaves=12,
)


def keeps_the_contract(dialogue: Dialogue, line: str) -> None:
    for event in dialogue.decode(line):
        assert type(event).__module__ == "runner.agents.contract"
        if isinstance(event, Send):
            assert event.data.endswith(b"\n")
            assert event.data.count(b"\n") == 1
            json.loads(event.data)


@pytest.mark.parametrize("line", HOSTILE)
def test_a_line_that_is_no_message_is_noise(line: str) -> None:
    for dialogue in (begin(), working()):
        assert (
            dialogue.decode(line) == (Noise(line[:500].encode("utf-8", "replace").decode()),)
            or len(line) > 400
        )
        keeps_the_contract(dialogue, line)


@given(st.text(max_size=200))
def test_no_text_breaks_the_decoder(line: str) -> None:
    keeps_the_contract(working(), line)


@given(st.sampled_from(METHODS), SHAPED, st.none() | VALUES)
def test_no_message_breaks_the_decoder(method: str, params: object, number: object) -> None:
    asked = {} if number is None else {"id": number}
    for dialogue in (begin(), working()):
        keeps_the_contract(dialogue, json.dumps({"method": method, "params": params} | asked))


@given(st.lists(st.tuples(st.sampled_from([1, 2, 3, 4, True, "1"]), SHAPED, st.booleans()), max_size=6))
def test_no_answer_breaks_the_decoder(answers: list[tuple[object, object, bool]]) -> None:
    dialogue = begin()
    for number, result, good in answers:
        keeps_the_contract(dialogue, json.dumps({"id": number, "result" if good else "error": result}))
