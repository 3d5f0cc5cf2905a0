"""Pull requests in a real browser: reviewing lines, answering threads, merging."""

from playwright.sync_api import Page, expect

from forge.pages.looks import address
from forge.store.models import Pull
from forge.store.reviews import LineComment
from tests.browser.world import Town


def comment_on_line(page: Page, line: int, text: str) -> None:
    row = page.locator(f'[data-path="shop/refunds.py"] tr[data-line="{line}"]:not(.pending)')
    row.hover()
    row.get_by_role("button").click()
    row.locator("+ tr.pending textarea").fill(text)


def test_two_commented_lines_become_one_review_that_requests_changes(page: Page, town: Town) -> None:
    pull = town.pull()
    town.open(page, f"{address(pull)}/files")
    comment_on_line(page, 4, "Which currency?")
    comment_on_line(page, 6, "Zero too?")
    expect(page.locator("#pending-count")).to_have_text("2 comments on lines")
    page.get_by_label("Summary of the review").fill("Nearly.")
    page.get_by_label("Request changes").check()
    with page.expect_navigation():
        page.get_by_role("button", name="Submit review").click()
    expect(page.locator(".review")).to_contain_text("requested changes")
    expect(page.locator(".thread")).to_have_count(2)
    assert [(one.state, one.author.login) for one in pull.reviews] == [("CHANGES_REQUESTED", "alice")]
    found = [(thread.line, thread.comments[0].body) for thread in pull.threads]
    assert found == [(4, "Which currency?"), (6, "Zero too?")]
    assert len(town.payloads("pull_request_review", "submitted")) == 1


def test_comments_on_lines_survive_a_reload_and_the_live_refresh(page: Page, town: Town) -> None:
    pull = town.pull()
    town.open(page, f"{address(pull)}/files")
    comment_on_line(page, 4, "Which currency?")
    page.reload()
    expect(page.locator("tr.pending textarea")).to_have_value("Which currency?")
    town.forge.store.issues.edit(pull.issue, actor=town.user("alice"), title="Refunds, again")
    changed = {"shop/refunds.py": b"REFUNDS = []\n"}
    bot = town.user("cardinal[bot]")
    town.forge.store.repos.write_files(town.shop, "refunds", changed, "Start again", actor=bot)
    expect(page.locator(".title h1")).to_contain_text("Refunds, again")
    expect(page.locator(".tabs")).to_contain_text("Commits 2")
    expect(page.locator("tr.pending textarea")).to_have_value("Which currency?")


def test_the_field_for_a_comment_on_a_line_is_not_behind_the_box_of_the_review(
    page: Page, town: Town
) -> None:
    town.open(page, f"{address(town.pull())}/files")
    page.set_viewport_size({"width": 1000, "height": 480})
    rows = page.locator('[data-path="shop/refunds.py"] tr[data-line="6"]')
    page.keyboard.press("Home")
    rows.get_by_role("button").evaluate("plus => plus.click()")  # where the mouse could not reach it, too
    field = page.locator("tr.pending textarea")
    expect(field).to_be_focused()
    there, box = field.bounding_box(), page.locator(".review-box").bounding_box()
    assert there is not None
    assert box is not None
    assert there["y"] + there["height"] <= box["y"]


def test_the_plus_of_a_line_covers_neither_number_nor_code(page: Page, town: Town) -> None:
    town.open(page, f"{address(town.pull())}/files")
    row = page.locator('[data-path="shop/refunds.py"] tr[data-line="4"]')
    row.hover()
    plus = row.get_by_role("button").bounding_box()
    assert plus is not None
    for cell in row.locator(".no, .code").all():
        box = cell.bounding_box()
        assert box is not None
        assert plus["x"] + plus["width"] <= box["x"] or box["x"] + box["width"] <= plus["x"]


def test_nobody_approves_the_own_pull_request(page: Page, town: Town) -> None:
    store, alice = town.forge.store, town.user("alice")
    store.repos.create_ref(town.shop, "refs/heads/x", store.repos.commit_of(town.shop, "main"), actor=alice)
    store.repos.write_files(town.shop, "x", {"x": b"x\n"}, "x", actor=alice)
    pull = store.pulls.create(town.shop, "X", None, "x", "main", actor=alice)
    town.open(page, f"{address(pull)}/files")
    expect(page.get_by_label("Approve")).to_be_disabled()
    expect(page.get_by_label("Request changes")).to_be_disabled()


