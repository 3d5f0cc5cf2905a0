"""`cardinal init` from nothing to a board that is ready, interrupted anywhere, and said in sentences."""

import json
import re
import stat
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from bot.render.board.card_fields import FaceField
from forge.clock import Clock
from forge.store.board import FieldType
from forge.store.faults import ApiFault
from tests.bot.admin.setup.conftest import WAIT_S, Running, Town

HOOK = ("--org", "acme", "--webhook", "https://cardinal.example.com")


def finished(town: Town, *options: str) -> str:
    """Go the whole way with an App that somebody installs at once; return what was said."""
    running = town.init(*options)
    page = running.page
    requests.get(town.agree(page), timeout=WAIT_S)
    running.until("install the App on acme")
    town.install()
    return closed(running)


def closed(running: Running) -> str:
    """Look at the last page, for which the program waits some seconds; return what was said."""
    running.until("done:")
    assert "Go back to the terminal" in requests.get(running.beside("/done"), timeout=WAIT_S).text
    code, said = running.end()
    assert code == 0, said
    return said


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_it_registers_installs_and_makes_the_board_ready(town: Town) -> None:
    said = finished(town, *HOOK)
    settings, app = town.settings, town.app
    assert settings["CARDINAL_APP_ID"] == str(app.id)
    assert settings["CARDINAL_BOARD"] == "acme/1"
    assert settings["CARDINAL_WEBHOOK_SECRET"] == app.webhook_secret
    assert app.webhook_url == "https://cardinal.example.com/webhooks/github"
    assert settings["CARDINAL_PUBLIC_URL"] == "https://cardinal.example.com"
    assert app.callback_urls == ("https://cardinal.example.com/sign-in/back",)
    assert settings["CARDINAL_CLIENT_ID"] == app.client_id
    assert settings["CARDINAL_CLIENT_SECRET"] == app.client_secret
    assert (town.home / settings["CARDINAL_PRIVATE_KEY"]).read_text().startswith("-----BEGIN RSA")
    assert {*FaceField} <= {*town.fields()}
    (view,) = town.board.views
    assert (view.name, view.layout) == ("Cardinal", "board")
    names = {field.id: field.name for field in town.board.fields}
    assert [names[number] for number in view.visible_fields] == ["Title", "Assignees", *FaceField]
    assert [names[number] for number in view.vertical_group_by] == ["Status"]
    assert "created the view Cardinal, whose cards show these fields" in said
    assert "An agent" in town.columns()["In Progress"]
    assert town.columns()["Todo"] == ""
    assert "create them with --columns" in said
    assert "https://cardinal.example.com will show files of runs" in said
    assert "start it with `cardinal up`" in said
    assert not (town.home / "setup.json").exists()


def test_secrets_are_for_their_owner_alone_and_are_never_said(town: Town) -> None:
    said = finished(town, *HOOK)
    assert mode(town.home) == 0o700
    kept = [town.home / "env", *town.home.glob("*.pem")]
    assert [mode(one) for one in kept] == [0o600, 0o600]
    assert town.app.webhook_secret not in said
    assert town.app.client_secret not in said
    assert "BEGIN RSA" not in said


def test_the_second_time_there_is_nothing_to_do(town: Town) -> None:
    finished(town, *HOOK, "--columns")
    assert len(town.board.views) == 1
    before, town_settings = len(town.writes()), (town.home / "env").read_bytes()
    town.forge.gateway.calls.clear()
    code, said = town.ends("--columns")
    assert code == 0, said
    assert town.writes() == []
    assert len(town.board.views) == 1
    assert before > 0
    assert (town.home / "env").read_bytes() == town_settings
    assert len(town.forge.store.apps.all()) == 1


def test_the_columns_of_the_policy_are_made_and_those_of_people_stay(town: Town) -> None:
    issue = town.forge.store.issues.create(
        town.forge.store.repos.get("acme", "shop"), "Prices", "", actor=town.alice
    )
    item = town.forge.store.projects.add(town.board, issue, actor=town.alice)
    town.forge.store.projects.drag(item, "Todo", actor=town.alice)
    said = finished(town, *HOOK, "--columns")
    assert list(town.columns()) == ["Tasks", "Planning", "In Progress", "Review", "QA", "Done", "Todo"]
    column = item.column()
    assert column is not None
    assert column.name == "Todo"
    assert "nothing happens in Todo" in said


