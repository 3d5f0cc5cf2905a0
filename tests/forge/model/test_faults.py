"""What a provider can do wrong, on demand, in each of the protocols; and what an agent may lack."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import requests
import yaml

from forge.model.conversation import Tokens
from forge.model.server import ScriptedModel
from tests.forge.model.agents import AGENTS, Agent

HEAD = "Run r1, turn work (work).\n\n# A card"
Begin = Callable[..., tuple[Agent, ScriptedModel]]
BROKEN = (requests.exceptions.ChunkedEncodingError, requests.exceptions.ConnectionError)


@pytest.fixture(params=AGENTS)
def begin(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Begin]:
    """Return how to begin: an agent that plays these steps as its work, and its model."""
    with ExitStack() as stack:

        def of(*steps: object, key: str = "", **sections: object) -> tuple[Agent, ScriptedModel]:
            (tmp_path / "mine.yml").write_text(yaml.safe_dump({"work": list(steps), **sections}))
            model = stack.enter_context(ScriptedModel(tmp_path, scenario="mine", key=key))
            agent = AGENTS[request.param](model.url, tmp_path / "repo")
            agent.prompt(HEAD)
            return agent, model

        yield of


def head_of_stream(agent: Agent, limit_s: float) -> tuple[bytes, float]:
    """Return what comes within the limit, and how long nothing came at the end."""
    body, got, heard_at = agent.body(), b"", time.monotonic()
    with requests.post(agent.url + agent.path, json=body, stream=True, timeout=limit_s) as answer:
        assert answer.status_code == 200
        until = time.monotonic() + 2 * limit_s
        try:
            for part in answer.iter_content(None):
                got, heard_at = got + part, time.monotonic()
                if time.monotonic() > until:
                    break
        except requests.exceptions.ConnectionError:  # nothing came within the limit
            return got, time.monotonic() - heard_at
    return got, 0.0


def test_a_failure_is_served_as_often_as_it_says_and_then_the_work_goes_on(begin: Begin) -> None:
    agent, model = begin({"say": "Hello."}, {"status": 500, "times": 2}, {"progress": "Going on"})
    assert [agent.post().status_code for _ in range(2)] == [500, 500]
    agent.round()
    assert agent.board == [("progress", {"text": "Going on"})]
    assert agent.said[-1].text == "Hello."
    assert [served.tokens for served in model.served[:2]] == [None, None]


@pytest.mark.parametrize("status", [400, 401, 403, 429, 500, 529])
def test_a_failure_without_an_end_has_the_protocols_own_body(begin: Begin, status: int) -> None:
    agent, _ = begin({"status": status, "message": "Not today.", "retry_after": 7})
    for _ in range(3):
        answer = agent.post()
        assert answer.status_code == status
        assert answer.headers["retry-after"] == "7"
        assert answer.json()["error"]["message"] == "Not today."
        assert ("type" in answer.json()) == agent.path.startswith("/v1/messages")


def test_a_stream_that_is_cut_ends_in_the_middle(begin: Begin) -> None:
    agent, model = begin({"say": "One two three four five."}, {"cut": True}, {"progress": "Never"})
    with pytest.raises(BROKEN):
        agent.post()
    assert not model.served[0].complete
    first = {"/v1/messages": Tokens(out=1), "/v1beta/models": Tokens(out=0)}
    assert model.served[0].tokens == next((first[way] for way in first if agent.path.startswith(way)), None)


def test_a_stream_that_was_cut_once_is_whole_the_next_time(begin: Begin) -> None:
    agent, _ = begin({"cut": True, "times": 1}, {"progress": "Now"})
    with pytest.raises(BROKEN):
        agent.post()
    agent.round()
    assert agent.board == [("progress", {"text": "Now"})]


def test_an_answer_that_is_not_streamed_can_be_cut_too(begin: Begin) -> None:
    agent, _ = begin({"cut": True})
    with pytest.raises(BROKEN):
        agent.post_whole()


def test_a_stream_that_hangs_sends_pings(begin: Begin) -> None:
    agent, _ = begin({"say": "One two three four five."}, {"hang": True})
    got, silent_s = head_of_stream(agent, 0.9)
    assert got
    assert silent_s == 0.0


def test_a_stream_that_is_silent_sends_nothing_more(begin: Begin) -> None:
    agent, _ = begin({"say": "One two three four five."}, {"silent": True})
    got, silent_s = head_of_stream(agent, 0.9)
    assert got
    assert silent_s >= 0.9


def test_a_model_that_stops_ends_the_streams_that_hang(begin: Begin) -> None:
    agent, model = begin({"hang": True})
    with requests.post(agent.url + agent.path, json=agent.body(), stream=True, timeout=60) as answer:
        start = time.monotonic()
        model.stop()
        with pytest.raises(BROKEN):
            list(answer.iter_content(None))
        assert time.monotonic() - start < 45


def test_a_slow_stream_comes_piece_by_piece(begin: Begin) -> None:
    agent, _ = begin({"slow": 0.05}, {"say": "One two three four five six."})
    start = time.monotonic()
    agent.round()
    assert time.monotonic() - start > 0.05 * 6


def test_a_sleep_comes_before_the_first_byte(begin: Begin) -> None:
    agent, _ = begin({"sleep": 0.4}, {"say": "Hello."})
    with requests.post(agent.url + agent.path, json=agent.body(), stream=True, timeout=60) as answer:
        assert answer.elapsed.total_seconds() >= 0.4
        assert agent.parsed(answer.content).text == "Hello."


def test_a_long_text_is_as_long_as_it_says(begin: Begin) -> None:
    agent, _ = begin({"long": 200_000})
    assert len(agent.round().text) == 200_000


def test_cached_tokens_are_told_in_each_protocols_own_way(begin: Begin) -> None:
    usage = {"in": 40, "out": 7, "cache_read": 1000, "cache_write": 200}
    agent, model = begin({"usage": usage}, {"say": "Hello."})
    assert agent.round().tokens == (1240, 7, 1000)
    assert model.served[0].tokens == Tokens(40, 7, 1000, 200)


def test_any_call_can_be_made_even_of_a_tool_that_is_not_there(begin: Begin) -> None:
    agent, model = begin({"call": {"name": "no_such_tool", "input": {"a": 1}}})
    (call,) = agent.parsed(agent.post().content).calls
    assert (call.name, call.given) == ("no_such_tool", {"a": 1})
    assert model.problems == []


def test_several_calls_in_one_response_are_one_step(begin: Begin) -> None:
    edits = {"edit": {"path": "a.txt", "content": "it's\n"}}
    agent, _ = begin({"parallel": [{"run": "echo b > b.txt"}, edits]}, {"progress": "Both are there"})
    assert len(agent.round().calls) == 2
    agent.round()
    assert agent.board == [("progress", {"text": "Both are there"})]
    assert (agent.repo / "a.txt").read_text() == "it's\n"
    assert (agent.repo / "b.txt").read_text() == "b\n"


def test_a_file_that_was_not_read_is_read_and_written_again(begin: Begin) -> None:
    agent, _ = begin({"edit": {"path": "a.txt", "content": "new\n"}}, {"progress": "Written"})
    (agent.repo / "a.txt").write_text("old\n")
    while not agent.board:
        agent.round()
    assert (agent.repo / "a.txt").read_text() == "new\n"


def test_without_tools_for_files_the_shell_writes_them(begin: Begin) -> None:
    found = {"edit": {"path": "d/a.txt", "find": "old", "replace": 'it\'s "new"\n\\n'}}
    agent, _ = begin({"edit": {"path": "d/a.txt", "content": "$old\n"}}, found, {"progress": "Written"})
    agent.without = ("Write", "Edit", "Read", "apply_patch", "write", "edit", "read")
    while not agent.board:
        agent.round()
    assert (agent.repo / "d/a.txt").read_text() == '$it\'s "new"\n\\n\n'


def test_a_tool_that_is_missing_is_a_problem_and_ends_the_turn(begin: Begin) -> None:
    agent, model = begin({"run": "true"}, {"progress": "Never"})
    agent.without = ("Bash", "exec_command", "bash", "run_shell_command")
    assert agent.round().text == "There is no tool for this: no tool shell."
    assert model.problems == ["r1 work: no tool shell"]
    assert agent.board == []


def test_what_only_the_scripted_agent_can_do_is_a_problem(begin: Begin) -> None:
    agent, model = begin({"fail": 3})
    assert agent.round().text == "I cannot do this."
    assert model.problems == ["r1 work: only the scripted agent can fail"]


def test_a_request_that_was_not_paid_for_is_refused(begin: Begin) -> None:
    agent, model = begin({"say": "Hello."}, key="right")
    assert agent.post().status_code == (400 if "gemini" in agent.path else 401)
    for headers in ({"Authorization": "Bearer right"}, {"X-Api-Key": "right"}):
        paid = requests.post(agent.url + agent.path, json=agent.body(), headers=headers, timeout=60)
        assert paid.status_code == 200
    assert [model_request.key for model_request in model.requests] == ["", "right", "right"]
    assert len(model.served) == 2


def test_a_request_that_makes_no_sense_is_refused_and_is_a_problem(begin: Begin) -> None:
    agent, model = begin({"say": "Hello."})
    assert agent.post({"messages": [17], "input": [17], "contents": [17], "stream": True}).status_code == 400
    assert len(model.problems) == 1
    assert requests.post(agent.url + agent.path, data=b"{", timeout=60).status_code == 400
    assert requests.post(agent.url + "/v1/embeddings", json={}, timeout=60).status_code == 404


@pytest.mark.parametrize("begin", ["gemini"], indirect=True)
def test_gemini_may_tell_a_result_twice_but_never_one_without_a_call(begin: Begin) -> None:
    agent, model = begin({"board": {"tool": "tick", "input": {"done": 1}}}, {"say": "Over."})
    call = agent.round().calls[0]
    result = {"functionResponse": {"id": call.call_id, "name": call.name, "response": {"output": "ok"}}}
    agent.conversation[-1]["parts"] = [result, result]
    assert agent.round().text == "Over."
    assert model.problems == []
    stray = {"functionResponse": {"name": "never_called", "response": {"output": "ok"}}}
    agent.conversation.append({"role": "user", "parts": [stray]})
    assert agent.post().status_code == 400
    assert len(model.problems) == 1


def test_a_subagent_plays_steps_of_its_own(begin: Begin) -> None:
    parts = {"reader": [{"run": "echo read > read.txt"}, {"say": "I have read it."}]}
    agent, model = begin({"subagent": "reader"}, {"progress": "Read"}, subagents=parts)
    agent.tools = (*agent.tools, "Agent", "task")
    if agent.path == "/v1/responses":
        agent.tools = agent.tools[:-2]
        assert agent.round().text == "There is no tool for this: no tool subagent."
        return
    (call,) = agent.parsed(agent.post().content).calls
    inner = type(agent)(agent.url, agent.repo)
    assert inner.play(call.given["prompt"]) == "I have read it."
    assert (agent.repo / "read.txt").is_file()
    assert [(one.run, one.turn) for one in model.served] == [("r1", "work"), *[("r1", "sub-reader")] * 2]


def test_a_todo_list_is_written_with_the_agents_own_tool(begin: Begin) -> None:
    agent, _ = begin({"todo": [{"text": "Look", "done": True}, {"text": "Write"}]})
    agent.tools = (*agent.tools, "TodoWrite") if agent.path.startswith("/v1/messages") else agent.tools
    (call,) = agent.parsed(agent.post().content).calls
    (items,) = call.given.values()
    assert [one["status"] for one in items] == ["completed", "pending"]
    assert [one.get("content", one.get("step")) for one in items] == ["Look", "Write"]


def test_a_board_tool_of_any_name_is_called_as_the_agent_knows_it(begin: Begin) -> None:
    agent, _ = begin({"board": {"tool": "show_card"}})
    known = {"/v1/responses": "show_card", "/v1/chat/completions": "board_show_card"}
    name = known.get(agent.path, "mcp__board__show_card")
    agent.tools = (*agent.tools, name)
    (call,) = agent.parsed(agent.post().content).calls
    assert (call.name, call.space) == (name, "mcp__board" if agent.path == "/v1/responses" else "")
