"""Issues in a real browser: comments, ticks, edits, and reading in peace while the page changes."""

from playwright.sync_api import Page, expect

from forge.pages.looks import address
from tests.browser.world import Town

CONTROLS = (
    "Run 1\n\n- [ ] approve\n- [ ] cancel\n\n<details><summary>Activity</summary>\n\nread it\n\n</details>\n"
)


def test_a_comment_is_written_and_shown_without_a_reload(page: Page, town: Town) -> None:
    issue = town.issue("Why?")
    town.open(page, address(issue), as_="bob")
    page.evaluate("window.untouched = true")
    page.get_by_label("Add a comment as").fill("Because.\n\n**Really.**")
    page.get_by_role("button", name="Comment", exact=True).click()
    expect(page.locator(".comment").nth(1)).to_contain_text("Because.")
    expect(page.locator(".comment strong")).to_have_text("Really.")
    expect(page.get_by_label("Add a comment as")).to_have_value("")
    assert page.evaluate("window.untouched")
    assert [(one.author.login, one.body) for one in issue.comments] == [("bob", "Because.\n\n**Really.**")]


def test_ticking_a_box_edits_the_bots_comment_as_the_person(page: Page, town: Town) -> None:
    issue = town.issue("Do it.")
    comment = town.bot_says(issue, CONTROLS)
    town.open(page, address(issue), as_="bob")
    with page.expect_response("**/ticks"):
        page.get_by_role("checkbox").first.check()
    assert comment.body == CONTROLS.replace("[ ] approve", "[x] approve")
    sent = town.payloads("issue_comment", "edited")[-1]
    assert sent["sender"]["login"] == "bob"
    assert sent["changes"]["body"]["from"] == CONTROLS
    assert sent["comment"]["user"]["login"] == "cardinal[bot]"


def test_a_box_is_found_again_when_the_comment_was_rewritten_meanwhile(page: Page, town: Town) -> None:
    issue = town.issue("Do it.")
    comment = town.bot_says(issue, CONTROLS)
    town.open(page, address(issue))
    page.evaluate("forge.pause(true)")
    newer = "Run 1, a line more\n\nand another\n\n" + CONTROLS
    town.forge.store.issues.edit_comment(comment, newer, actor=town.user("cardinal[bot]"))
    with page.expect_response("**/ticks"):
        page.get_by_role("checkbox").nth(1).check()
    assert comment.body == newer.replace("[ ] cancel", "[x] cancel")


def test_a_reader_without_write_access_cannot_tick(page: Page, town: Town) -> None:
    issue = town.issue("Do it.")
    comment = town.bot_says(issue, CONTROLS)
    town.open(page, address(issue), as_="mallory")
    expect(page.get_by_role("checkbox").first).to_be_disabled()
    path = f"/acme/shop/texts/comment/{comment.id}/ticks"
    fields = {"line": "2", "label": "approve", "checked": "1"}
    assert page.evaluate("([path, fields]) => forge.post(path, fields)", [path, fields]) is False
    assert comment.body == CONTROLS


def test_a_live_change_keeps_what_is_typed_and_what_is_unfolded(page: Page, town: Town) -> None:
    issue = town.issue("Do it.")
    comment = town.bot_says(issue, CONTROLS)
    town.open(page, address(issue))
    page.get_by_text("Activity").click()
    page.get_by_label("Add a comment as").fill("half a thou")
    bot = town.user("cardinal[bot]")
    town.forge.store.issues.edit_comment(comment, CONTROLS.replace("Run 1", "Run 1: testing"), actor=bot)
    town.bot_says(issue, "A question?")
    expect(page.locator(".comment").nth(1)).to_contain_text("Run 1: testing")
    expect(page.locator(".comment").nth(2)).to_contain_text("A question?")
    expect(page.get_by_text("read it")).to_be_visible()
    expect(page.get_by_label("Add a comment as")).to_have_value("half a thou")
    expect(page.get_by_label("Add a comment as")).to_be_focused()


def test_an_author_edits_the_own_comment_only(page: Page, town: Town) -> None:
    issue = town.issue("Do it.")
    town.bot_says(issue, "Mine.")
    comment = town.forge.store.issues.comment(issue, "Teh text", actor=town.user("bob"))
    town.open(page, address(issue), as_="bob")
    expect(page.locator(".edit")).to_have_count(1)
    page.get_by_text("Edit", exact=True).click()
    page.get_by_label("Text").fill("The text")
    with page.expect_response(lambda answer: answer.request.method == "POST"):
        page.get_by_role("button", name="Save").click()
    expect(page.locator(".comment").nth(2)).to_contain_text("The text")
    expect(page.get_by_label("Text")).to_be_hidden()
    assert comment.body == "The text"


def test_an_issue_is_closed_with_a_reason_and_opened_again(page: Page, town: Town) -> None:
    issue = town.issue("Do it.")
    town.open(page, address(issue))
    page.get_by_role("button", name="Close as not planned").click()
    expect(page.locator(".title .state")).to_have_text("Not planned")
    assert (issue.state, issue.state_reason) == ("closed", "not_planned")
    page.get_by_role("button", name="Reopen").click()
    expect(page.locator(".title .state")).to_have_text("Open")
    assert issue.state == "open"


def test_a_refusal_is_said_and_the_text_is_not_lost(page: Page, town: Town) -> None:
    issue = town.issue("Do it.")
    town.open(page, address(issue))
    page.get_by_label("Add a comment as").fill("x" * 70_000)
    page.get_by_role("button", name="Comment", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("body is too long")
    expect(page.get_by_label("Add a comment as")).to_have_value("x" * 70_000)
    assert issue.comments == []


def test_the_bell_rings_for_whom_a_comment_concerns_until_they_look(page: Page, town: Town) -> None:
    issue = town.issue("Why?")
    town.bot_says(issue, "@bob, which one?")
    for login, rings in (("bob", True), ("carol", False), ("alice", True)):
        town.open(page, "/", as_=login)
        expect(page.get_by_role("link", name="Notifications, 1 new")).to_have_count(int(rings))
    page.get_by_role("link", name="Notifications").click()
    expect(page.locator("main a.strong")).to_have_text(issue.title)
    page.reload()
    expect(page.locator("main a.strong")).to_have_count(0)
    page.locator("main").get_by_role("link").click()
    expect(page.locator(".comment").nth(1)).to_contain_text("which one?")
