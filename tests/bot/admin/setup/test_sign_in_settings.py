"""What `cardinal init` puts into the settings so that people can sign in on Cardinal's pages."""

from pathlib import Path

import pytest

from bot.admin.setup import settings
from bot.admin.setup.errors import MissingWishError
from bot.admin.setup.progress import Registered
from bot.cli.init import _public
from bot.system import config as configuration
from bot.system import env_file

OURS = Registered(1, "ours", "p", "-----BEGIN x", "hook", "Iv1", "hush")
OTHER = Registered(2, "other", "p", "-----BEGIN y", "hook")


def put(home: Path, app: Registered, public_url: str) -> dict[str, str]:
    """Put an App away; return what the settings say of signing in."""
    settings.put_away(configuration.read({}, home.parent), app, webhooks=True, public_url=public_url)
    lines = env_file.parse_env((home / "env").read_text(encoding="utf-8"))
    return {name: lines.get(f"CARDINAL_{name}", "") for name in settings.SIGN_IN}


def test_the_apps_secret_and_the_address_are_kept_together(tmp_path: Path) -> None:
    home = tmp_path / ".cardinal"
    ours = {"CLIENT_ID": "Iv1", "CLIENT_SECRET": "hush", "PUBLIC_URL": "https://cardinal.example.com"}
    assert put(home, OURS, "https://cardinal.example.com") == ours
    assert configuration.read({}, tmp_path).public_url == "https://cardinal.example.com"
    same = Registered(1, "ours", "p", "-----BEGIN x", "hook")  # by hand: GitHub does not say its secret again
    assert put(home, same, "https://elsewhere.example") == ours
    assert set(put(home, OTHER, "https://cardinal.example.com").values()) == {""}
    assert configuration.read({}, tmp_path).public_url == ""


@pytest.mark.parametrize(
    ("given", "webhook", "found"),
    [
        ("", "https://cardinal.example.com", "https://cardinal.example.com"),
        ("", "https://cardinal.example.com:8443/webhooks/github", "https://cardinal.example.com:8443"),
        ("", "https://relay.example/abc", ""),
        ("", "https://relay.example/?id=3", ""),
        ("", "", ""),
        ("http://10.0.0.5:8484/", "https://relay.example/abc", "http://10.0.0.5:8484"),
    ],
)
def test_the_address_is_the_webhooks_unless_that_is_a_relays(given: str, webhook: str, found: str) -> None:
    assert _public(given, webhook) == found


@pytest.mark.parametrize(
    "given", ["cardinal.example.com", "https://a.example/x", "https://u@a.example", "ftp://a"]
)
def test_an_address_that_is_none_is_refused(given: str) -> None:
    with pytest.raises(MissingWishError, match="--public"):
        _public(given, "")
