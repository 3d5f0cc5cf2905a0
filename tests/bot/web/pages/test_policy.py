"""The policy in a browser: in force as people read it, and a pasted file compared, which changes nothing."""

from urllib.parse import urlencode

import pytest
from werkzeug.test import TestResponse

from bot.web.pages.policy import MAX_BYTES, PREVIEWS_A_MINUTE
from ledger.log import event_store
from rules.policy import locations, schema
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.settings import POLICY, with_column
from tests.bot.web.pages.forms import HERE, TEXTUAL
from tests.bot.web.pages.test_artifacts import hide
from tests.bot.web.pages.world import Browser, Pages

FLOWS = locations.WORKFLOWS_FOLDER
PATH = "/policy/acme/1"


def paste(browser: Browser, text: str, headers: dict[str, str] = HERE) -> TestResponse:
    data, base = urlencode({"text": text}), browser.public
    return browser.here.post(
        PATH, data=data, content_type=TEXTUAL, base_url=base, headers=headers, buffered=True
    )


def read_branch(browser: Browser, place: str) -> TestResponse:
    data, base = urlencode({"branch": place}), browser.public
    return browser.here.post(
        PATH, data=data, content_type=TEXTUAL, base_url=base, headers=HERE, buffered=True
    )


def on_branch(cardinal: Cardinal, branch: str, text: str | None) -> None:
    """Make a branch of the policy's repository, with a policy file of this text or none."""
    repos, alice, home = cardinal.forge.store.repos, cardinal.person("alice"), cardinal.home_repo
    repos.create_ref(home, f"refs/heads/{branch}", repos.commit_of(home, "main"), actor=alice)
    files = {locations.PATH: None if text is None else text.encode()}
    repos.write_files(home, branch, files, "Policy", actor=alice)


def test_the_policy_in_force_is_said_with_what_each_setting_means(pages: Pages) -> None:
    repos, alice = pages.cardinal.forge.store.repos, pages.cardinal.person("alice")
    flow: dict[str, bytes | None] = {f"{FLOWS}/docs.yml": b"stages: [{name: write, persona: docs-writer}]\n"}
    repos.write_files(pages.cardinal.home_repo, "main", flow, "Flow", actor=alice)
    pages.cardinal.set_policy(with_column(budget_usd="7.5", instructions="'<b>'"))
    pages.cardinal.catch_up()
    bob = pages.browser("bob")
    assert f'href="{PATH}"' in bob.get("/boards/acme/1").text
    pages.cardinal.set_policy("version: 2\n")
    pages.cardinal.catch_up()
    shown = bob.get(PATH).text
    for text in (
        "<td><bdi>budget_usd</bdi><br>"
        '<span class="quiet">Dollars for one run; it pauses and asks when reached.</span>'
        "</td><td><bdi>7.5</bdi></td>",
        "<td><bdi>board.limits.runs_per_repository</bdi><br>",
        "<td><bdi>repository.guardrails.protect</bdi><br>",
        "A newer file was rejected",
        "Changes when it came into force",
        "<li><bdi>budget_usd</bdi>: <bdi>2.0</bdi> → <bdi>7.5</bdi></li>",
        "<bdi>instructions</bdi>: <bdi>none</bdi> → <bdi>&lt;b&gt;</bdi>",
        "/blob/",
        f'/{FLOWS}/docs.yml">docs</a>',
    ):
        assert text in shown, text
    assert "<b>" not in shown.replace("<b></b>", "")


def test_a_pasted_file_is_compared_and_nothing_is_kept(pages: Pages) -> None:
    bob = pages.browser("bob")
    pages.run()
    with event_store.reading(pages.cardinal.services.engine) as db:
        before = event_store.last_seq(db)
    changed = paste(bob, with_column(budget_usd="9")).text
    assert '<h3><bdi>In Progress</bdi> <span class="quiet">1 card now</span></h3>' in changed
    assert "up to $9.00" in changed
    other = paste(bob, f"{POLICY}  repositories: {{labels: {{'<b>': acme/shop}}}}\n").text
    name = "board.repositories.labels.&lt;b&gt;"
    assert f"<li><bdi>{name}</bdi>: <bdi>not set</bdi> → <bdi>acme/shop</bdi></li>" in other
    assert "No settings differ." in paste(bob, POLICY).text
    wrong = paste(bob, "version: 1\nboard: {columns: {Tasks: {archetype: inbx}}}\n<b>").text
    assert "This file would be rejected" in wrong
    assert "line " in wrong
    assert "&lt;b&gt;</textarea>" in wrong
    with event_store.reading(pages.cardinal.services.engine) as db:
        assert event_store.last_seq(db) == before


