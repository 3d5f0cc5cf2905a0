"""Which keys a board's runs are paid with: never those of another owner."""

import asyncio
from pathlib import Path

import pytest

from bot.system import config as configuration
from bot.system import model_keys
from bot.system.config import Config, ConfigError
from runner.gateway.models.protocol import ModelRequest
from runner.gateway.models.routes import payer_of, upstream_of
from runner.gateway.models.upstream import AgentRequest
from runner.run.provider import BedrockProvider, TokenPrice, VertexProvider

BEDROCK = "CARDINAL_BEDROCK_REGION=eu-west-1\nCARDINAL_BEDROCK_PROFILE=eu\n"
ACCESS = "CARDINAL_BEDROCK_ACCESS_KEY=AK{0}\nCARDINAL_BEDROCK_SECRET_KEY=sesame-{0}\n"
TOKEN = "CARDINAL_SUBSCRIPTION_TOKEN=sk-ant-oat01-{0}\n"
ALLOWED = "CARDINAL_ALLOW_SUBSCRIPTION=true\n"


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


def authorization(config: Config, owner: str) -> str:
    """Return what the gateway of one of the owner's runs signs a call of Claude with."""
    provider = payer_of("anthropic", model_keys.providers(config, owner))
    assert provider is not None
    model_request = ModelRequest("claude-opus-5-5", True, 1, {"model": "claude-opus-5-5"}, b"{}", ())
    outgoing = asyncio.run(
        upstream_of(provider).outgoing(AgentRequest("/v1/messages", b"", model_request, ()))
    )
    headers = dict(outgoing.headers)
    return (headers.get(b"authorization") or headers[b"x-api-key"]).decode()


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
    config = config_of(tmp_path, CARDINAL_SHARE_WITH_OWNERS="true", CARDINAL_OPENAI_KEY="sk-of-acme")
    assert keys(config, "BETA") == {"anthropic": "sk-beta", "openai": "sk-open"}
    assert keys(config, "acme") == keys(config, "gamma") == {"anthropic": "sk-acme", "openai": "sk-of-acme"}


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
    provider = model_keys.providers(config, "acme")["anthropic"]
    assert provider == VertexProvider("vertex", "", account, project="acme-1", region="global")
    assert keys(config, "beta") == {}
    config = config_of(tmp_path, CARDINAL_SHARE_WITH_OWNERS="true", **vertex)
    assert model_keys.providers(config, "beta")["anthropic"] == provider
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
        provider = model_keys.providers(config_of(tmp_path, **region, **given), "acme")["anthropic"]
        assert provider == BedrockProvider(
            "bedrock", "", key, region="eu-west-1", profile="eu", access_key=access
        )
    assert keys(config_of(tmp_path, **region), "beta") == {}


def test_a_subscription_is_for_the_operators_own_boards_alone_whatever_is_shared(tmp_path: Path) -> None:
    more = {"CARDINAL_SUBSCRIPTION_TOKEN": "sk-ant-oat01-x", "CARDINAL_ALLOW_SUBSCRIPTION": "true"}
    config = config_of(tmp_path, CARDINAL_ANTHROPIC_KEY="", CARDINAL_SHARE_WITH_OWNERS="true", **more)
    assert keys(config, "acme") == {"subscription": "sk-ant-oat01-x"}
    assert keys(config, "beta") == {}


def test_whatever_an_owner_pays_with_signs_for_that_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKMACHINE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "sesame")
    write(tmp_path, "beta", BEDROCK + ACCESS.format("BETA"))
    write(tmp_path, "gamma", BEDROCK + ACCESS.format("GAMMA"))
    write(tmp_path, "delta", TOKEN.format("delta") + ALLOWED)
    settings = {line.partition("=")[0]: line.partition("=")[2] for line in BEDROCK.splitlines()}
    for way in ({}, {"CARDINAL_ANTHROPIC_KEY": "", **settings}):
        config = config_of(tmp_path, CARDINAL_SHARE_WITH_OWNERS="true", **way)
        assert "Credential=AKBETA/" in authorization(config, "beta")
        assert "Credential=AKGAMMA/" in authorization(config, "Gamma")
        assert authorization(config, "delta") == "Bearer sk-ant-oat01-delta"
        operators = authorization(config, "acme")
        assert operators == "sk-acme" or "Credential=AKMACHINE/" in operators
        assert authorization(config, "epsilon").partition(", ")[0] == operators.partition(", ")[0]
    with pytest.raises(AssertionError):
        authorization(config_of(tmp_path, **way), "epsilon")


