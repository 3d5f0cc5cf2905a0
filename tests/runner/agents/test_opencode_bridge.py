"""What the bridge makes of OpenCode's events and of the supervisor's messages."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.agents.contract import (
    AgentEvent,
    Noise,
    PermissionAsked,
    Session,
    Text,
    TodoShown,
    ToolEnd,
    ToolStart,
    TurnEnd,
)
from tests.runner.agents.opencode_bench import Bridge, Steps, bash, end_of, permit


def step_end(part: str, reason: str, tokens: int) -> dict[str, object]:
    counted = {"input": tokens, "output": tokens}
    about = {"id": part, "type": "step-finish", "reason": reason, "tokens": counted, "messageID": "m"}
    return {"event": "message.part.updated", "part": about}


def test_a_turn_is_told_in_facts(bridge: Callable[..., Bridge]) -> None:
    todos = [{"content": "one", "status": "completed"}, {"content": "two", "status": "pending"}]
    played = bridge(
        [
            bash("p1", "running"),
            bash("p1", "running"),
            bash("p1", "completed", 0),
            bash("p2", "completed", 3),
            {"event": "todo.updated", "todos": todos},
            {"say": "done"},
            {"idle": True},
        ]
    )
    heard = played.play()
    assert heard == [
        Session("ses_main", "1.18.33"),
        ToolStart("bash", "make test"),
        ToolEnd("bash", "make test", True),
        ToolEnd("bash", "make test", False),
        TodoShown((("one", True), ("two", False))),
        Text("done"),
        TurnEnd(""),
    ]
    assert played.child.exit_code() == 0
    (prompt,) = played.sent("/prompt_async")
    assert prompt["parts"] == [{"type": "text", "text": "the prompt"}]


def test_a_session_is_continued(bridge: Callable[..., Bridge]) -> None:
    played = bridge([{"say": "again"}, {"idle": True}], session="ses_main")
    assert end_of(played.play()) == ""
    assert played.sent("/session") == []


def test_a_session_that_is_gone_is_an_error(bridge: Callable[..., Bridge]) -> None:
    [*_, end] = bridge([], session="ses_lost").play()
    assert end == TurnEnd("opencode no longer knows the session ses_lost", session_gone=True)


@pytest.mark.parametrize("broken", ["by its database", "anyway"])
def test_a_session_whose_database_keeps_the_server_from_starting_is_gone(
    bridge: Callable[..., Bridge], tmp_path: Path, broken: str
) -> None:
    store = tmp_path / "home/.local/share/opencode"
    store.mkdir(parents=True)
    for name in ("opencode.db", "opencode.db-wal"):
        (store / name).write_text(name)
    played = bridge([], session="ses_main", broken=broken)
    [end] = played.play()
    assert isinstance(end, TurnEnd)
    assert "did not start" in end.error
    torn = broken != "anyway"
    assert end.session_gone is torn
    names = {"opencode.db", "opencode.db-wal"}
    assert {path.name for path in store.iterdir()} == ({f"torn-{name}" for name in names} if torn else names)
    assert played.servers() == []


def test_nothing_is_begun_before_the_events_are_heard(bridge: Callable[..., Bridge]) -> None:
    played = bridge([{"say": "x"}, {"idle": True}])
    played.play()
    order = [path for _, path, _ in played.requests()]
    assert order.index("/event") < order.index("/session/ses_main/prompt_async")


def test_a_message_of_people_reaches_the_running_turn(bridge: Callable[..., Bridge]) -> None:
    def react(one: Bridge, event: AgentEvent) -> None:
        if isinstance(event, ToolStart):
            one.child.write(one.dialogue.steer("other way") or b"")

    idle: dict[str, object] = {"event": "session.idle"}  # told, and overtaken by the message
    first: Steps = [bash("p1", "running"), {"until": "prompt", "times": 2}, idle, {"say": "first"}]
    played = bridge(first, [{"say": "second"}, {"idle": True}])
    heard = played.play(react)
    assert end_of(heard) == ""
    assert [body["parts"] for body in played.sent("/prompt_async")][1] == [
        {"type": "text", "text": "other way"}
    ]
    assert Text("second") in heard


def test_an_idle_that_is_not_true_ends_nothing(bridge: Callable[..., Bridge]) -> None:
    idle: dict[str, object] = {"event": "session.idle"}
    played = bridge([{"say": "a"}, idle, {"ask": "per_1"}, {"until": "reply"}, {"say": "b"}, {"idle": True}])
    assert [event.text for event in played.play(permit) if isinstance(event, Text)] == ["a", "b"]


def test_an_interrupt_aborts_and_ends(bridge: Callable[..., Bridge]) -> None:
    def react(one: Bridge, event: AgentEvent) -> None:
        if isinstance(event, ToolStart):
            one.child.write(one.dialogue.interrupt() or b"")

    played = bridge([bash("p1", "running"), {"until": "abort"}, {"idle": True}])
    assert end_of(played.play(react)) == "interrupted"
    assert played.sent("/abort")


def test_an_abort_that_nobody_obeys_ends_too(bridge: Callable[..., Bridge]) -> None:
    def react(one: Bridge, event: AgentEvent) -> None:
        if isinstance(event, ToolStart):
            one.child.write(one.dialogue.interrupt() or b"")

    played = bridge([bash("p1", "running")], bounds={"_ABORTED_S": 0.3})
    began = time.monotonic()
    assert end_of(played.play(react)) == "interrupted"
    assert time.monotonic() - began < 60


def test_a_permission_is_asked_and_answered(bridge: Callable[..., Bridge]) -> None:
    played = bridge([{"ask": "per_1"}, {"until": "reply"}, {"say": "ran"}, {"idle": True}])
    assert PermissionAsked("per_1", "run", "bash", "per_1") in played.play(permit)
    assert played.sent("/permission/per_1/reply") == [{"reply": "once"}]


def test_a_refusal_says_why_and_waits_for_the_requests_beside_it(bridge: Callable[..., Bridge]) -> None:
    """OpenCode refuses all of a session's requests with one."""

    def react(one: Bridge, event: AgentEvent) -> None:
        if isinstance(event, PermissionAsked):
            allowed = event.ask_id == "per_2"
            one.child.write(one.dialogue.permit(event.ask_id, allowed=allowed, why="the policy") or b"")

    played = bridge(
        [{"ask": "per_1"}, {"ask": "per_2"}, {"until": "reply", "times": 2}, {"say": "x"}, {"idle": True}]
    )
    played.play(react)
    replies = [(path[-12:], body) for _, path, body in played.requests() if path.startswith("/permission/")]
    assert replies == [
        ("/per_2/reply"[-12:], {"reply": "once"}),
        ("/per_1/reply"[-12:], {"reply": "reject", "message": "the policy"}),
    ]


