"""Guides of a repository: CLAUDE.md and AGENTS.md of its default branch, where its policy asks for them."""

from bot.github.api import contents
from bot.github.client import Hub
from rules.policy.repository import GUIDES, RepositoryRules
from runner.run.instructions import Layer, LayerKind, own_layer
from runner.text.visible import strip_hidden

GUIDE_BYTES = 16_000


def layers(hub: Hub, repository: str, commit: str, rules: RepositoryRules) -> tuple[Layer, ...]:
    """Return a layer for each guide of the policy, as its page shows it; of two equal ones the first.

    Raises a GithubError when GitHub does not answer.
    """
    files = {
        layer.digest: layer
        for name in reversed(rules.guides)
        for layer in (own_layer(LayerKind.GUIDE, name, name, _text(hub, repository, name, commit)),)
    }
    return tuple(reversed(files.values()))


def unread(hub: Hub, repository: str, commit: str, rules: RepositoryRules) -> tuple[str, ...]:
    """Return the existing guides that the policy does not name: no agent gets them."""
    others = (name for name in GUIDES if name not in rules.guides)
    files = (
        (name, contents.content(hub, repository, name, commit, most_bytes=GUIDE_BYTES)) for name in others
    )
    return tuple(name for name, raw in files if raw is not None)


def _text(hub: Hub, repository: str, name: str, commit: str) -> str:
    raw = contents.content(hub, repository, name, commit, most_bytes=GUIDE_BYTES)
    if raw is None:
        return f"({name} is not there, or larger than {GUIDE_BYTES:,} bytes, and was left out.)"
    return strip_hidden(raw.decode("utf-8", "replace"), paths=True)