def test_the_columns_of_githubs_kanban_template_are_taken_as_they_are_spelled(town: Town) -> None:
    town.make_columns("Backlog", "Ready", "🏗 In progress", "In review", "Done")
    said = finished(town, *HOOK, "--columns")
    kept = ["Tasks", "Planning", "🏗 In progress", "Review", "QA", "Done", "Backlog", "Ready", "In review"]
    assert list(town.columns()) == kept
    assert "An agent" in town.columns()["🏗 In progress"]
    assert "Ready: {archetype: inbox}, In review: {archetype: review}" in said


def test_it_says_how_a_browser_on_another_machine_reaches_the_page(town: Town) -> None:
    running = town.init(*HOOK)
    port = urlsplit(running.page).port
    assert running.until(f"ssh -N -L {port}:127.0.0.1:{port} ")
    running.kill()


def test_killed_before_github_answers_the_open_page_still_counts(town: Town) -> None:
    first = town.init(*HOOK)
    back = town.agree(first.page)
    first.kill()
    assert not (town.home / "env").exists()
    second = town.init(*HOOK)
    second.until("in a browser")
    requests.get(back, timeout=WAIT_S)  # the page that could not be loaded, loaded again
    second.known = back
    second.until("install the App")
    town.install()
    closed(second)
    assert town.settings["CARDINAL_APP_ID"] == str(town.app.id)


def test_killed_after_the_app_was_made_its_secrets_are_not_lost(town: Town) -> None:
    first = town.init(*HOOK)
    requests.get(town.agree(first.page), timeout=WAIT_S)
    first.until("GitHub created the App")
    first.kill()
    # However far it came: as if it had died right after GitHub's answer.
    kept = town.home / "setup.json"
    env = town.home / "env"
    if env.exists():
        pem = next(town.home.glob("*.pem"))
        app = town.app
        told = {
            "app_id": app.id,
            "slug": app.slug,
            "page": f"{town.forge.url}/apps/{app.slug}",
            "private_key": pem.read_text(),
            "webhook_secret": app.webhook_secret,
        }
        notes = {
            "owner": "acme",
            "state": "",
            "port": 0,
            "begun_at": "2026-01-01T00:00:00+00:00",
            "app": told,
        }
        kept.write_text(json.dumps(notes))
        env.unlink()
        pem.unlink()
    assert mode(kept) == 0o600
    town.install()
    code, said = town.ends("--board", "acme/1")
    assert code == 0, said
    assert "continuing with the App cardinal" in said
    assert town.settings["CARDINAL_WEBHOOK_SECRET"] == town.app.webhook_secret
    assert len(town.forge.store.apps.all()) == 1
    assert not kept.exists()


def test_killed_while_it_waits_for_the_installation_it_goes_on_there(town: Town) -> None:
    first = town.init(*HOOK)
    requests.get(town.agree(first.page), timeout=WAIT_S)
    first.until("install the App")
    first.kill()
    town.install()
    code, said = town.ends()
    assert code == 0, said
    assert f"the App {town.app.id} is already in the settings" in said
    assert town.settings["CARDINAL_BOARD"] == "acme/1"


def test_a_wrong_state_is_refused_and_makes_no_app(town: Town) -> None:
    running = town.init(*HOOK)
    back = town.agree(running.page)
    forged = back.split("state=")[0] + "state=" + "x" * 43
    refused = requests.get(forged, timeout=WAIT_S)
    assert refused.status_code == 403
    assert "does not belong to this set-up" in refused.text
    assert town.forge.store.apps.all() == []
    assert requests.get(back, timeout=WAIT_S).status_code == 200
    town.install()
    closed(running)


def test_a_state_is_good_for_one_code(town: Town) -> None:
    running = town.init(*HOOK, "--wait", "20")
    page = running.page
    back = town.agree(page)
    state = back.split("state=")[1]
    for _ in range(2):  # who loads the page again has done nothing new
        assert requests.get(back, timeout=WAIT_S).status_code == 200
    other = requests.get(running.beside(f"/registered?code=abc&state={state}"), timeout=WAIT_S)
    assert (other.status_code, len(town.forge.store.apps.all())) == (403, 1)
    running.kill()


