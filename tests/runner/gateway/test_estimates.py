"""What a call would cost is known before it is sent, or it is not sent."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner.agents.contract import Usage
from runner.gateway.control.messages import CallRefusal
from runner.gateway.models.anthropic import Messages
from runner.gateway.models.limits import RunBudget
from runner.gateway.models.meter import Meter, ObservedUsage
from runner.gateway.models.openai import Chat, Responses
from runner.gateway.models.prices import price_of
from runner.gateway.models.protocol import UnreadableCallError, parse_call, parse_request
from runner.gateway.models.request_contents import UnknownCostError, Weight, estimate_tokens
from runner.run.provider import Provider
from tests.runner.gateway.upstream import Answer, messages, responses
from tests.runner.gateway.world import CLAUDE, GPT, PATHS, TERMS, Scene, ask, error_of, finish, scene

WIRES = {
    "messages": Messages(),
    "responses": Responses(),
    "chat": Chat("openai"),
    "compatible": Chat("compatible"),
}
PIXELS = "data:image/png;base64," + "A" * 4000


@pytest.fixture
def world(tmp_path: Path) -> Any:
    with scene(tmp_path) as new_scene:
        yield new_scene


def read(name: str, **fields: Any) -> Weight:
    """Return what a request weighs, or raise what refuses it."""
    given = {"model": "m", **fields}
    call = parse_request(WIRES[name], given, json.dumps(given).encode())
    return sum((weight for _, weight in estimate_tokens(call.given)), Weight())


def user(*parts: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": list(parts)}]


def base64_of(kind: str, data: str, media: str = "image/png") -> dict[str, Any]:
    return {"type": kind, "source": {"type": "base64", "media_type": media, "data": data}}


FETCHED = {
    "type": "web_fetch_tool_result",
    "content": {
        "type": "web_fetch_result",
        "content": base64_of("document", "A" * 4000, "application/pdf"),
    },
}


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("responses", {"previous_response_id": "resp_1"}),
        ("responses", {"conversation": "conv_1"}),
        ("responses", {"prompt": {"id": "pmpt_1"}}),
        ("responses", {"background": True}),
        ("responses", {"input": [{"type": "item_reference", "id": "msg_1"}]}),
        ("responses", {"input": [{"id": "msg_1"}]}),  # OpenAI: a reference needs no type
        ("responses", {"input": [{"type": "additional_tools", "tools": [{"type": "image_generation"}]}]}),
        ("responses", {"input": [{"type": "tool_search_output", "tools": [{"type": "file_search"}]}]}),
        ("responses", {"input": user({"type": "input_image", "file_id": "file_1"})}),
        ("responses", {"input": user({"type": "input_file", "file_id": "file_1"})}),
        ("responses", {"input": user({"type": "input_audio", "input_audio": {"data": "AAAA"}})}),
        ("responses", {"input": [{"type": "image_generation_call", "id": "ig_1"}]}),
        ("responses", {"input": [{"type": "function_call_output", "output": [{"type": "input_file", "file_id":
        "f"}]}]}), ("responses", {"context_management": [{"type": "compaction", "compact_threshold": 1000}]}),
        ("responses", {"tools": [{"type": "code_interpreter", "container": {"type": "auto"}}]}), ("responses",
        {"tools": [{"type": "image_generation"}]}), ("responses", {"tools": [{"type": "file_search",
        "vector_store_ids": ["vs"]}]}), ("responses", {"tools": [{"type": "shell", "environment": {"type":
        "container_auto"}}]}), ("responses", {"tools": [{"type": "namespace", "tools": [{"type":
        "image_generation"}]}]}), ("chat", {"n": 128}), ("chat", {"N": 128}), ("chat", {"best_of": 20}),
        ("chat", {"modalities": ["text", "audio"]}), ("chat", {"audio": {"voice": "alloy"}}), ("chat",
        {"prediction": {"type": "content", "content": "x"}}), ("chat", {"messages": [{"role": "assistant",
        "audio": {"id": "audio_1"}}]}), ("chat", {"messages": user({"type": "file", "file": {"file_id":
        "file_1"}})}), ("compatible", {"models": ["dear/one"]}), ("compatible", {"plugins": [{"id": "web"}]}),
        ("compatible", {"provider": {"order": ["dear"]}}), ("messages", {"container": "container_1"}),
        ("messages", {"fallbacks": [{"model": "claude-opus-4-1"}]}), ("messages", {"context_management":
        {"edits": [{"type": "compact_20260112"}]}}), ("messages", {"tools": [{"type":
        "code_execution_20250825", "name": "code_execution"}]}), ("messages", {"tools": [{"type":
        "advisor_20260301", "model": "claude-opus-4-1"}]}), ("messages", {"messages": user({"type":
        "container_upload", "file_id": "file_1"})}), ("messages", {"messages": user({"type": "document",
        "source": {"type": "file", "file_id": "f"}})}), ("messages", {"messages": user({"type": "tool_result",
        "content": [{"type": "video"}]})}),
    ],
)  # fmt: skip
def test_what_nobody_can_estimate_is_refused(name: str, fields: Mapping[str, Any]) -> None:
    with pytest.raises(UnknownCostError, match="leave it out"):
        read(name, **fields)


@pytest.mark.parametrize(
    ("name", "fields", "pictures", "files"),
    [
        ("messages", {"messages": user({"type": "text", "text": "hi"}), "system": "s"}, 0, 0),
        ("messages", {"messages": user(base64_of("image", "A" * 4000))}, 1, 0),
        (
            "messages",
            {"messages": user({"type": "tool_result", "content": [base64_of("image", "A" * 4000)]})},
            1,
            0,
        ),
        ("messages", {"messages": user(base64_of("document", "A" * 4000, "application/pdf"))}, 0, 1),
        (
            "messages",
            {"messages": user({"type": "document", "source": {"type": "text", "data": "hi"}})},
            0,
            0,
        ),
        ("messages", {"messages": user(FETCHED)}, 0, 1),
        ("responses", {"input": [{"type": "additional_tools", "tools": [{"type": "web_search"}]}]}, 0, 1),
        ("messages", {"context_management": {"edits": [{"type": "clear_thinking_20251015"}]}}, 0, 0),
        (
            "messages",
            {"tools": [{"name": "t"}, {"type": "bash_20250124", "name": "bash"}], "container": None},
            0,
            0,
        ),
        ("messages", {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, 0, 1),
        ("responses", {"input": "hi", "previous_response_id": None, "background": False}, 0, 0),
        (
            "chat",
            {"messages": user(), "reasoning_effort": "low", "prompt_cache_options": {"mode": "explicit"}},
            0,
            0,
        ),
        ("responses", {"input": user({"type": "input_image", "image_url": PIXELS})}, 1, 0),
        ("responses", {"input": user({"type": "input_file", "file_data": PIXELS})}, 0, 1),
        ("responses", {"input": [{"type": "reasoning", "summary": [], "encrypted_content": "A" * 90}]}, 0, 0),
        ("responses", {"tools": [{"type": "custom", "name": "t"}, {"type": "tool_search"}]}, 0, 0),
        ("chat", {"messages": user({"type": "image_url", "image_url": {"url": PIXELS}}), "n": 1}, 1, 0),
        ("chat", {"messages": user({"type": "file", "file": {"file_data": PIXELS}})}, 0, 1),
        (
            "compatible",
            {"messages": [{"role": "assistant", "content": None, "reasoning_content": "x"}]},
            0,
            0,
        ),
    ],
)
def test_pictures_and_files_do_not_count_by_their_bytes(
    name: str, fields: Mapping[str, Any], pictures: int, files: int
) -> None:
    weight = read(name, **fields)
    assert (weight.pictures, weight.files) == (pictures, files)
    assert 0 < weight.text_bytes < 400


@pytest.mark.parametrize("value", [0, -1, 1.5, "1000", True, [1]])
def test_a_limit_that_is_no_number_of_tokens_is_refused(value: object) -> None:
    for name in ("messages", "compatible"):
        with pytest.raises(UnreadableCallError, match="max_tokens"):
            read(name, max_tokens=value)


def test_of_two_limits_the_higher_one_counts_and_both_are_lowered() -> None:
    given = {"model": "m", "max_tokens": 100_000, "max_completion_tokens": 10}
    call = parse_request(Chat("openai"), given, json.dumps(given).encode())
    assert call.limit_tokens == 100_000
    assert json.loads(call.limit(5000).sent) == {**given, "max_tokens": 5000}


@pytest.mark.parametrize(
    "body",
    [b'{"model":"m","input":NaN}', '{"model":"m"}'.encode("utf-16"), b'{"model":"\xff"}',
    b'{"model":"m","stream":"yes"}',
     b'{"input":[' + b"[]," * 300_000 + b"[]]}", b'{"model":"m","input":' + b'{"a":' * 5000 + b"1" + b"}" *
     5001],
)  # fmt: skip
def test_a_body_that_is_odd_or_more_than_a_model_reads_is_unreadable(body: bytes) -> None:
    with pytest.raises(UnreadableCallError):
        parse_request(Responses(), parse_call(body), body)


def test_40_calls_at_once_on_a_stored_context_cost_nothing(world: Scene) -> None:
    figures = {"input_tokens": 350_000, "output_tokens": 10}
    world.upstream.answers.append(Answer(responses("hi", usage=figures)))
    world.open(usd_left=0.10)
    body = ask(GPT, previous_response_id="resp_1", stream=False)
    lines = [world.begin(PATHS["responses"], body) for _ in range(40)]
    replies = [finish(line) for line in lines]
    for line in lines:
        line.close()
    assert {(reply.status, reply.headers["x-should-retry"]) for reply in replies} == {(400, "false")}
    assert "previous_response_id" in error_of("responses", replies[0].json)[1]
    assert {call_refusal.kind for call_refusal in world.ears.wait(CallRefusal, 40)} == {"request"}
    assert world.upstream.got == []


def test_an_answer_is_limited_to_what_is_left(world: Scene) -> None:
    for name, model, field in (
        ("messages", CLAUDE, "max_tokens"),
        ("responses", GPT, "max_output_tokens"),
        ("chat", GPT, "max_completion_tokens"),
        ("compatible", GPT, "max_tokens"),
    ):
        world.upstream.answers.clear()
        world.upstream.answers.append(Answer(messages("hi", usage={"input_tokens": 1})))
        world.open(usd_left=0.10)
        wishes: tuple[dict[str, Any], ...] = ({}, {field: 100_000})
        for given in wishes:
            reply = world.post(PATHS[name], ask(model, **given))
            assert field in reply.headers["x-cardinal-changed"]
            assert 8_000 < json.loads(world.upstream.got[-1].body)[field] < 16_000
        world.post(PATHS[name], {**ask(model), field: 500})
        assert json.loads(world.upstream.got[-1].body)[field] == 500


def test_thinking_stays_below_the_limit_of_its_answer(world: Scene) -> None:
    world.upstream.answers.append(Answer(messages("hi", usage={"input_tokens": 1})))
    world.open(usd_left=0.10)
    thinking = {"type": "enabled", "budget_tokens": 31_999}
    world.post(PATHS["messages"], ask(max_tokens=32_000, thinking=thinking))
    sent = json.loads(world.upstream.got[0].body)
    assert 1024 <= sent["thinking"]["budget_tokens"] < sent["max_tokens"] < 11_000


def test_an_answer_in_one_piece_without_a_limit_gets_one(world: Scene) -> None:
    whole = json.dumps({"content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}).encode()
    world.upstream.answers.append(Answer((whole,), kind="application/json"))
    assert world.post(PATHS["responses"], ask(GPT, stream=False)).status == 200
    assert json.loads(world.upstream.got[0].body)["max_output_tokens"] == 16_000


def test_a_document_counts_as_all_that_the_model_can_read(world: Scene) -> None:
    world.upstream.answers.append(Answer(messages("hi", usage={"input_tokens": 5000})))
    body = ask(messages=user(base64_of("document", "JVBERi0x", "application/pdf")))
    world.open(usd_left=0.50)
    assert world.post(PATHS["messages"], body).json["error"]["message"].startswith("the budget")
    world.open(usd_left=1.00)
    assert world.post(PATHS["messages"], body).status == 200
    world.open(usd_left=0.50)  # by now it is known what it costs
    assert world.post(PATHS["messages"], body).status == 200


def test_only_what_was_paid_for_before_counts_as_cached(world: Scene) -> None:
    figures = {"input_tokens": 100, "cache_read_input_tokens": 25_000}
    world.upstream.answers.append(Answer(messages("hi", usage=figures, output_tokens=10)))
    long = [{"role": "user", "content": "y" * 100_000}]
    for _ in range(2):
        assert world.post(PATHS["messages"], ask(messages=long)).status == 200
    world.open(usd_left=0.05)
    more = [{"role": "user", "content": "hi"}]
    assert world.post(PATHS["messages"], ask(messages=long + more)).status == 200
    assert world.post(PATHS["messages"], ask(messages=more + long)).status == 400


def test_what_a_provider_is_to_remember_is_dear_however_it_is_written() -> None:
    remembered = {"type": "ephemeral", "ttl": "1h"}
    given = {"model": CLAUDE, "cache_control": remembered, "messages": user({"type": "text", "text": "y"})}
    plain = json.dumps(given).encode()
    escaped = plain.replace(b"cache_control", b"c\\u0061che_control").replace(b"1h", b"\\u0031h")
    assert parse_call(escaped) == given
    most = []
    for body in (plain, escaped):
        call, price = parse_request(Messages(), given, body), price_of(Provider("anthropic", "", ""), CLAUDE)
        most.append(
            Meter(
                call, Messages(), price, RunBudget(), ObservedUsage(), parts=estimate_tokens(given)
            )._most_usd
        )
    assert most[0] == most[1] > 0


def test_a_call_that_is_given_up_before_it_is_answered_counts(world: Scene) -> None:
    mute = Answer((), silent=True)
    world.upstream.answers.append(mute)
    line = world.begin(PATHS["messages"], ask(stream=False, max_tokens=4000))
    while not world.upstream.got:
        world.ears.hear(0.01)
    line.close()
    assert world.ears.wait(Usage)[0].output_tokens == 4000


def test_a_body_of_many_parts_is_refused_in_no_time_and_little_memory(tmp_path: Path) -> None:
    with scene(tmp_path, replace(TERMS, request_bytes=40_000_000)) as world:
        before_kb = _memory_kb(world, "VmRSS")  # a fork of this process has all that other tests left in it
        body = b'{"model":"gpt-5","input":[' + b"[]," * 10_000_000 + b"[]]}"
        reply = world.post(PATHS["responses"], body)
        assert (reply.status, "parts" in reply.json["error"]["message"]) == (400, True)
        assert _memory_kb(world, "VmHWM") - before_kb < 400_000  # without a limit it was 1.6 GB


def _memory_kb(world: Scene, name: str) -> int:
    status = Path(f"/proc/{world.gateway.pid}/status").read_text()
    return int(status.split(f"{name}:")[1].split()[0])
