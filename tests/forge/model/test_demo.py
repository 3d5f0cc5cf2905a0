"""The demo with a real agent: the board's policy names it, and every provider is the scripted model."""

from pathlib import Path

import pytest
import requests
import yaml

from forge.demo.launch import MODEL_KEY, agents, model_for, settings_of_model
from forge.seed import load
from forge.seed.demo import policy
from forge.web.server import Forge


@pytest.mark.parametrize("agent", agents())
def test_the_policy_of_the_demo_names_the_agent(tmp_path: Path, agent: str) -> None:
    forge = Forge(tmp_path)
    try:
        load(forge.store, "demo", agent=agent)
        home = forge.store.repos.get("acme", "board")
        written = forge.store.repos.git(home).read("main", ".github/cardinal.yml")
    finally:
        forge.stop()
    assert written is not None
    columns = yaml.safe_load(written)["board"]["columns"]
    assert [columns[name]["agent"] for name in ("Planning", "In Progress")] == [agent] * 2
    models = [columns[name]["model"] for name in ("Planning", "In Progress")]
    assert models == (["shop", "shop"] if agent == "scripted" else ["small", "default"])


def test_only_real_agents_get_a_model_and_it_takes_the_demos_key_alone(tmp_path: Path) -> None:
    with model_for("scripted", tmp_path) as model:
        assert model is None
    with model_for("claude", tmp_path) as model:
        assert model is not None
        settings = settings_of_model(model)
        body = {"model": "m", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 10}
        url = settings["CARDINAL_ANTHROPIC_URL"] + "/v1/messages"
        paid = {"x-api-key": settings["CARDINAL_ANTHROPIC_KEY"]}
        assert requests.post(url, json=body, timeout=60).status_code == 401
        assert requests.post(url, json=body, headers=paid, timeout=60).status_code == 200
    assert {text for name, text in settings.items() if name.endswith("_KEY")} == {MODEL_KEY}
    assert MODEL_KEY not in (tmp_path / "model-requests.jsonl").read_text()


def test_a_policy_differs_only_in_who_works() -> None:
    swapped = policy("codex").replace("codex", "claude")
    assert swapped == policy("claude")
