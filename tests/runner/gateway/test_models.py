"""Model calls go through byte for byte, with the real key, and are refused in the provider's own words."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner.agents.contract import Usage
from runner.gateway.control.messages import CallRefusal, Drained
from tests.runner.gateway.upstream import Answer
from tests.runner.gateway.world import (
    CLAUDE,
    GPT,
    IN,
    KEY,
    MODEL,
    PATHS,
    STREAMS,
    TERMS,
    Scene,
    ask,
    error_of,
    finish,
    scene,
)
from tests.waiting import until


def digest(*pieces: bytes) -> str:
    return hashlib.sha256(b"".join(pieces)).hexdigest()


@pytest.fixture
def world(tmp_path: Path) -> Any:
    with scene(tmp_path) as new_scene:
        yield new_scene


def test_a_stream_arrives_byte_for_byte_however_it_is_cut_into_pieces(world: Scene) -> None:
    for name, pieces in STREAMS.items():
        whole = b"".join(pieces)
        shreds = tuple(whole[start : start + 997] for start in range(0, len(whole), 997))
        for sent in (pieces, shreds):
            world.upstream.answers.clear()
            world.upstream.answers.append(Answer(sent))
            reply = world.post(PATHS[name], ask(MODEL[name]))
            assert (reply.status, reply.whole) == (200, True)
            assert digest(reply.body) == digest(whole), name
    used = world.ears.wait(Usage, 8)
    assert {(usage.input_tokens, usage.turns) for usage in used} == {(10, 1)}


def test_an_answer_in_one_piece_arrives_byte_for_byte_with_its_headers(world: Scene) -> None:
    body = json.dumps({"content": [{"type": "text", "text": "é"}], "usage": IN}, indent=3).encode()
    answer = Answer((body,), kind="application/json", headers={"request-id": "req_1", "set-cookie": "a=b"})
    world.upstream.answers.append(answer)
    reply = world.post(PATHS["messages"], ask(stream=False))
    assert reply.body == body
    assert reply.headers["request-id"] == "req_1"
    assert "set-cookie" not in reply.headers
    assert [(usage.input_tokens, usage.output_tokens) for usage in world.ears.wait(Usage)] == [(10, 5)]


def test_a_request_goes_out_as_it_came_with_the_real_key_and_no_other(world: Scene) -> None:
    body = b'{ "model" : "claude-sonnet-4-0",\n "stream":true, "system": "\\u00e9" }'
    world.upstream.answers.append(Answer(STREAMS["messages"]))
    world.post(
        PATHS["messages"] + "?beta=true",
        body,
        x_api_key="dummy",
        Authorization="Bearer dummy",
        Cookie="a=b",
        connection="x-mine",
        x_mine="1",
        anthropic_beta="b1",
        Accept_Encoding="gzip",
        content_type="application/json",
    )
    got = world.upstream.got[0]
    assert (got.path, got.body) == ("/v1/messages?beta=true", body)
    assert got.header("x-api-key") == [KEY]
    assert got.header("anthropic-beta") == ["b1"]
    assert got.header("accept-encoding") == ["identity"]
    for dropped in ("authorization", "cookie", "x-mine", "connection", "x_mine"):
        assert got.header(dropped) == []


def test_openai_gets_its_key_as_a_bearer_and_nobody_elses_project(world: Scene) -> None:
    world.upstream.answers.append(Answer(STREAMS["responses"]))
    world.post(PATHS["responses"], ask(GPT), Authorization="Bearer dummy", OpenAI_Project="p")
    got = world.upstream.got[0]
    assert got.path == "/v1/responses"
    assert got.header("authorization") == [f"Bearer {KEY}"]
    assert got.header("openai-project") == got.header("x-api-key") == []


def test_a_chat_stream_is_made_to_tell_its_usage_and_the_answer_says_so(world: Scene) -> None:
    world.upstream.answers.append(Answer(STREAMS["chat"]))
    bodies = (
        b' {"model":"gpt-5","stream":true}',
        b'{"model":"gpt-5","stream":true,"stream_options":{"include_usage":false,"a":1}}',
        b'{"model":"gpt-5","stream":true,"stream_options":null}',
    )
    for body in bodies:
        reply = world.post(PATHS["chat"], body)
        assert reply.headers["x-cardinal-changed"] == "stream_options.include_usage"
    first, second, third = (one.body for one in world.upstream.got)
    assert first == b' {"stream_options":{"include_usage":true},"model":"gpt-5","stream":true}'
    assert json.loads(second)["stream_options"] == {"include_usage": True, "a": 1}
    assert json.loads(third)["stream_options"] == {"include_usage": True}


def test_a_chat_request_that_asks_for_usage_itself_is_not_touched(world: Scene) -> None:
    world.upstream.answers.append(Answer(STREAMS["chat"]))
    body = b'{"stream_options": {"include_usage": true}, "model": "gpt-5", "stream": true}'
    assert "x-cardinal-changed" not in world.post(PATHS["chat"], body).headers
    assert world.upstream.got[0].body == body


@pytest.mark.parametrize("name", PATHS)
def test_a_model_that_the_policy_does_not_name_is_refused_in_the_providers_words(
    world: Scene, name: str
) -> None:
    reply = world.post(PATHS[name], ask("claude-opus-4-1"))
    assert (reply.status, reply.headers["x-should-retry"]) == (400, "false")
    code, message = error_of(name, reply.json)
    assert code in {"invalid_request_error", "model_not_found"}
    assert "claude-opus-4-1" in message
    assert CLAUDE in message
    assert [call_refusal.kind for call_refusal in world.ears.wait(CallRefusal)] == ["model"]
    assert world.upstream.got == []


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"model":"gpt-5","model":"gpt-5-pro"}', "twice"),
        (b'{"model":"gpt-5","Model":"gpt-5-pro"}', "case"),
        (b'{"model":["gpt-5"]}', "no name"),
        (b'["gpt-5"]', "not a JSON object"),
        (b"\x1f\x8b\x08", "not JSON"),
        (b"[" * 200_000, "nested"),
        (b'{"model":"gpt-5","background":true}', "background"),
    ],
)
def test_a_request_that_a_provider_might_read_otherwise_is_refused(
    world: Scene, body: bytes, said: str
) -> None:
    reply = world.post(PATHS["responses"], body)
    assert reply.status == 400
    assert said in reply.json["error"]["message"]
    assert world.upstream.got == []


def test_models_answer_only_while_a_turn_is_open(world: Scene) -> None:
    world.upstream.answers.append(Answer(STREAMS["messages"]))
    world.gateway.shut()
    reply = world.post(PATHS["messages"], ask())
    assert reply.status == 403
    assert error_of("messages", reply.json)[0] == "permission_error"
    assert world.ears.wait(CallRefusal)[0].kind == "closed"
    world.open()
    assert world.post(PATHS["messages"], ask()).status == 200


def test_without_a_key_the_refusal_names_the_setting(tmp_path: Path) -> None:
    with scene(tmp_path, keys=False) as world:
        for name, setting in (("messages", "ANTHROPIC"), ("chat", "OPENAI"), ("compatible", "COMPATIBLE")):
            reply = world.post(PATHS[name], ask())
            assert reply.status == 403
            assert f"CARDINAL_{setting}_KEY" in error_of(name, reply.json)[1]
        assert [call_refusal.kind for call_refusal in world.ears.wait(CallRefusal, 3)] == ["key"] * 3


def test_calls_beyond_the_rate_wait_and_are_told_once_in_a_while(tmp_path: Path) -> None:
    with scene(tmp_path, replace(TERMS, calls_per_minute=3)) as world:
        world.upstream.answers.append(Answer(STREAMS["messages"]))
        replies = [world.post(PATHS["messages"], ask()) for _ in range(8)]
        assert [reply.status for reply in replies] == [200] * 3 + [429] * 5
        assert error_of("messages", replies[-1].json)[0] == "rate_limit_error"
        assert replies[-1].headers["retry-after"] == "5"
        world.gateway.shut()
        world.ears.wait(Drained)
        assert len(world.ears.all(Usage)) == 3
        assert [call_refusal.kind for call_refusal in world.ears.all(CallRefusal)] == ["rate"]


def test_a_request_over_the_cap_is_refused_and_the_next_one_is_not(tmp_path: Path) -> None:
    with scene(tmp_path, replace(TERMS, request_bytes=100_000)) as world:
        world.upstream.answers.append(Answer(STREAMS["messages"]))
        for _ in range(3):
            reply = world.post(PATHS["messages"], ask(metadata={"x": "y" * 100_000}))
            assert reply.status == 413
            assert error_of("messages", reply.json)[0] == "request_too_large"
        assert world.post(PATHS["messages"], ask(metadata={"x": "y" * 90_000})).status == 200


def test_requests_at_once_cannot_fill_the_memory_of_the_host(tmp_path: Path) -> None:
    with scene(tmp_path, replace(TERMS, request_bytes=100_000)) as world:
        answer = Answer(STREAMS["messages"], holds=True)
        world.upstream.answers.append(answer)
        lines = [world.begin(PATHS["messages"], ask(metadata={"x": "y" * 90_000})) for _ in range(2)]
        until(lambda: len(world.upstream.got) == 2, "they never arrived")
        assert world.post(PATHS["messages"], ask(metadata={"x": "y" * 90_000})).status == 413
        answer.go.set()
        for line in lines:
            assert finish(line).whole
            line.close()
        assert world.post(PATHS["messages"], ask(metadata={"x": "y" * 90_000})).status == 200


def test_the_list_of_models_is_the_policys_in_each_providers_form(world: Scene) -> None:
    anthropic = world.get("/anthropic/v1/models").json
    assert [one["id"] for one in anthropic["data"]] == list(TERMS.models)
    assert anthropic["has_more"] is False
    openai = world.get("/openai/v1/models").json
    assert (openai["object"], [one["id"] for one in openai["data"]]) == ("list", list(TERMS.models))


def test_any_other_address_is_not_found_in_the_providers_words(world: Scene) -> None:
    for path in ("/anthropic/v1/messages/batches", "/anthropic/../v1/messages", "/v1/messages", "/", "//"):
        assert world.post(path, ask()).status == 404
    for path in ("/openai/v1/files", "/openai/v1/responses", "/anthropic/v1/messages"):
        assert world.get(path).status == 404
    assert error_of("messages", world.get("/anthropic/v1/x").json)[0] == "not_found_error"
    assert world.get("/anthropic/api/hello", "HEAD").status == 200
    assert world.upstream.got == []


def test_counting_tokens_is_passed_on_and_costs_nothing(world: Scene) -> None:
    world.upstream.answers.append(Answer((b'{"input_tokens": 4242}',), kind="application/json"))
    reply = world.post("/anthropic/v1/messages/count_tokens", ask())
    assert reply.json == {"input_tokens": 4242}
    world.gateway.shut()
    world.ears.wait(Drained)
    assert world.ears.all(Usage) == []


PICTURE = {"type": "image", "source": {"type": "url", "url": "https://e.x/?s"}}


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("messages", {"tools": [{"type": "web_fetch_20250910", "name": "web_fetch"}]}),
        ("messages", {"mcp_servers": [{"type": "url", "url": "https://evil.example"}]}),
        ("messages", {"messages": [{"content": [PICTURE]}]}),
        ("responses", {"tools": [{"type": "web_search", "external_web_access": True}]}),
        ("responses", {"tools": [{"type": "mcp", "server_url": "https://evil.example"}]}),
        ("responses", {"input": [{"type": "additional_tools", "tools": [{"type": "mcp_x"}]}]}),
        ("responses", {"tools": [{"type": "namespace", "tools": [{"type": "web_search"}]}]}),
        ("responses", {"input": [{"content": [{"type": "input_image", "image_url": "https://e.x/?s"}]}]}),
        ("responses", {"input": [{"content": [{"type": "input_file", "file_url": "HTTP://e.x/?s"}]}]}),
        ("chat", {"web_search_options": {"a": 1}}),
        ("chat", {"messages": [{"content": [{"type": "image_url", "image_url": {"url": "https://e.x"}}]}]}),
    ],
)
def test_a_provider_reaches_out_for_an_agent_only_where_the_policy_says_full(
    tmp_path: Path, name: str, fields: dict[str, Any]
) -> None:
    for network, status in (("none", 400), ("full", 200)):
        with scene(tmp_path / network, replace(TERMS, network=network)) as world:
            world.upstream.answers.append(Answer(STREAMS[name]))
            assert world.post(PATHS[name], {**ask(MODEL[name]), **fields}).status == status
            if status == 400:
                assert world.ears.wait(CallRefusal)[0].kind == "network"
                assert world.upstream.got == []


def test_in_a_stage_with_less_of_the_network_a_provider_does_not_reach_out(tmp_path: Path) -> None:
    with scene(tmp_path, replace(TERMS, network="full")) as world:
        world.upstream.answers.append(Answer(STREAMS["chat"]))
        world.gateway.narrow("none", ())
        fields = {"web_search_options": {"a": 1}}
        assert world.post(PATHS["chat"], {**ask(MODEL["chat"]), **fields}).status == 400
        assert "of the stage would" in world.ears.wait(CallRefusal)[0].detail
        world.gateway.narrow("full", ())
        assert world.post(PATHS["chat"], {**ask(MODEL["chat"]), **fields}).status == 200


def test_addresses_that_nobody_fetches_are_no_outreach(world: Scene) -> None:
    world.upstream.answers.append(Answer(STREAMS["messages"]))
    used = {"type": "tool_use", "input": {"type": "url", "url": "https://example.org"}}
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    body = ask(
        tools=[{"name": "t", "input_schema": {"properties": {"image_url": {"type": "string"}}}}],
        messages=[{"content": [used, picture, {"type": "text", "text": "see https://example.org"}]}],
    )
    assert world.post(PATHS["messages"], body).status == 200
    cached = {"type": "web_search", "external_web_access": False}
    world.upstream.answers[0] = Answer(STREAMS["responses"])
    assert world.post(PATHS["responses"], ask(GPT, tools=[cached])).status == 200