def test_an_owners_account_at_google_stands_in_its_file_or_beside_it(tmp_path: Path) -> None:
    account = '{"type": "service_account"}'
    (tmp_path / "beta.json").write_text(account)
    for given in (f"'{account}'", "beta.json"):
        lines = (
            f"CARDINAL_VERTEX_PROJECT=beta-1\nCARDINAL_VERTEX_CREDENTIALS={given}\nCARDINAL_PRICES=m=1/2\n"
        )
        write(tmp_path, "beta", lines)
        config = config_of(tmp_path, CARDINAL_OPENAI_KEY="sk-open", CARDINAL_SHARE_WITH_OWNERS="true")
        made = model_keys.providers(config, "beta")
        prices = (TokenPrice("m", 1, 2),)
        assert made["anthropic"] == VertexProvider("vertex", "", account, prices, project="beta-1")
        assert (made["openai"].key, made["openai"].prices) == ("sk-open", ())


def test_an_owners_file_names_no_account_of_the_operator(tmp_path: Path) -> None:
    (tmp_path / "acme.json").write_text('{"type": "service_account"}')
    lines = "CARDINAL_VERTEX_PROJECT=acme-1\nCARDINAL_VERTEX_CREDENTIALS=acme.json\n"
    write(tmp_path, "beta", lines)
    (tmp_path / "env").write_text(lines)
    config = config_of(tmp_path, CARDINAL_ANTHROPIC_KEY="")
    with pytest.raises(ConfigError, match=r"beta\.env: CARDINAL_VERTEX_CREDENTIALS are the operator's"):
        model_keys.providers(config, "beta")
    assert model_keys.providers(config, "acme").keys() == {"anthropic"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BEDROCK, "this machine's own credentials of AWS would sign, and they are the operator's: set"),
        ("CARDINAL_BEDROCK_REGION=eu-west-1\n", "CARDINAL_BEDROCK_PROFILE belong together"),
        ("CARDINAL_BEDROCK_REGION='no region'\n", "CARDINAL_BEDROCK_REGION: "),
        (BEDROCK + "CARDINAL_ANTHROPIC_KEY=sesame\n", "would each pay for Anthropic's models: set only one"),
        (TOKEN.format("sesame"), "set CARDINAL_ALLOW_SUBSCRIPTION=true"),
        ("CARDINAL_VERTEX_PROJECT=beta-1\nCARDINAL_VERTEX_CREDENTIALS=no.json\n", "a readable JSON file"),
        ("CARDINAL_COMPATIBLE_KEY=sesame\n", "without CARDINAL_COMPATIBLE_URL: set both"),
        (
            "CARDINAL_VERTEX_PROJECT=b\nCARDINAL_VERTEX_CREDENTIALS=../sesame.json\n",
            "CARDINAL_VERTEX_CREDENTIALS points outside the home",
        ),
        (
            "CARDINAL_VERTEX_PROJECT=b\nCARDINAL_VERTEX_CREDENTIALS=/etc/sesame.json\n",
            "CARDINAL_VERTEX_CREDENTIALS points outside the home",
        ),
        ("sesame+x==\n", "a setting's name before its `=`"),
        ("CARDINAL_HOME=sesame\n", "CARDINAL_HOME is not a setting that pays for models"),
        ("CARDINAL_OPENA_KEY=sesame\n", "did you mean CARDINAL_OPENAI_KEY?"),
    ],
)
def test_a_file_that_is_half_filled_says_what_to_do_and_pays_for_nothing(
    tmp_path: Path, text: str, said: str
) -> None:
    write(tmp_path, "beta", text)
    token = {"CARDINAL_ALLOW_SUBSCRIPTION": "true"}  # the operator's word, not the owner's
    with pytest.raises(ConfigError, match=r"beta\.env: ") as caught:
        model_keys.providers(config_of(tmp_path, **token), "beta")
    assert said in str(caught.value)
    assert "sesame" not in str(caught.value)


def test_nothing_but_payment_stands_in_an_owners_file() -> None:
    payers = ("anthropic", "subscription", "vertex", "bedrock", "openai", "compatible", "gemini")
    others = {name for name in configuration.OF_OWNERS if name.partition("_")[0] not in payers}
    assert others == {"allow_subscription", "prices"}


def test_an_owners_file_knows_the_usual_names_and_none_of_the_operators(tmp_path: Path) -> None:
    write(tmp_path, "beta", "ANTHROPIC_API_KEY=sk-beta\n")
    config = config_of(tmp_path, OPENAI_API_KEY="sk-of-acme")
    assert keys(config, "beta") == {"anthropic": "sk-beta"}
    assert model_keys.providers(config, "beta")["anthropic"].variable == "ANTHROPIC_API_KEY"
