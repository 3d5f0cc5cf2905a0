"""Settings of a set-up in `.cardinal/env`, the key beside it; another App's are never overwritten."""

from collections.abc import Mapping
from pathlib import Path

from bot.admin.setup.errors import AnotherAppError, InitError, OverriddenError
from bot.admin.setup.progress import Registered
from bot.system import env_file, private_file
from bot.system.config import Config
from bot.system.env_file import ENV_FILE, PREFIX

WRITTEN = ("APP_ID", "PRIVATE_KEY", "WEBHOOK_SECRET", "WEBHOOKS", "BOARD")
SIGN_IN = ("CLIENT_ID", "CLIENT_SECRET", "PUBLIC_URL")


def put_away(config: Config, app: Registered, *, webhooks: bool, public_url: str) -> None:
    """Store the App's key and make the settings name it: one change of the file, after the key is there.

    Pages are served at `public_url` where the App's client secret is known, with which people sign in.
    Raises UnfitSettingError for a secret that no line can hold.
    """
    key = config.home / f"app-{app.app_id}.pem"
    private_file.write(key, app.private_key)
    values = {"APP_ID": str(app.app_id), "PRIVATE_KEY": key.name, "WEBHOOKS": str(webhooks).lower()}
    if app.webhook_secret:
        values["WEBHOOK_SECRET"] = app.webhook_secret
    if app.client_secret:
        values |= {"CLIENT_ID": app.client_id, "CLIENT_SECRET": app.client_secret, "PUBLIC_URL": public_url}
    elif config.client_id and config.app_id != app.app_id:  # another App's: nobody could sign in with them
        values |= dict.fromkeys(SIGN_IN, "")
    change_settings(config.home, values)


def change_settings(home: Path, values: Mapping[str, str]) -> None:
    """Set `CARDINAL_*` lines of the env file by their short names; the rest of it stays as it is."""
    path = home / ENV_FILE
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    try:
        wanted = env_file.change_text(text, {PREFIX + name: value for name, value in values.items()})
    except ValueError as error:
        raise UnfitSettingError(str(error)) from None
    if wanted != text:
        private_file.write(path, wanted)


def check_app(config: Config, app_id: int, *, replace: bool) -> None:
    """Raise AnotherAppError when the settings belong to another App than `app_id`; 0 is one to be."""
    if config.app_id and config.app_id != app_id and not replace:
        raise AnotherAppError(config.app_id, f"the App {app_id}" if app_id else "a new one")


def check_environment(environ: Mapping[str, str]) -> None:
    """Raise OverriddenError for a variable that would win over the file."""
    for name in (*WRITTEN, *SIGN_IN):
        if environ.get(PREFIX + name):
            raise OverriddenError(PREFIX + name)


class UnfitSettingError(InitError):
    """A value cannot stand in the env file."""

    def __init__(self, because: str) -> None:
        super().__init__(f"{because}: choose one without spaces and quotes")
