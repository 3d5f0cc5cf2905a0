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
            "b.example.org\r\nc.example.org",
            "tools: {network: [b.example.org, c.example.org]}",
        ),
        ("tools.network", "full", "tools: {network: full}"),
        ("tools.edit", "ask", "tools: {edit: ask}"),
        ("checks", 'grep -q "a, b" x', 'checks: ["grep -q \\"a, b\\" x"]'),
        ("on_success.move", "Review", "on_success: {move: Review}"),
        ("on_failure.move", "Tasks", "on_failure: {move: Tasks}"),
        ("usd_per_day", "12", "usd_per_day: 12"),
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
        self._is_typed = False
        self.feed(page.partition('class="settings">')[2].partition("</form>")[0])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: text or "" for name, text in attrs}
        if tag == "input" or (tag == "button" and "do" not in self.fields):  # the first one: Enter presses it
            self.fields[given["name"]] = given["value"]
        elif tag in ("textarea", "select"):
            self._name, self._is_typed = given["name"], tag == "textarea"
            self.fields[self._name] = ""
        elif tag == "option" and "selected" in given:
            self.fields[self._name] = given["value"]

    def handle_data(self, data: str) -> None:
        if self._name and self._is_typed:
            self.fields[self._name] += data

    def handle_endtag(self, tag: str) -> None:
        if tag in ("textarea", "select"):
            self._name, self._is_typed = "", False


