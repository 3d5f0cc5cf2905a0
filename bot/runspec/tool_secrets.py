"""Secrets of tool servers, as the operator gives them to one repository."""

from bot.system.config import Config, ConfigError
from bot.system.env_file import read_lines

FOLDER = "tool-secrets"  # in the home: a file OWNER/REPOSITORY.env for each repository, in lower case


def tool_secrets(config: Config, repository: str) -> dict[str, str]:
    """Return the secrets by name that tool servers of `repository` may have; none without a file.

    Raises ConfigError, without any value, for a file that cannot be read.
    """
    path = config.home / FOLDER / f"{repository.casefold()}.env"
    if ".." in path.parts:
        return {}
    values, mistakes = read_lines(path)
    if mistakes:
        raise ConfigError(tuple(mistakes))
    return values
