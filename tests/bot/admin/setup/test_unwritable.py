"""A set-up whose files cannot be written says so, and loses nothing."""

import requests

from tests.bot.admin.setup.conftest import WAIT_S, Town
from tests.bot.admin.setup.test_init import HOOK


def test_an_app_is_not_lost_when_its_settings_cannot_be_written(town: Town) -> None:
    running = town.init(*HOOK)
    page = running.page
    (town.home / "env").mkdir(parents=True)
    requests.get(town.agree(page), timeout=WAIT_S, allow_redirects=False)
    code, said = running.end()
    assert (code, "Traceback" in said) == (2, False), said
    assert "env: Is a directory: fix that, then run `cardinal init` again" in said
    (town.home / "env").rmdir()
    again = town.init(*HOOK)
    again.until("continuing with the App")
    again.until("install the App")
    assert town.settings["CARDINAL_APP_ID"] == str(town.app.id)
    again.kill()
