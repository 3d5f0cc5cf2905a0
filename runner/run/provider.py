"""Providers of models: where each is, the key that only the gateway knows, and prices of the operator's."""

from dataclasses import dataclass, field


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
