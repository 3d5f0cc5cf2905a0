"""Who is paid for an agent's models, as the log of a run says it."""

import pytest

from runner import agents
from runner.gateway.control.claim import payer
from runner.run.provider import Provider


@pytest.mark.parametrize(
    ("agent", "model", "keys", "paid"),
    [
        ("claude", "default", ("anthropic", "subscription"), "anthropic"),
        ("claude", "default", ("openai", "subscription"), "subscription"),
        ("codex", "default", ("openai", "subscription"), "openai"),
        ("opencode", "anthropic/claude-x", ("subscription",), ""),
        ("scripted", "default", ("anthropic", "subscription"), ""),
    ],
)
def test_the_provider_that_is_paid_is_named(agent: str, model: str, keys: tuple[str, ...], paid: str) -> None:
    providers = {name: Provider(name, "https://provider.example", "key") for name in keys}
    assert payer(agents.load(agent), model, providers) == paid
