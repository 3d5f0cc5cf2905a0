"""The API that commands are clients of: its address and the token."""

from bot.cli import CliError, _home
from bot.system.secret import Secret


def api_address() -> tuple[str, Secret]:
    """Return the address and the token. Raises CliError."""
    config = _home.settings()
    url = config.url or config.public_url
    wanted = (
        (url, "CARDINAL_URL to the address of a Cardinal"),
        (
            config.token,
            f"CARDINAL_TOKEN to a token: sign in at {url or 'that address'} and create one on /tokens",
        ),
    )
    missing = [what for text, what in wanted if not text]
    if missing:
        raise CliError(f"set {', and '.join(missing)}")
    return url, config.token
