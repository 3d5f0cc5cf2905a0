"""Servers of one's own that speak Chat Completions, each with its own deviations, as their programs answer.

Forms as told in the projects' own reports: ggml-org/llama.cpp #15444 and #16048, vllm-project/vllm #18412,
#19662 and #27572, and answers of Ollama's `/v1/chat/completions`.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from runner.agents.contract import Usage
from runner.gateway.control.messages import CallRefusal, ProviderFailure, Warned
from runner.gateway.control.terms import Terms
from runner.gateway.models.openai import Chat
from runner.gateway.models.prices import price_of
from runner.gateway.models.protocol import Reading
from runner.run.provider import Provider, TokenPrice
from tests.runner.gateway.upstream import Answer
from tests.runner.gateway.world import PATHS, Scene, scene

FREE, DEAR = "qwen3-coder:30b", "big-local"
PRICES = (TokenPrice(FREE, 0.0, 0.0), TokenPrice(DEAR, 1.0, 2.0))
FIGURES = {"prompt_tokens": 75, "completion_tokens": 31, "total_tokens": 106}
TEXT = "Hello from a machine of our own"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with scene(tmp_path_factory.mktemp("local"), Terms(models=(FREE, DEAR)), prices=PRICES) as new_scene:
        yield new_scene


@pytest.fixture(autouse=True)
def _fresh(world: Scene) -> None:
    world.upstream.answers.clear()
    world.ears.hear(0.05)
    world.ears.told.clear()
    world.open()


def said(delta: dict[str, Any] | None, finish: object = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


def call(**more: Any) -> dict[str, Any]:
    return {
        "tool_calls": [{"index": 0, "function": {"name": "bash", "arguments": '{"command":"ls"}'}, **more}]
    }


LLAMA = {"object": "chat.completion.chunk", "system_fingerprint": "b6497-cd08fc3e"}
OLLAMA = {"object": "chat.completion.chunk", "system_fingerprint": "fp_ollama"}
VLLM = {"object": "chat.completion.chunk", "prompt_token_ids": None}
# The chunks, whether `[DONE]` follows, and the tokens in and out that are exact: None for an estimate.
STREAMS: dict[str, tuple[list[dict[str, Any]], bool, tuple[int, int] | None]] = {
    "llama.cpp": (
        [
            said({"role": "assistant", "content": None}, **LLAMA),
            said({"content": TEXT}, **LLAMA, timings={"predicted_n": 31}),
            said({}, "stop", **LLAMA),
            {"choices": [], "usage": FIGURES, "timings": {"prompt_n": 75}, **LLAMA},
        ],
        True,
        (75, 31),
    ),
    "llama.cpp, before": (
        [said({"content": TEXT}, **LLAMA), said({}, "stop", usage=FIGURES, **LLAMA)],
        True,
        (75, 31),
    ),
    "ollama": (
        [
            said({"role": "assistant", "content": TEXT, "tool_calls": None}, usage=None, **OLLAMA),
            said({"role": "assistant", "content": "", **call(id="call_1", type="function")}, **OLLAMA),
            said({"role": "assistant", "content": ""}, "stop", **OLLAMA),  # though it called a tool
            {"choices": [], "usage": FIGURES, **OLLAMA},
        ],
        True,
        (75, 31),
    ),
    "ollama, with the prompt in its cache": (
        [
            said({"content": TEXT}, **OLLAMA),
            said({"content": ""}, "stop", **OLLAMA),
            {"choices": [], "usage": {**FIGURES, "prompt_tokens": 0}, **OLLAMA},
        ],
        True,
        None,
    ),
    "vllm": (
        [
            said({"role": "assistant", "content": ""}, usage={**FIGURES, "completion_tokens": 0}, **VLLM),
            said(
                {"reasoning_content": TEXT, "content": None},
                usage={**FIGURES, "completion_tokens": 9},
                **VLLM,
            ),
            said(call(), usage={**FIGURES, "completion_tokens": 30}, **VLLM),  # a call without an id
            said({"content": ""}, "tool_calls", stop_reason=None, usage=FIGURES, **VLLM),
            {"choices": [], "usage": FIGURES, **VLLM},
        ],
        True,
        (75, 31),
    ),
    "vllm, without a reason to end": (
        [said({"content": TEXT}, **VLLM), {"choices": [], "usage": FIGURES, **VLLM}],
        True,
        (75, 31),
    ),
    "an empty reason in each chunk": (
        [
            said({"content": TEXT}, "", usage={**FIGURES, "completion_tokens": 1}),
            said(None, "stop", usage=FIGURES),
        ],
        False,
        (75, 31),
    ),
    "none tells its usage": ([said({"content": TEXT}), said({}, "stop")], True, None),
    "null for usage to the end": (
        [
            said({"content": TEXT}, usage=None),
            said({}, "length", usage=None),
            {"choices": None, "usage": None},
        ],
        True,
        None,
    ),
    "zero for usage": (
        [said({"content": TEXT}), said({}, "stop", usage=dict.fromkeys(FIGURES, 0))],
        True,
        None,
    ),
}


def post(world: Scene, answer: Answer, model: str = FREE, **fields: Any) -> Usage:
    world.upstream.answers.clear()
    world.upstream.answers.append(answer)
    before = len(world.ears.all(Usage))
    body = {"model": model, "stream": True, "messages": [{"role": "user", "content": "hi" * 40}], **fields}
    assert world.post(PATHS["compatible"], body).status == 200
    return world.ears.wait(Usage, before + 1)[-1]


def stream(name: str) -> Answer:
    chunks, done, _ = STREAMS[name]
    pieces = [b"data: " + json.dumps(each).encode() + b"\n\n" for each in chunks]
    return Answer((*pieces, *((b"data: [DONE]\n\n",) if done else ())))


@pytest.mark.parametrize("name", STREAMS)
def test_each_stream_is_read_to_its_end_and_its_figures_are_final_where_it_tells_them(name: str) -> None:
    wire, reading, at = Chat("compatible"), Reading(), datetime.now(UTC)
    for piece in stream(name).pieces:
        wire.read_event(reading, piece.removeprefix(b"data: ").rstrip())
    assert (reading.ended, reading.failure, reading.text_bytes >= len(TEXT)) == (True, "", True)
    price = price_of(Provider("compatible", "http://127.0.0.1:8080", "any", PRICES), FREE)
    cost = price.cost(reading.figures, wire.usage, {}, at) if reading.counted else None
    told = (cost.input_tokens, cost.output_tokens) if cost and cost.input_tokens else None
    assert told == STREAMS[name][2]


def test_a_model_that_costs_nothing_costs_nothing_and_its_tokens_are_counted(world: Scene) -> None:
    assert post(world, stream("vllm")) == Usage(0.0, 75, 31, 0)
    assert world.ears.all(ProviderFailure) + world.ears.all(Warned) == []
    untold = post(world, stream("none tells its usage"))
    assert (untold.usd, untold.input_tokens > 0, untold.output_tokens >= len(TEXT) // 4) == (0.0, True, True)
    assert "did not report the final usage" in world.ears.wait(Warned)[0].text


def test_what_is_not_told_is_an_estimate_that_is_said_to_be_one_and_never_nothing(world: Scene) -> None:
    cached = post(world, stream("ollama, with the prompt in its cache"), DEAR)
    assert cached.output_tokens == 31  # as it was told: only the input is an estimate
    assert cached.usd == pytest.approx((cached.input_tokens + 2 * 31) / 1e6)
    untold = post(world, stream("none tells its usage"), DEAR)
    assert untold.usd > 0
    whole = {"choices": [{"message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}]}
    body = json.dumps(whole).encode()
    in_one_piece = post(world, Answer((body,), kind="application/json"), DEAR, stream=False, max_tokens=100)
    assert 0 < in_one_piece.usd <= 300 / 1e6


def test_a_stream_that_ends_without_a_sign_of_its_end_or_with_a_text_for_an_error_is_a_failure(
    world: Scene,
) -> None:
    cut = Answer((b'data: {"choices":[{"delta":{"content":"a"},"finish_reason":""}]}\n\n',))
    post(world, cut)
    post(world, Answer((b'data: {"error":"model runner has unexpectedly stopped"}\n\n',)))
    details = [each.detail for each in world.ears.wait(ProviderFailure, 2)]
    assert "in the middle" in details[0]
    assert "model runner has unexpectedly stopped" in details[1]


def test_dollars_do_not_limit_a_free_model_and_tokens_do(world: Scene) -> None:
    world.open(usd_left=0.01, tokens_left=150)
    post(world, stream("llama.cpp"))
    post(world, stream("llama.cpp"))
    body = {"model": FREE, "stream": True, "messages": [{"role": "user", "content": "hi"}]}
    assert world.post(PATHS["compatible"], body).status == 400
    assert world.ears.wait(CallRefusal)[0].kind == "tokens"
