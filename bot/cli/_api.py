"""The API that commands are clients of: its address and the token."""

from bot.cli import CliError, _home
from bot.system.secret import Secret


def place() -> tuple[str, Secret]:
    """Return the address and the token. Raises CliError."""
    config = _home.settings()
    url = config.url or config.public_url
    missing = [name for name, text in (("CARDINAL_URL", url), ("CARDINAL_TOKEN", config.token)) if not text]
    if missing:
        because = f"{' and '.join(missing)} must be set: the address of a Cardinal, and a token of it"
        raise CliError(f"{because}, which its page /tokens gives")
    return url, config.token