def test_the_file_of_a_branch_or_pull_request_is_compared(pages: Pages) -> None:
    cardinal, bob = pages.cardinal, pages.browser("bob")
    on_branch(cardinal, "dear/<b>&ümlaut", with_column(budget_usd="9"))
    on_branch(cardinal, "wrong", "version: 1\nboard: {columns: {Tasks: {archetype: inbx}}}\n")
    on_branch(cardinal, "bare", None)
    alice = cardinal.person("alice")
    made = cardinal.forge.store.pulls.create(
        cardinal.home_repo, "Dear", "", "dear/<b>&ümlaut", "main", actor=alice
    )
    for place in ("dear/<b>&ümlaut", f"#{made.issue.number}"):
        shown = read_branch(bob, place).text
        assert "up to $9.00" in shown, place
        assert "<b>" not in shown.replace("<b></b>", ""), place
    assert "<bdi>dear/&lt;b&gt;&amp;ümlaut at " in read_branch(bob, "dear/<b>&ümlaut").text
    wrong = read_branch(bob, "wrong").text
    assert "This file would be rejected" in wrong
    assert "line " in wrong
    assert "There is no .github/cardinal.yml" in read_branch(bob, "bare").text
    for hostile in ("nowhere", "..", "../../shop/contents/x", "main/../..", "#0", "#99", "a\x00b", "x" * 300):
        answer = read_branch(bob, hostile)
        assert (answer.status_code, "There is no branch or pull request" in answer.text) == (200, True), (
            hostile
        )


def test_a_branch_is_read_for_nobody_who_may_not_read_it(pages: Pages) -> None:
    mallory = pages.browser("mallory")
    on_branch(pages.cardinal, "secret", "version: 1\n")
    hide(pages.cardinal, "board")
    pages.cardinal.forge.gateway.calls.clear()
    assert read_branch(mallory, "secret").status_code == 404
    assert pages.cardinal.calls("/branches/") == []


def test_who_may_not_read_the_policys_repository_and_foreign_pages_get_nothing(pages: Pages) -> None:
    mallory = pages.browser("mallory")
    hide(pages.cardinal, "board")
    nothing = mallory.get("/runs/r999")
    for answer in (mallory.get(PATH), paste(mallory, "version: 1\n"), mallory.get("/policy/acme/9")):
        assert (answer.status_code, answer.text) == (404, nothing.text)
    bob = pages.browser("bob")
    assert paste(bob, "version: 1\n", {"Origin": "https://evil.example"}).status_code == 403
    assert paste(pages.browser("bob", signed_in=False), "version: 1\n").status_code == 401


@pytest.mark.parametrize("text", ["x" * (MAX_BYTES + 1), "a: &a [" + "*a," * 5000 + "]", "[" * 60_000])
def test_a_hostile_file_costs_a_sentence(pages: Pages, text: str) -> None:
    answer = paste(pages.browser("bob"), text)
    assert answer.status_code in (200, 413)
    assert "This file would be rejected" in answer.text or "larger than a policy file" in answer.text


def test_comparing_has_a_pace(pages: Pages) -> None:
    bob = pages.browser("bob")
    answers = [paste(bob, "x").status_code for _ in range(PREVIEWS_A_MINUTE + 1)]
    assert answers == [200] * PREVIEWS_A_MINUTE + [503]


def test_an_editor_gets_the_schema_without_signing_in(pages: Pages) -> None:
    answer = pages.browser("bob", signed_in=False).get(schema.ADDRESS)
    assert (answer.status_code, answer.mimetype) == (200, "application/schema+json")
    assert answer.get_json(force=True) == schema.policy_schema()
