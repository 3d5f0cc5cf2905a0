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
    assert "have an owner unsuspend it at" in said


def test_a_home_inside_a_git_repository_is_hidden_from_it(town: Town) -> None:
    (town.root / ".git").mkdir()
    finished(town, *HOOK)
    assert "/.cardinal/" in (town.root / ".git" / "info" / "exclude").read_text().splitlines()


def test_another_board_is_served_beside_the_first(town: Town) -> None:
    finished(town, *HOOK)
    second = town.forge.store.projects.create(town.acme, "Second", ["Todo", "Done"], actor=town.alice)
    assert town.does("boards", "add", "acme/1") == (
        0,
        "Cardinal serves acme/1; its policy is in acme/board\n",
    )
    code, said = town.ends("--board", "acme/2", "--policy-repository", "acme/second", "--columns")
    assert code == 0, said
    assert "the ledger now serves acme/2 as well as acme/1" in said
    assert town.settings["CARDINAL_BOARD"] == "acme/1"
    assert "CARDINAL_POLICY_REPOSITORY" not in town.settings
    assert "Agent" in [field.name for field in second.fields]
    code, said = town.does("boards", "list")
    assert [row.split()[0] for row in said.splitlines()] == ["board", "acme/1", "acme/2"]
    assert "acme/second" in said
    code, said = town.does("boards", "remove", "acme/2")
    assert (code, said) == (0, "Cardinal no longer serves acme/2\n")
