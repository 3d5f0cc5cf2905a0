"""Which keys a board's runs are paid with: never those of another owner."""

from pathlib import Path

import pytest

from bot.system import config as configuration
from bot.system import model_keys
from bot.system.config import Config, ConfigError
from runner.run.provider import BedrockProvider, VertexProvider


def config_of(home: Path, **more: str) -> Config:
    """Return the settings of an operator whose board is acme's, with a key of Anthropic."""
    given = {"CARDINAL_HOME": str(home), "CARDINAL_BOARD": "acme/1", "CARDINAL_ANTHROPIC_KEY": "sk-acme"}
    return configuration.read(given | more, home)


def write(home: Path, owner: str, text: str) -> None:
    """Write the owner's file of keys."""
    (home / model_keys.FOLDER).mkdir(exist_ok=True)
    (home / model_keys.FOLDER / f"{owner}.env").write_text(text)


def keys(config: Config, owner: str) -> dict[str, str]:
    """Return the owner's keys by provider."""
    return {name: provider.key for name, provider in model_keys.providers(config, owner).items()}


def test_the_operators_keys_are_for_the_first_boards_owner_alone(tmp_path: Path) -> None:
    config = config_of(tmp_path)
    assert keys(config, "Acme") == {"anthropic": "sk-acme"}
    assert keys(config, "beta") == {}
    assert not model_keys.operators(config, "beta")


def test_other_owners_use_them_once_the_operator_shares_them(tmp_path: Path) -> None:
    config = config_of(tmp_path, CARDINAL_SHARE_WITH_OWNERS="true")
    assert keys(config, "beta") == {"anthropic": "sk-acme"}


def test_an_owner_pays_with_its_own_keys_and_no_other_does(tmp_path: Path) -> None:
    write(tmp_path, "beta", "CARDINAL_ANTHROPIC_KEY=sk-beta\nCARDINAL_OPENAI_KEY=sk-open\n")
    config = config_of(tmp_path, CARDINAL_SHARE_WITH_OWNERS="true")
    assert keys(config, "BETA") == {"anthropic": "sk-beta", "openai": "sk-open"}
    assert keys(config, "acme") == keys(config, "gamma") == {"anthropic": "sk-acme"}


@pytest.mark.parametrize("owner", ["../keys/beta", "", ".", "beta/../beta", "be\0ta"])
def test_no_login_leads_to_another_owners_file(tmp_path: Path, owner: str) -> None:
    write(tmp_path, "beta", "CARDINAL_ANTHROPIC_KEY=sk-beta\n")
    assert keys(config_of(tmp_path), owner) == {}


@pytest.mark.parametrize("text", ["CARDINAL_PRIVATE_KEY=sk-beta\n", "sk-beta\n"])
def test_a_wrong_file_is_named_without_its_values(tmp_path: Path, text: str) -> None:
    write(tmp_path, "beta", text)
    with pytest.raises(ConfigError, match=r"beta\.env") as caught:
        model_keys.providers(config_of(tmp_path), "beta")
    assert "sk-beta" not in str(caught.value)


def test_an_account_at_google_pays_for_those_who_share_it_and_have_no_own_key(
    tmp_path: Path,
) -> None:
    account = '{"type": "service_account"}'
    vertex = {"CARDINAL_VERTEX_PROJECT": "acme-1", "CARDINAL_VERTEX_CREDENTIALS": account}
    vertex["CARDINAL_ANTHROPIC_KEY"] = ""
    config = config_of(tmp_path, **vertex)
    payer = model_keys.providers(config, "acme")["anthropic"]
    assert payer == VertexProvider("vertex", "", account, project="acme-1", region="global")
    assert keys(config, "beta") == {}
    config = config_of(tmp_path, CARDINAL_SHARE_WITH_OWNERS="true", **vertex)
    assert model_keys.providers(config, "beta")["anthropic"] == payer
    write(tmp_path, "beta", "CARDINAL_ANTHROPIC_KEY=sk-beta\n")
    assert keys(config, "beta") == {"anthropic": "sk-beta"}


def test_bedrock_pays_by_an_access_key_or_the_machines_own(tmp_path: Path) -> None:
    region = {
        "CARDINAL_ANTHROPIC_KEY": "",
        "CARDINAL_BEDROCK_REGION": "eu-west-1",
        "CARDINAL_BEDROCK_PROFILE": "eu",
    }
    secrets = {"CARDINAL_BEDROCK_ACCESS_KEY": "AK", "CARDINAL_BEDROCK_SECRET_KEY": "s"}
    for given, key, access in (({}, "", ""), (secrets, "s", "AK")):
        payer = model_keys.providers(config_of(tmp_path, **region, **given), "acme")["anthropic"]
        assert payer == BedrockProvider(
            "bedrock", "", key, region="eu-west-1", profile="eu", access_key=access
        )
    assert keys(config_of(tmp_path, **region), "beta") == {}


def test_a_subscription_is_for_the_operators_own_boards_alone_whatever_is_shared(tmp_path: Path) -> None:
    more = {"CARDINAL_SUBSCRIPTION_TOKEN": "sk-ant-oat01-x", "CARDINAL_ALLOW_SUBSCRIPTION": "true"}
    config = config_of(tmp_path, CARDINAL_ANTHROPIC_KEY="", CARDINAL_SHARE_WITH_OWNERS="true", **more)
    assert keys(config, "acme") == {"subscription": "sk-ant-oat01-x"}
    assert keys(config, "beta") == {}
