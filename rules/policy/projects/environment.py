"""What Cardinal does with files of a repository that say which programs its work needs."""

from collections.abc import Collection, Iterator, Mapping

from rules.errors import PolicyError
from rules.policy.images import DEVCONTAINER
from rules.policy.projects import devcontainer
from rules.text import code

_TOOLS = ("mise.toml", ".mise.toml", ".tool-versions")
_FLAKE = "flake.nix"
_ELSE = "name an image that has these programs as `image:`, or install them in `setup:`"


def describe_environment(names: Collection[str], texts: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each such file; `texts` has that of the devcontainer file that counts."""
    for name in _TOOLS:
        if name in names:
            yield f"{code(name)}: Cardinal installs no tools from it; {_ELSE}."
    if _FLAKE in names:
        yield f"{code(_FLAKE)}: Cardinal runs no Nix; {_ELSE}."
    found = devcontainer.find_devcontainers(names)
    chosen = devcontainer.choose_devcontainer(names)
    if found and not chosen:
        listed = ", ".join(map(code, found))
        yield f"{listed}: none of them counts; put the one for agents at {code(devcontainer.DEFAULTS[0])}."
    if chosen:
        yield _describe(chosen, texts.get(chosen, ""))


def _describe(path: str, text: str) -> str:
    try:
        said = devcontainer.describe_devcontainer(devcontainer.parse_devcontainer(path, text))
    except PolicyError as error:
        return f"{error.problems[0]}. It does not count."
    return f"{said} It counts where the policy has no `image:` and the operator lists {code(DEVCONTAINER)}."
