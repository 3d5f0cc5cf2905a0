"""`cardinal init` where the App is switched off, and where the home lies in a repository."""

from tests.bot.admin.setup.conftest import Town
from tests.bot.admin.setup.test_init import HOOK, finished


def test_an_app_that_is_suspended_is_not_taken_for_installed(town: Town) -> None:
    app, pem = town.forge.store.apps.register(town.acme, "Mine", "mine")
    installed = town.forge.store.apps.install(app, town.acme, actor=town.alice)
    town.forge.store.access.suspend(installed, actor=town.alice)
    (town.root / "mine.pem").write_text(pem)
    code, said = town.ends("--org", "acme", "--existing", str(app.id), "--key", "mine.pem", "--poll")
    assert code != 0
    assert "an owner lifts it at" in said


def test_a_home_inside_a_git_repository_is_hidden_from_it(town: Town) -> None:
    (town.root / ".git").mkdir()
    finished(town, *HOOK)
    assert "/.cardinal/" in (town.root / ".git" / "info" / "exclude").read_text().splitlines()
