"""A column's form and `policy_recipes`: they say what a change would do, and make it a pull request."""

import json
import re
from html import unescape
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode

import pytest
from werkzeug.test import TestResponse

from bot.repo_config.recipes import list_recipes, read_recipe
from rules.policy.edit import start_from
from rules.policy.locations import PATH
from rules.policy.model import default_policy, parse
from tests.bot.flows.settings import POLICY, with_column
from tests.bot.web.pages.forms import HERE, TEXTUAL
from tests.bot.web.pages.test_artifacts import hide
from tests.bot.web.pages.world import PUBLIC, Browser, Pages

EDIT = "/policy/acme/1/edit?column=In%20Progress"
WHOLE = "/policy/acme/1/edit?part=board"
COMMENTED = f"# Ask the finance team first.\n{POLICY}"


def send(browser: Browser, *, path: str = EDIT, origin: str = PUBLIC, **fields: str) -> TestResponse:
    headers = {**HERE, "Origin": origin}
    return browser.here.post(
        path, data=urlencode(fields), content_type=TEXTUAL, base_url=PUBLIC, headers=headers, buffered=True
    )


def number_of(answer: TestResponse) -> int:
    """Return the number of the pull request that the page links."""
    (number,) = re.findall(r'href="[^"]+/acme/board/pull/(\d+)"', answer.text)
    return int(number)


def policy(pages: Pages) -> None:
    pages.cardinal.set_policy(COMMENTED)
    pages.cardinal.catch_up()


def test_a_change_is_explained_and_then_proposed_with_the_files_comments(pages: Pages) -> None:
    policy(pages)
    pages.run()
    alice = pages.browser("alice")
    assert 'value="2.0"' in alice.get(EDIT).text
    shown = unescape(send(alice, archetype="execution", budget_usd="7.5", do="preview").text)
    assert "<bdi>budget_usd</bdi>: <bdi>2.0</bdi> → <bdi>7.5</bdi>" in shown
    assert "1 card now" in shown
    cardinal = pages.cardinal
    pulls = cardinal.home_repo.issues
    before = set(pulls)
    for _ in range(2):  # twice is once
        answer = send(alice, archetype="execution", budget_usd="7.5", do="propose")
        assert "The change is a draft pull request." in answer.text
    (number,) = set(pulls) - before
    assert number_of(answer) == number
    pull = pulls[number].pull
    assert pull is not None
    git = cardinal.forge.store.repos.git(cardinal.home_repo)
    text = git.run("show", f"{pull.head_ref}:{PATH}").decode()
    assert [it for it in text.splitlines() if it not in COMMENTED.splitlines()] == [
        next(it for it in POLICY.splitlines() if "In Progress" in it).replace("}", ", budget_usd: 7.5}")
    ]
    assert "`alice` proposes this" in (pulls[number].body or "")


def test_a_mistake_is_said_at_its_field_and_nothing_is_proposed(pages: Pages) -> None:
    policy(pages)
    alice = pages.browser("alice")
    for do in ("preview", "propose"):
        answer = send(alice, archetype="execution", budget_usd="lots", concurrency="0", do=do)
        shown = unescape(answer.text)
        assert answer.status_code == 200
        assert "This would be rejected" in shown
        assert shown.count('class="wrong"') == 2
        assert 'value="lots"' in shown
    assert "Nothing differs" in unescape(send(alice, archetype="execution", do="propose").text)


@pytest.mark.parametrize(
    ("name", "text", "written"),
    [
        (
            "tools.network",
            "b.example.org, c.example.org",
            "tools: {network: [b.example.org, c.example.org]}",
        ),
        ("tools.network", "full", 'tools: {network: ["*"]}'),
        ("on_success.move", "Review", "on_success: {move: Review}"),
        ("on_failure.move", "Tasks", "on_failure: {move: Tasks}"),
        ("usd_per_day", "12", "usd_per_day: 12.0"),
        ("plan_approval", "required", "plan_approval: required"),
        ("instructions", "Be brief.\nTest it.", 'instructions: "Be brief.\\nTest it."'),
    ],
)
def test_each_kind_of_field_is_written_as_the_policy_wants_it(
    pages: Pages, name: str, text: str, written: str
) -> None:
    policy(pages)
    fields: Any = {"archetype": "execution", name: text, "do": "propose"}
    answer = send(pages.browser("alice"), **fields)
    pull = pages.cardinal.home_repo.issues[number_of(answer)].pull
    assert pull is not None
    git = pages.cardinal.forge.store.repos.git(pages.cardinal.home_repo)
    assert written in git.run("show", f"{pull.head_ref}:{PATH}").decode()


