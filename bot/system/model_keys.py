"""Keys of model providers: the operator's, and each board owner's own; no owner pays for another's."""

from pathlib import Path

from bot.system.config import Config, ConfigError, read_owners
from rules.policy.roles import LOGIN
from runner.run.provider import BedrockProvider, Provider, VertexProvider

FOLDER = "keys"  # in the home: a file OWNER.env for each owner, in lower case
NAMES = ("anthropic", "openai", "compatible", "gemini")
CLAUDE = {"anthropic", "subscription"}
MACHINES = (
    "without an access key, this machine's own credentials of AWS would sign, and they are the operator's: "
    "set CARDINAL_BEDROCK_ACCESS_KEY and CARDINAL_BEDROCK_SECRET_KEY"
)

ACCOUNT = "CARDINAL_VERTEX_CREDENTIALS are the operator's: name those of the owner's account"


def providers(config: Config, owner: str) -> dict[str, Provider]:
    """Return the providers that a board of `owner` may call, by whose protocol they speak: those with a key.

    The owner's own keys come first. The operator's are for the owner of CARDINAL_BOARD, and for others only
    with CARDINAL_SHARE_WITH_OWNERS. Raises ConfigError, without any value, for a file that cannot be read.
    """
    made = _own(config, owner)
    if not operators(config, owner):
        return made
    others = _list_paid(config)
    if made.keys() & CLAUDE:  # one way to pay for Anthropic's models
        others = {name: provider for name, provider in others.items() if name not in CLAUDE}
    elif not _is_operators(config, owner):
        others.pop("subscription", None)  # a person's own: never shared
    return others | made


def _is_operators(config: Config, owner: str) -> bool:
    return owner.casefold() == config.board.owner.casefold()


def _list_paid(config: Config) -> dict[str, Provider]:
    """Return the providers that these settings pay for, one at most for Anthropic's models."""
    known = (
        ("anthropic", config.anthropic_key, config.anthropic_url),
        ("subscription", config.subscription_token, config.anthropic_url),
        ("openai", config.openai_key, config.openai_url),
        ("compatible", config.compatible_key, config.compatible_url),
        ("gemini", config.gemini_key, config.gemini_url),
    )
    made = {
        name: Provider(name, url, key.reveal(), config.prices, key.variable)
        for name, key, url in known
        if key and url
    }
    if config.vertex_project:
        key = config.vertex_credentials.reveal()
        place = {"project": config.vertex_project, "region": config.vertex_region}
        made["anthropic"] = VertexProvider("vertex", config.vertex_url, key, config.prices, **place)
    if config.bedrock_region:
        made["anthropic"] = BedrockProvider(
            "bedrock",
            config.bedrock_url,
            config.bedrock_secret_key.reveal(),
            config.prices,
            region=config.bedrock_region,
            profile=config.bedrock_profile,
            access_key=config.bedrock_access_key,
        )
    return made


def operators(config: Config, owner: str) -> bool:
    """Tell whether a board of `owner` may use the operator's keys and private skills."""
    return config.share_with_owners or _is_operators(config, owner)


def file_of(config: Config, owner: str) -> Path:
    """Return the file of the owner's keys, there or not."""
    return config.home / FOLDER / f"{owner.casefold()}.env"


def _own(config: Config, owner: str) -> dict[str, Provider]:
    if not LOGIN.fullmatch(owner):  # no login leads out of the folder
        return {}
    path = file_of(config, owner)
    own_config = read_owners(config, path)
    if operators(config, owner):
        return _list_paid(own_config)
    if (
        own_config.vertex_credentials
        and own_config.vertex_credentials.reveal() == config.vertex_credentials.reveal()
    ):
        raise ConfigError((f"{path}: {ACCOUNT}",))
    if own_config.bedrock_region and not own_config.bedrock_access_key:
        raise ConfigError((f"{path}: {MACHINES}",))
    return _list_paid(own_config)
