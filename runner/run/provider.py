"""Providers of models: where each is, its key and the variable of that, and the operator's prices."""

from collections.abc import Mapping
from dataclasses import dataclass, field

SETTINGS: Mapping[str, str] = {
    "anthropic": "CARDINAL_ANTHROPIC_KEY",
    "openai": "CARDINAL_OPENAI_KEY",
    "compatible": "CARDINAL_COMPATIBLE_KEY",
    "gemini": "CARDINAL_GEMINI_KEY",
    "subscription": "CARDINAL_SUBSCRIPTION_TOKEN",
    "vertex": "CARDINAL_VERTEX_CREDENTIALS",
    "bedrock": "CARDINAL_BEDROCK_SECRET_KEY",
}
# Each counts where its setting is not given.
# Source: platform.claude.com/docs/en/api/client-sdks, developers.openai.com/api/docs/quickstart,
# ai.google.dev/gemini-api/docs/api-key
USUAL: Mapping[str, str] = {
    "CARDINAL_ANTHROPIC_KEY": "ANTHROPIC_API_KEY",
    "CARDINAL_OPENAI_KEY": "OPENAI_API_KEY",
    "CARDINAL_GEMINI_KEY": "GEMINI_API_KEY",
}
_SUBSCRIPTION = (
    "or CARDINAL_SUBSCRIPTION_TOKEN (from `claude setup-token`) and CARDINAL_ALLOW_SUBSCRIPTION=true for a "
    "Claude subscription of your own"
)


@dataclass(frozen=True, slots=True)
class TokenPrice:
    """The operator's price of a model: dollars per million tokens of input and of output."""

    model: str
    input_usd: float
    output_usd: float


@dataclass(frozen=True, slots=True)
class Provider:
    """A model provider: the root URL of its API, and the key that only the gateway knows.

    `prices` are the operator's own, for models of any provider. `variable` is the name that the key was read
    from, where that is not the setting's own.
    """

    name: str
    url: str
    key: str = field(repr=False)
    prices: tuple[TokenPrice, ...] = ()
    variable: str = ""


@dataclass(frozen=True, slots=True)
class VertexProvider(Provider):
    """Google's Vertex AI: `key` is the JSON of a service account's key, or of a person's own login.

    `url` is empty for Google's own address.
    """

    project: str = ""
    region: str = "global"


@dataclass(frozen=True, slots=True)
class BedrockProvider(Provider):
    """Amazon Bedrock: `key` is the secret of `access_key`; both are empty for the machine's own credentials.

    `profile` begins the names of models, like `eu` or `global`. `url` is empty for Amazon's own address.
    """

    region: str = ""
    profile: str = ""
    access_key: str = field(default="", repr=False)


def setting_of(provider: Provider) -> str:
    """Return the variable that the provider's key was read from."""
    return provider.variable or SETTINGS[provider.name]


def how_to_pay(protocol: str, *, subscription: bool = False) -> str:
    """Return which variables pay for models of the protocol; a `subscription` is named where it can pay."""
    setting = SETTINGS[protocol]
    names = f"set {setting} or {USUAL[setting]}" if setting in USUAL else f"set {setting}"
    if protocol == "compatible":
        names += " (any word, if it wants none) and CARDINAL_COMPATIBLE_URL"
    return f"{names}, {_SUBSCRIPTION}" if subscription and protocol == "anthropic" else names
