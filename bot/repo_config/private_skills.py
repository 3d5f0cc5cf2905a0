"""Private skills: the operator's folder, and each board owner's own; no owner reads another's."""

from pathlib import Path

from bot.system.config import Config
from bot.system.model_keys import operators
from rules.policy.roles import LOGIN

FOLDER = "skills"  # in the home: a folder OWNER for each owner, in lower case


def folders(config: Config, owner: str) -> tuple[Path, ...]:
    """Return the folders of a board of `owner`; a skill of a later one replaces one of the same name."""
    shared = (config.skills,) if config.skills is not None and operators(config, owner) else ()
    own = config.home / FOLDER / owner.casefold()
    return (*shared, own) if LOGIN.fullmatch(owner) and own.is_dir() else shared