def test_a_lost_stream_is_opened_again_and_caught_up_with(bridge: Callable[..., Bridge]) -> None:
    played = bridge(
        [
            {"say": "heard"},
            {"cut": True},
            {"missed": "unheard"},
            {"until": "listener", "times": 2},
            {"say": "after"},
            {"idle": True},
        ]
    )
    heard = played.play()
    assert [event.text for event in heard if isinstance(event, Text)] == ["heard", "unheard", "after"]
    assert end_of(heard) == ""


def test_a_permission_asked_while_the_stream_was_lost_is_not_forgotten(
    bridge: Callable[..., Bridge],
) -> None:
    played = bridge(
        [{"cut": True}, {"ask": "per_1", "untold": True}, {"until": "reply"}, {"say": "x"}, {"idle": True}]
    )
    heard = played.play(permit)
    assert len([event for event in heard if isinstance(event, PermissionAsked)]) == 1
    assert end_of(heard) == ""


def test_a_server_that_dies_is_an_error(bridge: Callable[..., Bridge]) -> None:
    assert "ended by itself" in end_of(bridge([{"say": "x"}, {"die": True}]).play())


def test_a_server_that_does_not_start_is_an_error(bridge: Callable[..., Bridge]) -> None:
    assert "ended by itself" in end_of(bridge([], refuses="no memory").play())


def test_the_models_error_ends_the_turn(bridge: Callable[..., Bridge]) -> None:
    error = {"name": "APIError", "data": {"message": "bad key", "statusCode": 401}}
    played = bridge([{"event": "session.error", "error": error}, {"idle": True}])
    assert end_of(played.play()) == "APIError: 401 bad key"


def test_retries_are_shown_and_bounded(bridge: Callable[..., Bridge]) -> None:
    retries: Steps = [
        {"event": "session.status", "status": {"type": "retry", "attempt": n, "message": "busy", "next": 1}}
        for n in range(1, 10)
    ]
    heard = bridge([*retries, {"until": "abort"}, {"idle": True}]).play()
    assert next(event for event in heard if isinstance(event, Noise)) == Noise("attempt 1 failed: busy")
    assert end_of(heard) == "the model's provider failed 9 times: busy"


def test_eight_retries_are_patience(bridge: Callable[..., Bridge]) -> None:
    retries: Steps = [
        {"event": "session.status", "status": {"type": "retry", "attempt": n, "message": "busy", "next": 1}}
        for n in range(1, 9)
    ]
    assert end_of(bridge([*retries, {"say": "x"}, {"idle": True}]).play()) == ""


def test_two_cut_answers_in_a_row_end_the_turn(bridge: Callable[..., Bridge]) -> None:
    cut: Steps = [step_end("s1", "unknown", 0), step_end("s2", "unknown", 0)]
    played = bridge([*cut, {"until": "abort"}, {"idle": True}])
    assert end_of(played.play()) == "the model's answer was cut off 2 times in a row"


def test_a_cut_answer_between_whole_ones_is_no_error(bridge: Callable[..., Bridge]) -> None:
    steps: Steps = [
        step_end("s1", "unknown", 0),
        step_end("s2", "tool-calls", 5),
        step_end("s3", "unknown", 0),
    ]
    assert end_of(bridge([*steps, {"say": "x"}, {"idle": True}]).play()) == ""


def test_odd_events_are_passed_over(bridge: Callable[..., Bridge]) -> None:
    odd: Steps = [
        {"event": "message.part.updated"},
        {"event": "message.part.updated", "part": {"type": "tool", "state": 3}},
        {"event": "permission.asked", "id": "per_1"},
        {"event": "todo.updated", "todos": "none"},
        {"event": "session.status", "status": None},
        {"event": "never.seen", "x": [[[]]]},
    ]
    heard = bridge([*odd, {"say": "x"}, {"idle": True}]).play()
    assert heard == [Session("ses_main", "1.18.33"), Text("x"), TurnEnd("")]


def test_what_a_subagent_says_is_not_the_agents_word(bridge: Callable[..., Bridge]) -> None:
    text = {"id": "p", "type": "text", "text": "child", "messageID": "m", "time": {"end": 2}}
    steps: Steps = [
        {"event": "message.part.updated", "sessionID": "ses_child", "part": text},
        {**bash("p1", "completed", 0), "sessionID": "ses_child"},
        {"event": "session.idle", "sessionID": "ses_child"},
        {"say": "main"},
        {"idle": True},
    ]
    heard = bridge(steps).play()
    assert [event for event in heard if isinstance(event, Text)] == [Text("main")]
    assert ToolEnd("bash", "subagent: make test", True) in heard
