"""A provider that fails is seen by the agent, told to the supervisor, and given up in the end."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner.agents.contract import Usage
from runner.gateway.control.link import Gateway
from runner.gateway.control.messages import ProviderFailure, Warned
from runner.run.provider import Provider
from tests.runner.gateway.upstream import Answer, chat, event, provider
from tests.runner.gateway.world import (
    GPT,
    KEY,
    MODEL,
    PATHS,
    QUICK,
    STREAMS,
    TERMS,
    Ears,
    Scene,
    ask,
    error_of,
    finish,
    scene,
)
from tests.waiting import until


@pytest.fixture
def world(tmp_path: Path) -> Any:
    with scene(tmp_path) as new_scene:
        yield new_scene


def test_failures_are_passed_on_told_and_counted_until_one_success(world: Scene) -> None:
    body = b'{"type":"error","error":{"type":"overloaded_error","message":"busy ' + KEY.encode() + b'"}}'
    bad = Answer((body,), status=529, kind="application/json", headers={"retry-after": "3"})
    world.upstream.answers += [bad, bad, Answer(STREAMS["messages"]), bad]
    replies = [world.post(PATHS["messages"], ask()) for _ in range(4)]
    assert [reply.status for reply in replies] == [529, 529, 200, 529]
    assert (replies[0].body, replies[0].headers["retry-after"]) == (body, "3")
    provider_failures = world.ears.wait(ProviderFailure, 3)
    assert [(failure.status, failure.in_a_row, failure.final) for failure in provider_failures] == [
        (529, 1, False),
        (529, 2, False),
        (529, 1, False),
    ]
    assert "busy" in provider_failures[0].detail
    assert KEY not in provider_failures[0].detail
    assert len(world.ears.all(Usage)) == 1


def test_enough_failures_in_a_row_are_final_and_no_call_goes_out_any_more(tmp_path: Path) -> None:
    with scene(tmp_path, replace(TERMS, failures=3)) as world:
        world.upstream.answers.append(Answer((b"oh no",), status=500, kind="text/plain"))
        replies = [world.post(PATHS["messages"], ask()) for _ in range(5)]
        assert [reply.status for reply in replies] == [500, 500, 500, 403, 403]
        assert [failure.final for failure in world.ears.wait(ProviderFailure, 3)] == [False, False, True]
        assert len(world.upstream.got) == 3
        world.open()
        assert world.post(PATHS["messages"], ask()).status == 500


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_final_at_once_names_the_setting_and_hides_the_providers_words(
    world: Scene, status: int
) -> None:
    body = b'{"error":{"message":"Incorrect API key provided: sk-tes***6789"}}'
    world.upstream.answers.append(Answer((body,), status=status, kind="application/json"))
    reply = world.post(PATHS["chat"], ask(GPT))
    assert reply.status == status
    assert "CARDINAL_OPENAI_KEY" in error_of("chat", reply.json)[1]
    assert b"6789" not in reply.body
    provider_failure = world.ears.wait(ProviderFailure)[0]
    assert provider_failure.final
    assert "CARDINAL_OPENAI_KEY" in provider_failure.detail
    assert world.post(PATHS["chat"], ask(GPT)).status == 403
    assert len(world.upstream.got) == 1


def test_a_redirect_is_not_followed_and_counts_as_a_failure(world: Scene) -> None:
    away = {"location": f"{world.upstream.url}/elsewhere"}
    world.upstream.answers.append(Answer((b"",), status=307, kind="text/plain", headers=away))
    assert world.post(PATHS["messages"], ask()).status == 502
    assert "redirect" in world.ears.wait(ProviderFailure)[0].detail
    assert len(world.upstream.got) == 1


def test_a_provider_that_cannot_be_reached_is_a_502_and_a_failure(world: Scene) -> None:
    world.upstream.close()
    reply = world.post(PATHS["messages"], ask())
    assert reply.status == 502
    assert error_of("messages", reply.json)[0] == "api_error"
    assert world.ears.wait(ProviderFailure)[0].status == 0


@pytest.mark.parametrize("name", ["messages", "responses", "compatible"])
def test_a_cut_stream_is_counted_as_a_failure_and_its_text_as_used(world: Scene, name: str) -> None:
    whole = STREAMS[name]
    for broken in (Answer(whole[:4], cut=True), Answer(whole[:4])):
        world.upstream.answers.clear()
        world.upstream.answers.append(broken)
        reply = world.post(PATHS[name], ask(MODEL[name]))
        assert reply.whole is not broken.cut
        assert reply.body == b"".join(whole[:4])
    provider_failures = world.ears.wait(ProviderFailure, 2)
    assert [provider_failure.in_a_row for provider_failure in provider_failures] == [1, 2]
    assert all(usage.usd > 0 and usage.output_tokens > 0 for usage in world.ears.wait(Usage, 2))


@pytest.mark.parametrize("name", ["messages", "responses", "chat"])
def test_an_error_in_the_middle_of_a_stream_is_a_failure(world: Scene, name: str) -> None:
    last = {
        "messages": event("error", error={"type": "overloaded_error", "message": "Overloaded"}),
        "responses": event(
            "response.failed", response={"status": "failed", "error": {"message": "Overloaded"}}
        ),
        "chat": b'data: {"error":{"message":"Overloaded"}}\n\n',
    }[name]
    world.upstream.answers.append(Answer((*STREAMS[name][:3], last)))
    world.post(PATHS[name], ask(MODEL[name]))
    assert "Overloaded" in world.ears.wait(ProviderFailure)[0].detail


def test_a_provider_that_falls_silent_is_given_up(tmp_path: Path) -> None:
    with scene(tmp_path, replace(TERMS, waits=replace(QUICK, connect_s=0.1))) as world:
        mute, stuck = Answer((), silent=True), Answer(STREAMS["messages"][:5], holds=True)
        world.upstream.answers += [mute, stuck]
        assert world.post(PATHS["messages"], ask()).status == 502
        reply = world.post(PATHS["messages"], ask())
        assert (reply.status, reply.whole) == (200, False)
        assert ["silent" in failure.detail for failure in world.ears.wait(ProviderFailure, 2)] == [True, True]
        assert mute.left.wait(60)
        assert stuck.left.wait(60)
        assert world.ears.wait(Usage)[0].output_tokens > 0


def test_a_stream_that_speaks_now_and_then_is_not_given_up(tmp_path: Path) -> None:
    with scene(tmp_path, replace(TERMS, waits=replace(QUICK, idle_s=1.0))) as world:
        answer = Answer(STREAMS["messages"], holds=True)
        world.upstream.answers.append(answer)
        line = world.begin(PATHS["messages"], ask())
        until(lambda: bool(world.upstream.got), "it never arrived")
        world.ears.hear(0.5)
        answer.go.set()
        assert finish(line).whole
        line.close()
        assert world.ears.wait(Usage)
        assert world.ears.all(ProviderFailure) == []


def test_bytes_reach_the_client_while_the_answer_is_still_written(world: Scene) -> None:
    answer = Answer(STREAMS["messages"], holds=True)
    world.upstream.answers.append(answer)
    line = world.begin(PATHS["messages"], ask())
    response = line.getresponse()
    assert response.read1(100).startswith(b"event: message_start")
    assert not answer.go.is_set()
    answer.go.set()
    response.read()
    line.close()


def test_a_provider_that_tells_no_usage_is_estimated_and_warned_of_once(world: Scene) -> None:
    world.upstream.answers.append(Answer(chat("x" * 400, usage=None, done=False)))
    for _ in range(2):
        assert world.post(PATHS["compatible"], ask(GPT)).whole
    used = world.ears.wait(Usage, 2)
    assert used[0].output_tokens >= 100
    assert used[0].usd > 0
    assert world.ears.all(ProviderFailure) == []
    assert ["an estimate" in warned.text for warned in world.ears.all(Warned)] == [True]


@pytest.mark.parametrize("key", ["two\nlines-of-a-key", "grüße-from-a-key"])
def test_a_key_that_no_header_can_hold_is_named_by_its_setting_and_never_shown(
    tmp_path: Path, key: str
) -> None:
    gateway = Gateway.spawn(tmp_path / "g", TERMS, {"openai": Provider("openai", "http://127.0.0.1:9", key)})
    try:
        with provider() as upstream:
            world = Scene(upstream, gateway, Ears(gateway))
            world.open()
            reply = world.post(PATHS["chat"], ask(GPT))
            provider_failure = world.ears.wait(ProviderFailure)[0]
            assert b"-a-key" not in reply.body
            assert "-a-key" not in provider_failure.detail
            assert reply.status >= 400
    finally:
        gateway.close()


def test_an_address_that_is_none_is_a_failure_like_any_other(tmp_path: Path) -> None:
    gateway = Gateway.spawn(tmp_path / "g", TERMS, {"openai": Provider("openai", "http://host:port", KEY)})
    try:
        with provider() as upstream:
            world = Scene(upstream, gateway, Ears(gateway))
            world.open()
            assert world.post(PATHS["chat"], ask(GPT)).status == 502
            assert "settings" in world.ears.wait(ProviderFailure)[0].detail
    finally:
        gateway.close()
