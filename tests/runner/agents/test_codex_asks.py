"""What Codex asks for, how it is answered, steered and stopped, and a chat without tools."""

import json

from runner.agents.contract import PermissionAsked, Phase
from tests.runner.agents.codex_partner import (
    THREAD,
    TURN,
    asks_to_edit,
    asks_to_run,
    begin,
    flags,
    greeted,
    hear,
    item,
    opened,
    sent,
    told,
    working,
)


def test_a_command_is_asked_for_and_the_answer_bears_the_id_of_the_question() -> None:
    dialogue = working()
    assert asks_to_run(dialogue, 0, "/bin/bash -c 'git push'") == (
        PermissionAsked("0", "run", "exec_command", "git push"),
    )
    assert dialogue.permit("0", allowed=True, why="") == b'{"id": 0, "result": {"decision": "accept"}}\n'
    assert dialogue.permit("0", allowed=True, why="") is None, "answered twice"
    asks_to_run(dialogue, "x-1", "/bin/bash -c ls")
    answer = dialogue.permit("x-1", allowed=False, why="")
    assert answer == b'{"id": "x-1", "result": {"decision": "decline"}}\n'


def test_a_patch_is_asked_for_with_the_paths_that_were_shown_before() -> None:
    dialogue = working()
    moved = {"path": "/workspace/repo/a", "kind": {"type": "update", "move_path": "/workspace/repo/b"}}
    told(dialogue, "item/started", **item("fileChange", changes=[moved], status="inProgress"))
    assert asks_to_edit(dialogue) == (PermissionAsked("7", "edit", "apply_patch", "a, b"),)
    assert asks_to_edit(working()) == (PermissionAsked("7", "edit", "apply_patch", ""),)


def test_the_reason_of_a_refusal_follows_once_the_refusal_is_settled() -> None:
    dialogue = working()
    asks_to_run(dialogue, 4, "/bin/bash -c 'git push'")
    answer = dialogue.permit("4", allowed=False, why="the policy refuses `git push:*`")
    assert answer == b'{"id": 4, "result": {"decision": "decline"}}\n'
    message = sent(told(dialogue, "serverRequest/resolved", requestId=4))[0]
    assert message["method"] == "turn/steer"
    assert "the policy refuses `git push:*`" in message["params"]["input"][0]["text"]
    assert told(dialogue, "serverRequest/resolved", requestId=4) == (), "said once"


def test_a_tool_of_a_server_is_asked_for_by_an_elicitation() -> None:
    dialogue = working()
    method = "mcpServer/elicitation/request"
    for number, server, kind in ((1, "board", "board"), (2, "other", "other")):
        asked = hear(dialogue, id=number, method=method, params={"serverName": server, "mode": "form"})
        assert asked == (PermissionAsked(str(number), kind, server, ""),)
    assert dialogue.permit("2", allowed=False, why="") == b'{"id": 2, "result": {"action": "decline"}}\n'


def test_a_request_that_nobody_offers_is_answered_so_that_it_does_not_wait() -> None:
    for method in ("item/tool/requestUserInput", "item/permissions/requestApproval", "execCommandApproval"):
        answer = sent(hear(working(), id=9, method=method, params={"threadId": THREAD}))[0]
        assert answer["id"] == 9
        assert answer["error"]["code"] == -32601
        assert method in answer["error"]["message"]


def test_a_flood_of_questions_is_refused_not_remembered() -> None:
    dialogue = working()
    for number in range(1000):
        assert isinstance(asks_to_run(dialogue, number, "ls")[0], PermissionAsked)
    assert "error" in sent(asks_to_run(dialogue, 1000, "ls"))[0]


def test_a_command_too_long_to_judge_is_refused_with_the_reason() -> None:
    dialogue = working()
    longest = asks_to_run(dialogue, 1, "y" * 64_000)
    assert longest == (PermissionAsked("1", "run", "exec_command", "y" * 64_000),)
    refused = asks_to_run(dialogue, 2, "/bin/bash -c '" + "y" * 64_000 + "; git push'")
    assert sent(refused) == [{"id": 2, "result": {"decision": "decline"}}]
    (why,) = sent(told(dialogue, "serverRequest/resolved", requestId=2))
    assert "longer than 64000" in why["params"]["input"][0]["text"]


def test_a_message_and_a_stop_reach_a_running_turn_only() -> None:
    idle = begin()
    opened(idle)
    assert (idle.steer("hello"), idle.interrupt()) == (None, None)
    dialogue = working()
    steered, stopped = dialogue.steer("go left\nnow"), dialogue.interrupt()
    assert steered is not None
    assert stopped is not None
    message, stop = json.loads(steered), json.loads(stopped)
    assert (message["method"], message["params"]["expectedTurnId"]) == ("turn/steer", TURN)
    assert message["params"]["input"][0]["text"] == "go left\nnow"
    assert stop["method"] == "turn/interrupt"
    assert stop["params"] == {"threadId": THREAD, "turnId": TURN}
    assert message["id"] != stop["id"]
    told(dialogue, "turn/completed", turn={"status": "completed"})
    assert (dialogue.steer("late"), dialogue.interrupt()) == (None, None)
    told(dialogue, "turn/started", turn={"id": "late"})
    assert (dialogue.steer("late"), dialogue.interrupt()) == (None, None)


def test_a_chat_has_no_tools_keeps_nothing_and_asks_nobody() -> None:
    dialogue = begin(Phase.CHAT, session="ignored")
    start = sent(greeted(dialogue))[1]
    assert (start["method"], start["params"]["ephemeral"]) == ("thread/start", True)
    turn = sent(hear(dialogue, id=2, result={"thread": {"id": THREAD}}))[0]
    assert turn["params"]["sandboxPolicy"] == {"type": "readOnly"}
    given_ = flags(dialogue)
    assert not any(key.startswith("mcp_servers") for key in given_)
    assert given_["features.shell_tool"] is given_["tools.update_plan.enabled"] is False
    asked = asks_to_run(dialogue, 5, "/bin/bash -c ls")
    assert sent(asked) == [{"id": 5, "result": {"decision": "decline"}}]
