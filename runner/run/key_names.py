"""Variables that providers' keys are read from: Cardinal's settings, and the names people have already."""

from collections.abc import Mapping

from runner.run.provider import Provider

SETTINGS: Mapping[str, str] = {
    "anthropic": "CARDINAL_ANTHROPIC_KEY",
    "openai": "CARDINAL_OPENAI_KEY",
    "compatible": "CARDINAL_COMPATIBLE_KEY",
    "subscription": "CARDINAL_SUBSCRIPTION_TOKEN",
    "vertex": "CARDINAL_VERTEX_CREDENTIALS",
    "bedrock": "CARDINAL_BEDROCK_SECRET_KEY",
}
# Each counts where its setting is not given.
# Source: platform.claude.com/docs/en/api/client-sdks, developers.openai.com/api/docs/quickstart
USUAL: Mapping[str, str] = {
    "CARDINAL_ANTHROPIC_KEY": "ANTHROPIC_API_KEY",
    "CARDINAL_OPENAI_KEY": "OPENAI_API_KEY",
}
_SUBSCRIPTION = (
    "or CARDINAL_SUBSCRIPTION_TOKEN (from `claude setup-token`) and CARDINAL_ALLOW_SUBSCRIPTION=true for a "
    "Claude subscription of your own"
)


def setting_of(provider: Provider) -> str:
    """Return the variable that the provider's key was read from."""
    return provider.variable or SETTINGS[provider.name]


def how_to_pay(protocol: str, *, subscription: bool = False) -> str:
    """Return which variables pay for models of the protocol; a `subscription` is named where it can pay."""
    setting = SETTINGS[protocol]
    names = f"set {setting} or {USUAL[setting]}" if setting in USUAL else f"set {setting}"
    return f"{names}, {_SUBSCRIPTION}" if subscription and protocol == "anthropic" else names
