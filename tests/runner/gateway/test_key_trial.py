"""A key is tried with one call, whose answer is said without the key and within its time."""

import socket
import time
from collections.abc import Iterator

import pytest

from forge.demo.launch import SCENARIOS
from forge.model.server import ScriptedModel
from runner.gateway.models.key_trial import is_key, try_key
from runner.run.provider import Provider
from tests.runner.gateway.upstream import Answer, Upstream

KEY = "sk-tested-0123456789"
PROTOCOLS = ("anthropic", "openai", "compatible", "gemini")


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(SCENARIOS, scenario="shop", key=KEY) as model:
        yield model


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    upstream = Upstream()
    yield upstream
    upstream.close()


def provider(url: str, name: str = "anthropic", key: str = KEY, variable: str = "") -> Provider:
    return Provider(name, url, key, variable=variable)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_good_key_is_asked_for_one_small_answer(model: ScriptedModel, protocol: str) -> None:
    result = try_key(provider(model.url, protocol), "some-model")
    (request,) = model.requests
    assert (result.status, result.problem, request.key) == (200, "", KEY)
    held = request.body.get("generationConfig", request.body)
    limits = {name: text for name, text in held.items() if name.startswith("max")}
    named = request.body.get("model") or request.path
    assert ("some-model" in named, sum(limits.values()) <= 16, len(limits)) == (True, True, 1)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_wrong_key_is_refused_by_the_name_of_its_variable(model: ScriptedModel, protocol: str) -> None:
    wrong = "sk-wrong-9876543210"
    result = try_key(provider(model.url, protocol, key=wrong, variable="MY_KEY"), "some-model")
    assert result.is_refused
    assert result.problem.startswith(f"the key in MY_KEY is refused: {protocol} answers 401")
    assert wrong not in result.problem


def test_of_what_a_provider_says_only_its_code_is_repeated(upstream: Upstream) -> None:
    said = b'{"error":{"type":"permission_error","message":"sk-tes***6789 may not"}}'
    upstream.answers.append(Answer((said,), status=403, kind="application/json"))
    result = try_key(provider(upstream.url), "m")
    assert (result.is_refused, "6789" in result.problem) == (True, False)
    assert "anthropic answers 403 permission_error, the key may not use the model" in result.problem


@pytest.mark.parametrize("said", ["secretletters", "bad_secretletters_here", "letters"])
def test_a_code_with_the_key_in_it_is_not_repeated(upstream: Upstream, said: str) -> None:
    answer = f'{{"error":{{"type":"{said}"}}}}'.encode()
    upstream.answers.append(Answer((answer,), status=401, kind="application/json"))
    result = try_key(provider(upstream.url, key="secretletters"), "m")
    assert (result.is_refused, "letters" in result.problem) == (True, False)


def test_a_key_that_is_no_text_is_not_taken_for_a_wrong_address(upstream: Upstream) -> None:
    result = try_key(provider(upstream.url, key="\udcffsk"), "m")
    assert (result.is_refused, "paste it again" in result.problem) == (True, True)


@pytest.mark.parametrize("status", [302, 400, 404, 429, 500, 529])
def test_another_failure_is_said_and_refuses_no_key(upstream: Upstream, status: int) -> None:
    upstream.answers.append(Answer((b"x" * 500_000,), status=status, kind="text/html"))
    result = try_key(provider(upstream.url), "m")
    assert (result.is_refused, result.status) == (False, status)
    answered = f"anthropic answers {status} to a call of m"
    assert result.problem == f"{answered} with the key in CARDINAL_ANTHROPIC_KEY"


def test_a_provider_that_is_silent_or_away_is_said_in_time(upstream: Upstream) -> None:
    upstream.answers.append(Answer((b"{}",), silent=True))
    began = time.monotonic()
    result = try_key(provider(upstream.url), "m", limit_s=0.3)
    assert (result.status, time.monotonic() - began < 5) == (0, True)
    assert result.problem.endswith("CARDINAL_ANTHROPIC_KEY: no answer within 0.3 s")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        away = try_key(provider(f"http://127.0.0.1:{closed.getsockname()[1]}"), "m")
    assert (away.status, away.is_refused) == (0, False)
    assert (
        "anthropic could not be asked about the key in CARDINAL_ANTHROPIC_KEY (ConnectError" in away.problem
    )


@pytest.mark.parametrize("key", ["sk-with\nline", "sk-\x00", "sk-ä"])
def test_a_key_that_no_header_can_hold_is_refused_unsent(upstream: Upstream, key: str) -> None:
    result = try_key(provider(upstream.url, key=key), "m")
    if result.status == 401:
        assert "paste it again" in result.problem
    assert key not in result.problem


def test_what_is_no_key_of_a_program_is_not_tried() -> None:
    assert [is_key(provider("http://x", name)) for name in ("subscription", "vertex", "bedrock")] == [
        False
    ] * 3
