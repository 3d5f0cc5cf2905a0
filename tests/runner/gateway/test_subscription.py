"""A person's subscription pays for Claude Code: its token in place of a key, dollars as an estimate."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner import agents
from runner.agents.contract import Usage
from runner.gateway.control.messages import CallRefusal, ProviderFailure, Warned
from runner.gateway.models.prices import price_of
from runner.run.provider import Provider
from runner.text.plain import redact
from tests.runner.gateway.upstream import Answer, messages
from tests.runner.gateway.world import CLAUDE, PATHS, USAGE, Scene, ask, assert_budget_bounds, scene

TOKEN = "sk-ant-oat01-0123456789abcdefghij"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Scene]:
    with scene(tmp_path, keys=False, others=lambda url: {"subscription": subscription(url)}) as new_scene:
        yield new_scene


def subscription(url: str) -> Provider:
    return Provider("subscription", url, TOKEN)


def test_the_token_goes_where_a_bearers_goes_with_the_beta_that_it_needs(world: Scene) -> None:
    world.upstream.answers.append(Answer(messages("hi", usage=USAGE)))
    betas = "claude-code-20250219,context-management-2025-06-27"
    for named, sent in ((betas, f"{betas},oauth-2025-04-20"), ("oauth-2025-04-20", "oauth-2025-04-20")):
        world.post(PATHS["messages"] + "?beta=true", ask(), anthropic_beta=named, x_api_key="none")
        got = world.upstream.got[-1]
        assert got.path == "/v1/messages?beta=true"
        assert got.header("authorization") == [f"Bearer {TOKEN}"]
        assert (got.header("anthropic-beta"), got.header("x-api-key")) == ([sent], [])
    world.post(PATHS["messages"], ask())
    assert world.upstream.got[-1].header("anthropic-beta") == ["oauth-2025-04-20"]


def test_tokens_are_counted_dollars_are_those_of_the_price_list_and_that_is_said_once(world: Scene) -> None:
    world.upstream.answers.append(Answer(messages("hi", usage=USAGE, output_tokens=500)))
    for _ in range(2):
        assert world.post(PATHS["messages"], ask()).status == 200
    used = world.ears.wait(Usage, 2)[0]
    listed = price_of(Provider("anthropic", "", ""), CLAUDE).model.id
    assert price_of(subscription(""), CLAUDE).model.id == listed
    assert (used.input_tokens, used.output_tokens, used.usd > 0) == (5000, 500, True)
    assert [warned.text for warned in world.ears.all(Warned)] == [
        "a subscription pays: dollars are an estimate, by the price list"
    ]


def test_the_budget_bounds_a_subscription_as_well(world: Scene) -> None:
    assert_budget_bounds(world)


def test_the_limit_of_tokens_bounds_a_subscription_as_well(world: Scene) -> None:
    world.upstream.answers.append(Answer(messages("hi", usage=USAGE, output_tokens=500)))
    world.open(usd_left=1000.0, tokens_left=5_501)
    assert [world.post(PATHS["messages"], ask()).status for _ in range(3)] == [200, 200, 400]
    assert len(world.upstream.got) == 2
    world.open(usd_left=1000.0, tokens_left=5_500)
    assert [world.post(PATHS["messages"], ask()).status for _ in range(2)] == [200, 400]
    assert len(world.upstream.got) == 3
    assert [call_refusal.kind for call_refusal in world.ears.wait(CallRefusal, 2)] == ["tokens"] * 2


def test_a_token_that_is_refused_is_named_by_its_setting_alone(world: Scene) -> None:
    told = json.dumps({"error": {"message": f"{TOKEN} is only for Claude Code"}}).encode()
    world.upstream.answers.append(Answer((told,), status=401, kind="application/json"))
    reply = world.post(PATHS["messages"], ask())
    (failure,) = world.ears.wait(ProviderFailure)
    assert (reply.status, failure.final) == (401, True)
    assert "check CARDINAL_SUBSCRIPTION_TOKEN" in failure.detail
    assert TOKEN not in reply.body.decode() + failure.detail
    assert redact(f"it is {TOKEN}.") == "it is [redacted]."


def test_only_claude_code_gets_it_and_no_other_protocol(world: Scene) -> None:
    assert [name for name in agents.names() if "subscription" in agents.load(name).secrets] == ["claude"]
    for name in ("responses", "chat", "compatible"):
        assert world.post(PATHS[name], ask("gpt-5")).status == 403
    assert {call_refusal.kind for call_refusal in world.ears.wait(CallRefusal, 3)} == {"key"}
    assert world.upstream.got == []