def test_a_page_of_another_site_cannot_reach_it(town: Town) -> None:
    running = town.init(*HOOK)
    page = running.page
    answer = requests.get(page, headers={"Host": "evil.example:80"}, timeout=WAIT_S)
    assert answer.status_code == 403
    assert "manifest" not in answer.text
    running.kill()


def test_others_on_this_machine_are_not_shown_the_state(town: Town) -> None:
    running = town.init(*HOOK)
    page = running.page
    for other in ("/", "/x", "/" + "x" * 22, "/%ff"):
        answer = requests.get(running.beside(other), timeout=WAIT_S)
        assert (answer.status_code, "state" in answer.text, "manifest" in answer.text) == (403, False, False)
    forged = requests.get(running.beside("/registered?state=x&code=abc"), timeout=WAIT_S)
    assert page.rpartition("/")[2] not in forged.text
    assert requests.get(page, timeout=WAIT_S).status_code == 200
    running.kill()


def test_an_expired_code_says_what_to_do(town: Town) -> None:
    running = town.init(*HOOK)
    back = town.agree(running.page)
    now = town.forge.store.clock.now()
    town.forge.store.clock = Clock(lambda: now + timedelta(hours=1, seconds=1))
    answer = requests.get(back, timeout=WAIT_S)
    assert answer.status_code == 502
    code, said = running.end()
    assert code == 2
    assert "Run `cardinal init` again" in said
    assert "/organizations/acme/settings/apps anyway, its key is lost: delete it there" in said
    assert not (town.home / "env").exists()
    assert not (town.home / "setup.json").exists()


def test_nobody_registers_and_nobody_installs_in_time(town: Town) -> None:
    code, said = town.ends(*HOOK, "--wait", "1")
    assert code == 2
    assert "no App was registered" in said
    running = town.init(*HOOK, "--wait", "4")
    requests.get(town.agree(running.page), timeout=WAIT_S)
    code, said = running.end()
    assert code == 2
    assert "was not installed on acme" in said
    assert f"/apps/{town.app.slug}/installations/new" in said


def test_another_app_is_only_given_up_when_asked_to(town: Town) -> None:
    finished(town, *HOOK)
    other, pem = town.forge.store.apps.register(town.acme, "Other", "other")
    town.forge.store.apps.install(other, town.acme, actor=town.alice)
    key = town.root / "other.pem"
    key.write_text(pem)
    before = (town.home / "env").read_bytes()
    given = ("--existing", str(other.id), "--key", str(key), "--webhook", "https://cardinal.example.com")
    code, said = town.ends(*given)
    assert code == 2
    assert "--replace" in said
    assert (town.home / "env").read_bytes() == before
    code, said = town.ends(*given, "--replace")
    assert code == 0, said
    assert town.settings["CARDINAL_APP_ID"] == str(other.id)
    assert len(list(town.home.glob("app-*.pem"))) == 2


def test_a_hand_made_app_gets_a_secret_and_is_told_what_it_lacks(town: Town) -> None:
    permissions = {
        "organization_projects": "write",
        "issues": "write",
        "contents": "read",
        "metadata": "read",
    }
    app, pem = town.forge.store.apps.register(
        town.acme, "Mine", "mine", permissions=permissions, events=["issues"]
    )
    town.install()
    key = town.root / "mine.pem"
    key.write_text(pem)
    secret = app.webhook_secret
    given = ("--existing", str(app.id), "--key", "mine.pem", "--webhook", "https://cardinal.example.com/x")
    code, said = town.ends("--org", "acme", *given)
    assert code == 0, said
    assert app.webhook_url == "https://cardinal.example.com/x"
    assert app.webhook_secret not in ("", secret)
    assert town.settings["CARDINAL_WEBHOOK_SECRET"] == app.webhook_secret
    assert "the App lacks permissions: pull_requests: write, contents: write, checks: write" in said
    assert "is not subscribed to check_run, " in said
    assert ", projects_v2_item, " in said


