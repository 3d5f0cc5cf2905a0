"""`cardinal init` with a person in a real browser: two buttons on GitHub, and Cardinal can start."""

from playwright.sync_api import Page, expect

from tests.bot.admin.setup.conftest import Town, town

__all__ = ["town"]  # instead of the demo's world


def test_a_person_registers_and_installs_the_app(page: Page, town: Town) -> None:
    running = town.init("--org", "acme", "--webhook", "https://cardinal.example.com", "--name", "Ours")
    page.goto(running.page)
    expect(page.get_by_role("heading")).to_have_text("Register the App")
    page.get_by_role("button", name="Register the App on GitHub").click()
    expect(page.get_by_role("heading", name="Create GitHub App for acme")).to_be_visible()
    expect(page.get_by_text("organization_projects: write")).to_be_visible()
    assert town.forge.store.apps.all() == []  # looking makes nothing
    page.get_by_role("button", name="Create GitHub App for acme").click()
    expect(page.get_by_role("heading")).to_have_text("Install the App")
    assert "code=" not in page.url
    with page.context.expect_page() as opened:  # the page here goes on looking
        page.get_by_role("link", name="Install it on acme").click(modifiers=["ControlOrMeta"])
    github = opened.value
    github.get_by_role("button", name="Install on acme").click()
    expect(github.get_by_role("heading", name="Apps")).to_be_visible()
    expect(page.get_by_role("heading")).to_have_text("Done")
    code, said = running.end()
    assert code == 0, said
    assert town.app.slug == "ours"
    assert [installation.account.login for installation in town.forge.store.apps.installations()] == ["acme"]
    assert "the App is installed on acme" in said
