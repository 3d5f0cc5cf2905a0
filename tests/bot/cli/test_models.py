"""`cardinal models` lists what the keys pay for, with the prices by which the gateway counts."""

import json

import pytest

from bot.system.config import Config
from tests.bot.cli.conftest import Cardinal
from tests.runner.agents.test_program_file import OWN, write


def test_the_models_of_the_keys_that_are_set_are_listed_with_their_prices(
    cardinal: Cardinal, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANTHROPIC_KEY", "OPENAI_KEY", "COMPATIBLE_KEY", "COMPATIBLE_URL"):
        monkeypatch.delenv(f"CARDINAL_{name}", raising=False)
    assert "set a provider's key" in cardinal("models").stdout
    monkeypatch.setenv("GEMINI_API_KEY", "k")
    monkeypatch.setenv("CARDINAL_ANTHROPIC_KEY", "k")
    monkeypatch.setenv("CARDINAL_PRICES", "my-model=0.60/2.50")
    write(config.agents, OWN.replace("compatible", "anthropic").replace("big", "claude-opus-5-5"))
    write(config.agents, "broken", "other")
    listed = {(it["provider"], it["model"]): it for it in json.loads(cardinal("models", "--json").stdout)}
    assert {provider for provider, _ in listed} == {"anthropic", "gemini"}
    flash, opus = listed["gemini", "gemini-3.1-pro-preview"], listed["anthropic", "claude-opus-5-5"]
    assert (flash["input_usd"], flash["output_usd"], flash["own"]) == (
        pytest.approx(2),
        pytest.approx(12),
        False,
    )
    assert opus["agents"] == ["claude default", "mine default"]
    said = cardinal("models", "MY-").stdout.splitlines()
    assert [line.split() for line in said[1:]] == [
        ["anthropic", "my-model", "$0.60", "$2.50", "yes"],
        ["gemini", "my-model", "$0.60", "$2.50", "yes"],
    ]
    assert "no model has x-y-z in its name" in cardinal("models", "x-y-z").stdout