def test_a_key_of_another_app_is_refused(town: Town) -> None:
    app, _ = town.forge.store.apps.register(town.acme, "Mine", "mine")
    _, wrong = town.forge.store.apps.register(town.acme, "Other", "other")
    (town.root / "key.pem").write_text(wrong)
    code, said = town.ends("--org", "acme", "--existing", str(app.id), "--key", "key.pem", "--poll")
    assert code == 2
    assert "GitHub rejects this key" in said
    assert not (town.home / "env").exists()


def test_without_webhooks_the_hook_is_off_and_the_board_is_looked_at(town: Town) -> None:
    said = finished(town, "--org", "acme", "--poll")
    assert "what runs leave" not in said
    assert town.app.webhook_active is False
    assert town.settings["CARDINAL_WEBHOOKS"] == "false"
    assert "reads the board every" in said


def test_who_looked_at_the_board_can_have_webhooks_later(town: Town) -> None:
    finished(town, "--org", "acme", "--poll")
    secret = town.settings.get("CARDINAL_WEBHOOK_SECRET", "")
    code, said = town.ends("--webhook", "https://cardinal.example.com")
    assert code == 0, said
    assert town.settings["CARDINAL_WEBHOOKS"] == "true"
    assert town.app.webhook_url == "https://cardinal.example.com/webhooks/github"
    assert town.app.webhook_secret == town.settings["CARDINAL_WEBHOOK_SECRET"] != ""
    assert secret in ("", town.app.webhook_secret)
    assert f"/organizations/acme/settings/apps/{town.app.slug}" in said
    assert "Active" in said


def test_an_app_without_a_secret_gets_one_before_webhooks_go_anywhere(town: Town) -> None:
    finished(town, "--org", "acme", "--poll")
    env = town.home / "env"
    env.write_text("".join(f"{one}\n" for one in env.read_text().split() if "SECRET" not in one))
    code, said = town.ends("--webhook", "https://cardinal.example.com")
    assert code == 0, said
    assert len(town.app.webhook_secret) == 64
    assert town.app.webhook_secret == town.settings["CARDINAL_WEBHOOK_SECRET"]


def test_the_board_is_named_as_github_writes_it(town: Town) -> None:
    app, pem = town.forge.store.apps.register(town.acme, "Mine", "mine")
    town.install()
    (town.root / "mine.pem").write_text(pem)
    code, said = town.ends("--board", "ACME/1", "--existing", str(app.id), "--key", "mine.pem", "--poll")
    assert code == 0, said
    assert town.settings["CARDINAL_BOARD"] == "acme/1"


def test_a_stumble_of_githubs_does_not_end_the_wait(town: Town) -> None:
    running = town.init(*HOOK)
    requests.get(town.agree(running.page), timeout=WAIT_S)
    running.until("install the App on acme")
    town.forge.store.faults.api.append(ApiFault(re.compile("/orgs/acme/installation"), 502, 2))
    town.install()
    closed(running)


def test_a_person_has_no_board_that_an_app_could_serve(town: Town) -> None:
    app, pem = town.forge.store.apps.register(town.alice, "Mine", "mine")
    town.forge.store.apps.install(app, town.alice, actor=town.alice)
    town.forge.store.projects.create(town.alice, "Mine", ["Todo", "Done"], actor=town.alice)
    (town.root / "mine.pem").write_text(pem)
    given = ("--existing", str(app.id), "--key", "mine.pem", "--poll", "--wait", "3")
    code, said = town.ends("--org", "alice", *given)
    assert code
    assert (
        "alice is a personal account, and GitHub does not give Apps access to personal boards: create an "
        "organisation"
    ) in said
    assert "CARDINAL_BOARD" not in town.settings


def test_a_board_of_an_earlier_version_gets_a_field_of_choices_with_the_same_values(town: Town) -> None:
    projects = town.forge.store.projects
    field = projects.create_field(town.board, "Agent", FieldType.TEXT)
    drafts = [projects.add_draft(town.board, text, actor=town.alice) for text in ("⏳ queued", "ask Bob")]
    for item in drafts:
        projects.set_value(item, field, item.title, actor=town.alice)
    said = finished(town, *HOOK)
    assert (
        "Agent is now a single-select field; its old texts are in Agent (text), which you may delete; "
        "1 card had"
    ) in said
    new_field = town.board.field_named("Agent")
    assert new_field is not None
    chosen = [item.values.get(new_field.node_id) for item in drafts]
    assert [value.option.name if value and value.option else "" for value in chosen] == ["⏳ queued", ""]
    assert [item.values[field.node_id].content for item in drafts] == ["⏳ queued", "ask Bob"]
    code, said = town.ends()
    assert code == 0, said
    assert "single-select field" not in said


