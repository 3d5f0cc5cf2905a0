"""The API that commands are clients of: its address and the token."""

import os
from pathlib import Path

from bot.cli import CliError
from bot.system.env_file import PREFIX, given_settings


def api_address() -> tuple[str, str]:
    """Return the address and the token, without reading any other setting. Raises CliError."""
    given = given_settings(os.environ, Path.cwd())
    if given.mistakes:
        raise CliError("; ".join(given.mistakes))
    url, public_url, token = (given.texts.get(PREFIX + name, "") for name in ("URL", "PUBLIC_URL", "TOKEN"))
    url = url or public_url
    wanted = (
        (url, "CARDINAL_URL to the address of a Cardinal"),
        (
            token,
            f"CARDINAL_TOKEN to a token: sign in at {url or 'that address'} and create one on /tokens",
        ),
    )
    missing = [what for text, what in wanted if not text]
    if missing:
        raise CliError(f"set {', and '.join(missing)}")
    if not url.startswith(("http://", "https://")):
        raise CliError("CARDINAL_URL begins with http:// or https://: set it to the address of a Cardinal")
    return url.rstrip("/"), token