@pytest.mark.parametrize(
    ("settings", "name", "text", "lines"),
    [
        ({}, "concurrency", "4", ["concurrency: 4"]),
        ({"instructions": '"Be brief.\\nTest it."'}, "concurrency", "4", ["concurrency: 4"]),
        ({"on_success": "{move: Review}"}, "concurrency", "4", ["concurrency: 4"]),
        ({"on_success": "{move: Review}"}, "on_success.move", "", []),
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
    assert "Nothing differs" in unescape(send(alice, **fields).text)
    after = proposed(pages, send(alice, **fields | {name: text, "do": "propose"}))
    column = parse(after, home="acme/board").board.columns["In Progress"]
    kept = {key: value for key, value in settings.items() if not name.startswith(key)}
    expected = parse(
        with_column(**{**kept, **dict(line.split(": ", 1) for line in lines)}), home="acme/board"
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


def test_a_rule_is_added_filled_in_and_proposed(pages: Pages) -> None:
    policy(pages)
    alice = pages.browser("alice")
    fields = FormReader(alice.get(EDIT).text).fields
    added = send(alice, **fields | {"do": "add:on_exit:ai_task"}).text
    assert "What this would do" not in added  # nobody asked yet
    fields = FormReader(added).fields
    assert fields["on_exit.0.action"] == "ai_task"
    wrong = unescape(send(alice, **fields | {"do": "propose"}).text)
    assert wrong.count('class="wrong"') == 1
    fields["on_exit.0.prompt"] = "Which *parts*: `%{title}` # touch?\n- all"
    text = proposed(pages, send(alice, **fields | {"do": "propose"}))
    column = parse(text, home="acme/board").board.columns["In Progress"]
    assert column.on_exit == ({"action": "ai_task", "prompt": "Which *parts*: `%{title}` # touch?\n- all"},)
    assert column.on_entry is None
    assert text.startswith("# Ask the finance team first.")


NEW = "/policy/acme/1/edit?part=new"


def test_a_column_of_any_name_is_added_behind_the_others(pages: Pages) -> None:
    policy(pages)
    alice = pages.browser("alice")
    for name in ("Blocked", 'a: "b" #c {d} <e> `f`', "🏗 \\ %{x} - *y", "null"):
        fields: Any = FormReader(alice.get(f"{NEW}&{urlencode({'column': name})}").text).fields
        assert fields["called"] == name
        fields["archetype"] = "review"
        shown = unescape(send(alice, path=NEW, **fields).text)
        assert "<bdi>not in the policy</bdi>" in shown
        assert "Columns that your board does not have yet" in shown
        text = proposed(pages, send(alice, path=NEW, **fields | {"do": "propose"}))
        assert [*parse(text, home="acme/board").board.columns][-1] == name
        assert [it for it in COMMENTED.splitlines() if it not in text.splitlines()] == []


def test_a_column_without_a_name_of_its_own_is_not_added(pages: Pages) -> None:
    policy(pages)
    alice = pages.browser("alice")
    wrong = {"": "needs the name", "review": "of that name already", "n" * 101: "at most 100 characters"}
    for name, said in wrong.items():
        answer = send(alice, path=NEW, called=name, archetype="inbox", do="propose")
        assert said in answer.text
        assert "draft pull request" not in answer.text


ROUTED = with_column(on_success="{move: Review}")


def test_a_column_is_renamed_with_all_that_leads_to_it(pages: Pages) -> None:
    pages.cardinal.set_policy(ROUTED)
    pages.cardinal.catch_up()
    alice = pages.browser("alice")
    path = "/policy/acme/1/edit?column=Review"
    fields: Any = FormReader(alice.get(path).text).fields | {"called": "Look: at it"}
    shown = unescape(send(alice, path=path, **fields).text)
    assert "Columns that your board does not have yet" in shown
    text = proposed(pages, send(alice, path=path, **fields | {"do": "propose"}))
    assert text == ROUTED.replace("    Review:", '    "Look: at it":').replace(
        "move: Review", 'move: "Look: at it"'
    )


def test_a_column_that_goes_leaves_no_way_to_it(pages: Pages) -> None:
    pages.cardinal.set_policy(ROUTED)
    pages.cardinal.catch_up()
    pages.run()
    alice = pages.browser("alice")
    path = "/policy/acme/1/edit?part=remove&column="
    assert "needs a column" not in alice.get(f"{path}Review").text
    stopped = unescape(send(alice, path=f"{path}Review", do="propose").text)
    assert "board.columns.In Progress.on_success.move would lead nowhere" in stopped
    text = proposed(pages, send(alice, path=f"{path}Review", instead="QA", do="propose"))
    gone = [line for line in ROUTED.splitlines() if "Review:" not in line]
    assert text.splitlines() == [line.replace("move: Review", "move: QA") for line in gone]
    left = unescape(send(alice, path=f"{path}In%20Progress", do="preview").text)
    assert "1 in <bdi>In Progress</bdi>" in left
    assert alice.get(f"{path}Nowhere").status_code == 404


def test_a_form_that_is_older_than_the_policy_undoes_nothing_unseen(pages: Pages) -> None:
    policy(pages)
    alice = pages.browser("alice")
    old: Any = FormReader(alice.get(EDIT).text).fields | {"concurrency": "4", "do": "propose"}
    pages.cardinal.set_policy(with_column(budget_usd="9"))
    pages.cardinal.catch_up()
    shown = unescape(send(alice, **old).text)
    assert "has changed since you opened this form" in shown
    assert "<bdi>budget_usd</bdi>: <bdi>9.0</bdi> → <bdi>2.0</bdi>" in shown
    fields: Any = FormReader(shown).fields | {"budget_usd": "9", "do": "propose"}
    column = parse(proposed(pages, send(alice, **fields)), home="acme/board").board.columns["In Progress"]
    assert (column.budget_usd, column.concurrency) == (9, 4)


def test_a_form_that_is_too_large_is_refused_in_a_sentence(pages: Pages) -> None:
    policy(pages)
    alice = pages.browser("alice")
    answer = send(alice, archetype="execution", instructions="x" * 300_000, do="propose")
    assert (answer.status_code, "Go back and shorten it" in answer.text) == (413, True)
    long = unescape(send(alice, archetype="execution", instructions="x" * 70_000, do="propose").text)
    assert "larger than 64 KiB" in long


def test_the_boards_gear_opens_the_form_of_its_column(pages: Pages) -> None:
    policy(pages)
    alice = pages.browser("alice")
    assert 'href="/policy/acme/1/edit?column=In+Progress"' in alice.get("/boards/acme/1").text
    alike = alice.get(f"/policy/acme/1/edit?{urlencode({'column': '🏗 in progress'})}").text
    assert 'name="called" value="In Progress"' in alike