def test_a_column_becomes_one_of_another_kind(pages: Pages) -> None:
    policy(pages)
    shown = unescape(send(pages.browser("alice"), archetype="review", do="preview").text)
    assert "People review here." in shown


class FormReader(HTMLParser):
    """Reads the fields of the settings form, as a browser would send them all."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self._name = ""  # of the textarea or select that is open
        self._is_chosen = False
        self.feed(page.partition('class="settings">')[2].partition("</form>")[0])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: text or "" for name, text in attrs}
        if tag == "input":
            self.fields[given["name"]] = given["value"]
        elif tag in ("textarea", "select"):
            self._name, self._is_chosen = given["name"], tag == "textarea"
            self.fields[self._name] = ""
        elif tag == "option":
            self._is_chosen = "selected" in given

    def handle_data(self, data: str) -> None:
        if self._name and self._is_chosen:
            self.fields[self._name] += data

    def handle_endtag(self, tag: str) -> None:
        if tag in ("textarea", "select"):
            self._name = ""
        elif tag == "option":
            self._is_chosen = False


@pytest.mark.parametrize(
    ("settings", "name", "text", "lines"),
    [
        ({}, "concurrency", "4", ["concurrency: 4"]),
        ({"instructions": '"Be brief.\\nTest it."'}, "concurrency", "4", ["concurrency: 4"]),
        ({"on_success": "{move: Review}"}, "concurrency", "4", ["concurrency: 4"]),
        ({"on_success": "{move: Review}"}, "on_success.move", "", ["on_success: stay"]),
    ],
    ids=["nothing set", "a paragraph", "a route", "a route that goes"],
)
def test_a_browser_sends_all_fields_and_only_the_changed_one_is_written(
    pages: Pages, settings: dict[str, str], name: str, text: str, lines: list[str]
) -> None:
    before = with_column(**settings)
    pages.cardinal.set_policy(before)
    pages.cardinal.catch_up()
    alice = pages.browser("alice")
    fields = FormReader(alice.get(EDIT).text).fields
    assert name in fields
    assert "Nothing differs" in unescape(send(alice, **fields, do="preview").text)
    after = proposed(pages, send(alice, **fields | {name: text}, do="propose"))
    column = parse(after, home="acme/board").board.columns["In Progress"]
    expected = parse(
        with_column(**{**settings, **dict(line.split(": ", 1) for line in lines)}), home="acme/board"
    )
    assert column == expected.board.columns["In Progress"]
    assert all(line in after for line in lines)


RECIPE = "/policy/acme/1/recipes/pipeline"


def test_a_recipe_says_what_it_would_do_and_is_proposed_as_a_whole_board(pages: Pages) -> None:
    policy(pages)
    pages.run()
    alice = pages.browser("alice")
    assert alice.get("/policy/acme/1/recipes").text.count('href="/policy/acme/1/recipes/') == len(
        list_recipes()
    )
    shown = unescape(alice.get(RECIPE).text)
    assert "Columns that your board does not have yet" in shown
    assert "1 in <bdi>In Progress</bdi>" in shown
    answer = send(alice, path=RECIPE)
    text = proposed(pages, answer)
    assert text == start_from(COMMENTED, read_recipe("pipeline"))
    assert text.startswith("# Ask the finance team first.")
    assert number_of(send(alice, path=RECIPE)) == number_of(answer)  # twice is once


def test_a_recipe_that_does_not_fit_the_file_is_not_proposed(pages: Pages) -> None:
    daily = 'schedule: {daily: {cron: "0 7 * * *", title: Look, column: In Progress}}'
    pages.cardinal.set_policy(POLICY.replace("board:\n", f"board:\n  {daily}\n"))
    pages.cardinal.catch_up()
    alice = pages.browser("alice")
    before = set(pages.cardinal.home_repo.issues)
    for answer in (alice.get(RECIPE), send(alice, path=RECIPE)):
        assert "It does not fit the policy file of acme/board" in answer.text
        assert "Propose" not in answer.text
    assert alice.get("/policy/acme/1/recipes/nothing").status_code == 404
    assert set(pages.cardinal.home_repo.issues) == before


def test_readers_may_look_and_only_writers_propose(pages: Pages) -> None:
    policy(pages)
    mallory = pages.browser("mallory")
    fields: Any = {"archetype": "execution", "budget_usd": "9", "do": "propose"}
    for path in (EDIT, RECIPE):
        assert mallory.get(path).status_code == 200
        assert send(mallory, path=path, **fields).status_code == 403
        assert (
            send(pages.browser("alice"), path=path, origin="https://evil.example", **fields).status_code
            == 403
        )
        assert pages.browser("bob", signed_in=False).get(path).status_code == 401
    assert pages.browser("alice").get("/policy/acme/1/edit?column=Nowhere").status_code == 404
    hide(pages.cardinal, "board")
    pages.cardinal.clock.forward(400)
    for path in (EDIT, RECIPE, "/policy/acme/1/recipes"):
        assert mallory.get(path).status_code == 404


def proposed(pages: Pages, answer: TestResponse) -> str:
    """Return the policy file of the pull request that the answer leads to."""
    pull = pages.cardinal.home_repo.issues[number_of(answer)].pull
    assert pull is not None
    git = pages.cardinal.forge.store.repos.git(pages.cardinal.home_repo)
    return git.run("show", f"{pull.head_ref}:{PATH}").decode()


def test_limits_of_the_whole_board_and_the_profile_have_a_form(pages: Pages) -> None:
    policy(pages)
    alice = pages.browser("alice")
    shown = alice.get(WHOLE).text
    assert shown.count('class="primary"') == 1
    assert 'name="archetype"' not in shown
    fields: Any = {"board.limits.runs": "5", "repository.profile": "python_service"}
    wrong: Any = {"board.limits.runs": "0", "board.limits.usd_per_day": "lots"}
    refused = unescape(send(alice, path=WHOLE, **wrong, do="propose").text)
    assert refused.count('class="wrong"') == 2
    preview = unescape(send(alice, path=WHOLE, **fields, do="preview").text)
    assert "<bdi>board.limits.runs</bdi>: <bdi>4</bdi> → <bdi>5</bdi>" in preview
    text = proposed(pages, send(alice, path=WHOLE, **fields, do="propose"))
    changed = parse(text, home="acme/board")
    assert (changed.limits.runs, changed.repository.profile) == (5, "python_service")
    assert text.startswith(COMMENTED.splitlines()[0])


def test_a_file_without_a_board_gets_all_of_the_built_in_one(pages: Pages) -> None:
    pages.cardinal.set_policy("# ours\nversion: 1\nrepository: {validation: none}\n")
    pages.cardinal.catch_up()
    fields: Any = {"archetype": "execution", "budget_usd": "7.5", "do": "propose"}
    text = proposed(pages, send(pages.browser("alice"), **fields))
    assert text.startswith("# ours\nversion: 1\nrepository: {validation: none}\nboard:\n")
    assert [*parse(text, home="acme/board").board.columns] == [*default_policy("acme/board").board.columns]


def test_a_mistake_in_a_column_of_any_name_is_said_at_its_field(pages: Pages) -> None:
    name = 'a: `b` "c" #d.'
    pages.cardinal.set_policy(
        f"version: 1\nboard:\n  columns:\n    Tasks: {{archetype: inbox}}\n"
        f"    {json.dumps(name)}: {{archetype: execution}}\n"
    )
    pages.cardinal.catch_up()
    path = f"/policy/acme/1/edit?{urlencode({'column': name})}"
    fields: Any = {"archetype": "execution", "budget_usd": "lots", "do": "preview"}
    assert send(pages.browser("alice"), path=path, **fields).text.count('class="wrong"') == 1


def test_what_changed_meanwhile_or_stands_on_the_branch_is_not_carried_along(pages: Pages) -> None:
    policy(pages)
    alice, cardinal = pages.browser("alice"), pages.cardinal
    fields: Any = {"archetype": "execution", "budget_usd": "7.5", "do": "propose"}
    cardinal.set_policy("version: 2\n")  # with a mistake, so another one stays in force
    cardinal.catch_up()
    newer = send(alice, **fields)
    assert (newer.status_code, "another policy file by now" in newer.text) == (409, True)
    policy(pages)
    repos, home, bob = cardinal.forge.store.repos, cardinal.home_repo, cardinal.person("bob")
    before, number = set(home.issues), number_of(send(alice, **fields))
    pull = home.issues[number].pull
    assert pull is not None
    cardinal.forge.store.issues.set_state(home.issues[number], "closed", actor=bob)
    repos.write_files(home, pull.head_ref, {"evil.py": b"x"}, "More", actor=bob)
    refused = send(alice, **fields)
    assert (refused.status_code, "other changes, too" in refused.text) == (409, True)
    assert set(home.issues) - before == {number}
