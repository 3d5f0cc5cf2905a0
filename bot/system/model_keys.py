"""Keys of model providers: the operator's, and each board owner's own; no owner pays for another's."""

from pathlib import Path

from bot.system.config import PREFIX, Config, ConfigError
from bot.system.env_file import read_lines
from rules.policy.roles import LOGIN
from runner.run.provider import BedrockProvider, Provider, VertexProvider

FOLDER = "keys"  # in the home: a file OWNER.env for each owner, in lower case
NAMES = ("anthropic", "openai", "compatible")


def providers(config: Config, owner: str) -> dict[str, Provider]:
    """Return the providers that a board of `owner` may call, by whose protocol they speak: those with a key.

    The owner's own keys come first. The operator's are for the owner of CARDINAL_BOARD, and for others only
    with CARDINAL_SHARE_WITH_OWNERS. Raises ConfigError, without any value, for a file that cannot be read.
    """
    own, shared = _own(config, owner), operators(config, owner)
    known = (
        ("anthropic", config.anthropic_key, config.anthropic_url),
        ("openai", config.openai_key, config.openai_url),
        ("compatible", config.compatible_key, config.compatible_url),
    )
    made: dict[str, Provider] = {}
    for name, secret, usual in known:
        key = own.get(f"{PREFIX}{name.upper()}_KEY")
        url = (own.get(f"{PREFIX}{name.upper()}_URL") if key else "") or usual
        key = key or (secret.reveal() if shared else "")
        if key and url:
            made[name] = Provider(name, url, key, config.prices)
    if "anthropic" not in made and shared and (other := _instead(config)):
        made["anthropic"] = other
    if config.subscription_token and _is_operators(config, owner):  # a person's own: never shared
        token = config.subscription_token.reveal()
        made["subscription"] = Provider("subscription", config.anthropic_url, token, config.prices)
    return made


def _is_operators(config: Config, owner: str) -> bool:
    return owner.casefold() == config.board.owner.casefold()


def _instead(config: Config) -> Provider | None:
    """Return the provider that is paid for Anthropic's models in its place, or None."""
    if config.vertex_project:
        key = config.vertex_credentials.reveal()
        place = {"project": config.vertex_project, "region": config.vertex_region}
        return VertexProvider("vertex", config.vertex_url, key, config.prices, **place)
    if config.bedrock_region:
        return BedrockProvider(
            "bedrock",
            config.bedrock_url,
            config.bedrock_secret_key.reveal(),
            config.prices,
            region=config.bedrock_region,
            profile=config.bedrock_profile,
            access_key=config.bedrock_access_key,
        )
    return None


def operators(config: Config, owner: str) -> bool:
    """Tell whether a board of `owner` may use the operator's keys and private skills."""
    return config.share_with_owners or _is_operators(config, owner)


def file_of(config: Config, owner: str) -> Path:
    """Return the file of the owner's keys, there or not."""
    return config.home / FOLDER / f"{owner.casefold()}.env"


def _own(config: Config, owner: str) -> dict[str, str]:
    if not LOGIN.fullmatch(owner):  # no login leads out of the folder
        return {}
    path = file_of(config, owner)
    lines, mistakes = read_lines(path)
    if mistakes:
        raise ConfigError(tuple(mistakes))
    known = {f"{PREFIX}{name.upper()}_{kind}" for name in NAMES for kind in ("KEY", "URL")}
    if lines.keys() - known:
        raise ConfigError((f"{path} may hold {', '.join(sorted(known))}, and holds other names",))
    return lines
