"""What Cardinal gets of a person's environment: by which models are paid, and no other setting."""

from pathlib import Path

import pytest

from bot.system.env_file import parse_env
from forge.demo import launch
from forge.portable.__main__ import environment_of
from runner.run.provider import USUAL

PAID = {
    "CARDINAL_ANTHROPIC_KEY": "sk-1",
    "CARDINAL_COMPATIBLE_URL": "http://127.0.0.1:1",
    "CARDINAL_SUBSCRIPTION_TOKEN": "sk-ant-oat",
    "CARDINAL_ALLOW_SUBSCRIPTION": "true",
    "CARDINAL_VERTEX_PROJECT": "p",
    "CARDINAL_BEDROCK_REGION": "eu",
    "CARDINAL_PRICES": "m=1/2",
}
OTHERS = {
    "ANTHROPIC_AUTH_TOKEN": "t",
    "GITHUB_TOKEN": "t",
    "CARDINAL_HOME": "/elsewhere",
    "CARDINAL_PORT": "1",
    "CARDINAL_OPENAI_KEY": "",
}


def test_ways_to_pay_come_along_and_settings_of_another_cardinal_do_not() -> None:
    usual = dict.fromkeys(USUAL.values(), "sk-usual")
    given = environment_of({**PAID, **OTHERS, **usual})
    keys = ("CARDINAL_", "ANTHROPIC_", "OPENAI_", "GEMINI_", "GITHUB_")
    assert {name: text for name, text in given.items() if name.startswith(keys)} == PAID | usual


@pytest.mark.parametrize("text", ["a b", "it's #1 $HOME", 'a"b\\', "é\r\n", "/tmp/shop"])
def test_a_folder_of_any_name_is_a_setting_on_one_line(tmp_path: Path, text: str) -> None:
    registered = dict.fromkeys(
        ("app_id", "pem", "webhook_secret", "client_id", "client_secret", "project"), "x"
    )
    for _ in range(2):
        launch.write_settings(tmp_path, "http://127.0.0.1:1", 2, registered, {"CARDINAL_SCENARIOS": text})
    assert parse_env((tmp_path / "env").read_text())["CARDINAL_SCENARIOS"] == text
