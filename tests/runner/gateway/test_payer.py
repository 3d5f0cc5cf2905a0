"""Who is paid for an agent's models, as the log of a run says it."""

import pytest

from ledger.events.turn import OWN_LOGIN
from runner import agents
from runner.agents.contract import Metering
from runner.gateway.control.claim import payer
from runner.run.provider import Provider
from tests.runner.agents import acp_partner


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


def test_a_program_with_a_login_of_its_own_is_paid_by_itself() -> None:
    own = acp_partner.agent(Metering.AGENT, provider="")
    assert (payer(own, "default", {}), own.secrets, own.trusted) == (OWN_LOGIN, (), False)