def test_a_board_of_six_fields_gets_the_two_that_it_lacks_and_keeps_its_values(town: Town) -> None:
    finished(town, *HOOK)
    item = town.forge.store.projects.add_draft(town.board, "An idea", "", actor=town.alice)
    agent = town.board.field_named("Agent")
    assert agent is not None
    town.forge.store.projects.set_value(item, agent, agent.options[0].id, actor=town.alice)
    town.board.fields = [one for one in town.board.fields if one.name not in ("Validation", "Waits for")]
    code, said = town.ends()
    assert code == 0, said
    assert "created the fields Waits for, Validation" in said
    assert "tick them in the view Cardinal under its menu, Fields" in said
    assert {*FaceField} <= {*town.fields()}
    assert item.values[agent.node_id].option == agent.options[0]
    code, said = town.ends()
    assert (code, "created the fields" in said, "tick them" in said) == (0, False, False)


@pytest.mark.parametrize("name", ["Validation", "Waits for"])
def test_texts_of_a_field_that_is_one_of_choices_now_are_kept(town: Town, name: str) -> None:
    projects = town.forge.store.projects
    field = projects.create_field(town.board, name, FieldType.TEXT)
    item = projects.add_draft(town.board, "An idea", "", actor=town.alice)
    projects.set_value(item, field, "ask Bob", actor=town.alice)
    said = finished(town, *HOOK)
    assert f"{name} is now a single-select field; its old texts are in {name} (text)" in said
    assert item.values[field.node_id].content == "ask Bob"
    assert field.name == f"{name} (text)"


def test_lines_that_people_wrote_stay(town: Town) -> None:
    town.home.mkdir(mode=0o700)
    (town.home / "env").write_text('# ours\nCARDINAL_ANTHROPIC_KEY="k e y"\nCARDINAL_BOARD="acme/1"\n')
    finished(town, *HOOK)
    text = (town.home / "env").read_text()
    assert text.startswith('# ours\nCARDINAL_ANTHROPIC_KEY="k e y"\nCARDINAL_BOARD=acme/1\n')


@pytest.mark.parametrize(
    ("options", "environ", "words"),
    [
        ((), {}, "which organisation"),
        (("--org", "acme"), {}, "--poll"),
        (("--org", "acme", "--webhook", "cardinal"), {}, "--webhook needs an address"),
        (("--board", "acme"), {}, "such as acme/1"),
        (("--org", "acme", "--poll", "--webhook", "https://a.example"), {}, "cannot be combined"),
        (("--org", "acme", "--poll", "--existing", "5"), {}, "--key FILE"),
        (("--org", "acme", "--poll", "--key", "k.txt"), {}, "--existing APP_ID"),
        (("--org", "acme", "--poll", "--existing", "5", "--key", "k.txt"), {}, "not a private key"),
        (("--org", "acme", "--poll"), {"CARDINAL_APP_ID": "9"}, "unset it"),
        (
            ("--org", "acme", "--webhook", "http://localhost"),
            {"CARDINAL_GITHUB_URL": "https://api.github.com"},
            "relay",
        ),
    ],
)
def test_what_is_missing_is_said_with_the_next_step(
    town: Town, options: tuple[str, ...], environ: dict[str, str], words: str
) -> None:
    (town.root / "k.txt").write_text("nothing")
    code, said = town.ends(*options, **environ)
    assert code == 2
    assert words in said
    assert "Traceback" not in said


def test_several_boards_are_named_and_none_is_guessed(town: Town) -> None:
    town.forge.store.projects.create(town.acme, "Second", ["Todo"], actor=town.alice)
    running = town.init(*HOOK)
    requests.get(town.agree(running.page), timeout=WAIT_S)
    town.install()
    code, said = running.end()
    assert code == 2
    assert "acme/1 (Shop board), acme/2 (Second)" in said
    code, said = town.ends("--board", "acme/2")
    assert code == 0, said
    assert town.settings["CARDINAL_BOARD"] == "acme/2"