def test_a_thread_is_answered_and_resolved(page: Page, town: Town) -> None:
    pull = reviewed(town)
    town.open(page, address(pull), as_="bob")
    page.get_by_label("Reply").fill("Yes.")
    page.get_by_role("button", name="Reply").click()
    expect(page.locator(".line-comment")).to_have_count(2)
    expect(page.locator(".line-comment").nth(1)).to_contain_text("Yes.")
    page.get_by_role("button", name="Resolve").click()
    expect(page.locator(".thread .badge.good")).to_have_text("resolved by bob")
    assert [review_comment.body for review_comment in pull.threads[0].comments] == ["Zero too?", "Yes."]
    assert pull.threads[0].resolved_by is town.user("bob")


def test_a_reply_by_somebody_else_appears_while_one_is_typed(page: Page, town: Town) -> None:
    pull = reviewed(town)
    town.open(page, address(pull), as_="bob")
    page.get_by_label("Reply").fill("half a thou")
    town.forge.store.reviews.reply(pull.threads[0], "Zero works.", actor=town.user("cardinal[bot]"))
    expect(page.locator(".line-comment").nth(1)).to_contain_text("Zero works.")
    expect(page.get_by_label("Reply")).to_have_value("half a thou")


def reviewed(town: Town) -> Pull:
    """Return a pull request with one thread by alice."""
    pull = town.pull()
    comments = [LineComment("shop/refunds.py", "Zero too?", 6)]
    town.forge.store.reviews.submit(pull, "REQUEST_CHANGES", "", comments, actor=town.user("alice"))
    return pull


def test_a_draft_is_made_ready_merged_and_its_branch_deleted(page: Page, town: Town) -> None:
    pull = town.pull()
    town.forge.store.pulls.set_draft(pull, True, actor=town.user("cardinal[bot]"))
    town.open(page, address(pull))
    expect(page.locator(".title .state")).to_have_text("Draft")
    expect(page.get_by_role("button", name="Merge pull request")).to_be_disabled()
    page.get_by_role("button", name="Ready for review").click()
    expect(page.locator(".title .state")).to_have_text("Open")
    page.get_by_role("button", name="Merge pull request").click()
    expect(page.locator(".title .state")).to_have_text("Merged")
    page.get_by_role("button", name="Delete branch").click()
    expect(page.locator(".merge-box")).to_contain_text("The branch is deleted.")
    assert pull.merged_by is town.user("alice")
    assert "refs/heads/refunds" not in town.forge.store.repos.git(town.shop).refs()


def test_the_page_says_which_rule_keeps_it_from_being_merged(page: Page, town: Town) -> None:
    pull = reviewed(town)
    town.forge.store.repos.protect(town.shop, "main", reviews=1)
    town.open(page, address(pull))
    expect(page.locator(".merge-box")).to_contain_text("Changes have been requested by a reviewer")
    expect(page.get_by_role("button", name="Merge pull request")).to_be_disabled()
    expect(page.get_by_role("link", name="Add your review")).to_have_attribute(
        "href", f"{address(pull)}/files#review"
    )
    pull.reviews[0].state = "APPROVED"
    town.shop.required_checks["main"] = ("ci",)
    expect(page.locator(".merge-box")).to_contain_text('Required status check "ci" is expected.')


def test_a_check_shows_its_evidence_and_its_button_tells_the_app(page: Page, town: Town) -> None:
    pull = town.pull()
    changes = {
        "conclusion": "failure",
        "output": {
            "title": "1 of 2 commands failed",
            "summary": "| command | exit |\n|---|---|\n| tests | 1 |",
        },
        "actions": [{"label": "Try again", "description": "Run the gate again", "identifier": "again"}],
    }
    bot = town.user("cardinal[bot]")
    town.forge.store.checks.create(
        town.shop, "cardinal/gate", pull.head_sha, changes, app_slug="cardinal", actor=bot
    )
    town.open(page, address(pull))
    page.get_by_text("cardinal/gate").click()
    expect(page.locator(".check td").first).to_have_text("tests")
    with page.expect_response("**/actions"):
        page.get_by_role("button", name="Try again").click()
    sent = town.payloads("check_run", "requested_action")
    assert sent[0]["requested_action"] == {"identifier": "again"}
