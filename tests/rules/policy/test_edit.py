"""A setting is changed in a file; comments, order and form of the rest stay to the byte."""

import json
from difflib import unified_diff

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from bot.repo_config.recipes import list_recipes, read_recipe
from rules.errors import PolicyError
from rules.policy.edit import rename_group, set_settings, start_from, write_built_in_board, write_tree
from rules.policy.model import DEFAULT_TEXT, parse
from rules.policy.yaml_reader import MAX_BYTES, read

TEXT = """\
# The shop's board.
version: 1
board:
    columns:
        Tasks: {archetype: inbox}   # ideas
        "In Progress":
            # Dear: see the finance page.
            archetype: execution
            budget_usd: 2.00  # dollars
            instructions: |
                Be brief.
                Test it.
            tools:
                network:  # one
                - b.example.org
                # two
        Done: {archetype: terminal,}
repository:
    validation: none
"""
DOING = ("board", "columns", "In Progress")


def changed_lines(before: str, after: str) -> list[str]:
    lines = list(unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm=""))[2:]
    return [it for it in lines if not it.startswith("@@")]


def test_a_value_is_replaced_and_its_comment_stays() -> None:
    after = set_settings(TEXT, {(*DOING, "budget_usd"): 3.5})
    assert changed_lines(TEXT, after) == [
        "-            budget_usd: 2.00  # dollars",
        "+            budget_usd: 3.5  # dollars",
    ]


@pytest.mark.parametrize(
    ("key", "value", "added"),
    [
        ((*DOING, "model"), "large", "            model: large"),
        ((*DOING, "tools", "ask"), ["git push"], "                ask: [git push]"),
        ((*DOING, "resources", "cpus"), 2, "            resources: {cpus: 2}"),
        (("board", "limits", "runs"), 4, "    limits: {runs: 4}"),
        ((*DOING, "plan_approval"), "off", "            plan_approval: off"),
        ((*DOING, "usd_per_day"), 0.00001, "            usd_per_day: 0.00001"),
    ],
)
def test_a_missing_setting_is_one_more_line(key: tuple[str, ...], value: object, added: str) -> None:
    assert changed_lines(TEXT, set_settings(TEXT, {key: value})) == [f"+{added}"]


def test_settings_in_braces_stay_in_them() -> None:
    after = set_settings(
        TEXT, {("board", "columns", "Tasks", "model"): "a", ("board", "columns", "Done", "model"): "b"}
    )
    assert "        Tasks: {archetype: inbox, model: a}   # ideas\n" in after
    assert "        Done: {archetype: terminal, model: b,}\n" in after


def test_texts_of_several_lines_and_lists_are_replaced_whole() -> None:
    after = set_settings(
        TEXT, {(*DOING, "instructions"): "One.\nTwo.\n", (*DOING, "tools", "network"): ["a.org", "b.org"]}
    )
    column = read(after).tree["board"]["columns"]["In Progress"]
    assert (column["instructions"], column["tools"]) == ("One.\nTwo.\n", {"network": ["a.org", "b.org"]})
    assert all(comment in after for comment in ("# Dear", "# one", "# two"))


@pytest.mark.parametrize("text", ["version: 1\nboard: none\n", "version: [\n", "- 1\n", ""])
def test_what_has_no_such_place_is_refused(text: str) -> None:
    with pytest.raises(PolicyError):
        set_settings(text, {("board", "columns", "X", "model"): "a"})


@given(
    value=st.one_of(
        st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), max_size=40),
        st.integers(-(10**9), 10**9),
        st.booleans(),
        st.lists(st.text(st.characters(codec="ascii", categories=("L", "N", "P")), max_size=10), max_size=3),
    ),
    place=st.sampled_from(
        [DOING, ("board", "columns", "Tasks"), ("board", "columns", "Done"), ("repository",)]
    ),
    name=st.sampled_from(["model", "budget_usd", "instructions", "validation", "tools"]),
)
def test_any_value_is_read_back_as_it_was_given(value: object, place: tuple[str, ...], name: str) -> None:
    tree = read(set_settings(TEXT, {(*place, name): value})).tree
    for part in (*place, name):
        tree = tree[part]
    assert tree == value


def test_the_built_in_board_can_be_the_start() -> None:
    after = set_settings(DEFAULT_TEXT, {(*DOING, "budget_usd"): 5.0})
    column = parse(after, home="acme/board").column("In Progress")
    assert column is not None
    assert column.budget_usd == 5.0


@pytest.mark.parametrize(
    ("gone", "lines"),
    [
        (("budget_usd",), ["-            budget_usd: 2.00  # dollars"]),
        (("archetype",), ["-            archetype: execution"]),
        (
            ("instructions",),
            ["-            instructions: |", "-                Be brief.", "-                Test it."],
        ),
        (
            ("archetype", "budget_usd", "instructions"),
            [
                "-            archetype: execution",
                "-            budget_usd: 2.00  # dollars",
                "-            instructions: |",
                "-                Be brief.",
                "-                Test it.",
            ],
        ),
        (
            ("instructions", "tools"),
            [
                "-            instructions: |",
                "-                Be brief.",
                "-                Test it.",
                "-            tools:",
                "-                network:  # one",
                "-                - b.example.org",
            ],
        ),
    ],
)
def test_what_goes_takes_its_lines_and_no_others(gone: tuple[str, ...], lines: list[str]) -> None:
    tree = read(TEXT).tree
    column = tree["board"]["columns"]["In Progress"]
    for key in gone:
        column.pop(key, None)
    assert changed_lines(TEXT, write_tree(TEXT, tree)) == lines


LISTED = """board:
  stages:
  # The first.
  - name: a
    next: [b]
  - {name: b, model: x, cleanup: [one, two]}  # the second
  - name: c
  # The end.
"""


@pytest.mark.parametrize(
    ("stages", "lines"),
    [
        (["b", "c"], ["-  - name: a", "-    next: [b]"]),
        (["a", "c"], ["-  - {name: b, model: x, cleanup: [one, two]}  # the second"]),
        (["a", "b"], ["-  - name: c"]),
        (["a", "b", "c", "d"], ["+  - {name: d}"]),
        (["d", "a", "b", "c"], ["+  - {name: d}"]),
        (["a", "d", "b", "c"], ["+  - {name: d}"]),
        (["a", "b", "d"], ["-  - name: c", "+  - name: d"]),
    ],
)
def test_an_item_comes_or_goes_and_the_others_stay(stages: list[str], lines: list[str]) -> None:
    tree = read(LISTED).tree
    known = {it["name"]: it for it in tree["board"]["stages"]}
    tree["board"]["stages"] = [known.get(name, {"name": name}) for name in stages]
    assert changed_lines(LISTED, write_tree(LISTED, tree)) == lines


@pytest.mark.parametrize(
    ("after", "line"),
    [
        ({"name": "b", "cleanup": ["one", "two"]}, "{name: b, cleanup: [one, two]}"),
        ({"model": "x"}, "{model: x}"),
        ({"name": "b", "model": "x", "cleanup": ["two"]}, "{name: b, model: x, cleanup: [two]}"),
        ({"name": "b", "model": "y", "to": 1}, "{name: b, model: y, to: 1}"),
        ({"cleanup": ["zero", "one", "three", "two", "four"]}, "{cleanup: [zero, one, three, two, four]}"),
        ({"name": "b", "model": "x", "cleanup": []}, "{name: b, model: x, cleanup: []}"),
        ({}, "{}"),
    ],
)
def test_what_goes_from_braces_takes_its_comma(after: dict[str, object], line: str) -> None:
    tree = read(LISTED).tree
    tree["board"]["stages"][1] = after
    assert f"  - {line}  # the second\n" in write_tree(LISTED, tree)


TREES = st.recursive(
    st.one_of(st.integers(0, 9), st.booleans(), st.sampled_from(["", "a", "b: #c", "- x", "off"])),
    lambda part: st.one_of(
        st.lists(part, max_size=4),
        st.dictionaries(st.sampled_from(["a", "b", "c", "d: e", "#"]), part, max_size=4),
    ),
    max_leaves=12,
)


@given(before=TREES, after=TREES, is_flow=st.sampled_from([True, False, None]))
def test_any_file_becomes_any_other(before: object, after: object, is_flow: bool | None) -> None:
    text = yaml.safe_dump({"version": 1, "it": before}, default_flow_style=is_flow)
    tree = {"version": 1, "it": after}
    assume(read(text).tree == {"version": 1, "it": before})
    assert read(write_tree(text, tree)).tree == tree
    assert write_tree(text, read(text).tree) == text  # what it says already stays to the byte


def test_a_key_gets_another_name_in_its_place() -> None:
    after = rename_group(TEXT, DOING, 'a: "b" #c')
    assert changed_lines(TEXT, after) == ['-        "In Progress":', '+        "a: \\"b\\" #c":']
    assert [*read(after).tree["board"]["columns"]] == ["Tasks", 'a: "b" #c', "Done"]
    for key, name in ((DOING, "Tasks"), ((*DOING[:2], "None"), "X")):
        with pytest.raises(PolicyError):
            rename_group(TEXT, key, name)


NAMES = [
    "N" * 900,
    "a \"b\" 'c'",
    "a: b",
    "a #b",
    "\U0001f3d7 In progress",
    *("*x", "&x", "!x", "{x}", "[x]", "%x", "@x", "`x", "? x", "- x", "12", "true", "null", " x ", "a.b"),
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rest", ["{archetype: execution} # x", "\n      archetype: execution # x"])
def test_a_column_of_any_name_gets_a_setting_and_all_else_stays(name: str, rest: str) -> None:
    quoted = json.dumps(name, ensure_ascii=False)
    text = f"version: 1\nboard:\n  columns:\n    {quoted}: {rest}\n    Last: {{archetype: inbox}}\n"
    after = set_settings(text, {("board", "columns", name, "budget_usd"): 3.5})
    assert read(after).tree["board"]["columns"][name] == {"archetype": "execution", "budget_usd": 3.5}
    added = ", budget_usd: 3.5" if rest.startswith("{") else "\n      budget_usd: 3.5"
    assert after.replace(added, "", 1) == text


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_added_lines_end_as_those_of_the_file(mark: str, ending: str) -> None:
    changes: dict[tuple[str, ...], object] = {(*DOING, "model"): "large", ("board", "limits", "runs"): 4}
    made = set_settings(mark + TEXT.replace("\n", ending), changes)
    assert made == mark + set_settings(TEXT, changes).replace("\n", ending)
    of_repository = f"{mark}version: 1{ending}repository: {{}}{ending}"
    assert "\n" not in write_built_in_board(of_repository).replace("\r\n", "").replace("\r", "")


def test_a_setting_goes_before_the_comma_and_the_comment_behind_the_last_one() -> None:
    text = "{version: 1, board: {columns: {\n  Doing: {archetype: execution, # why\n  },\n}}}\n"
    after = set_settings(text, {("board", "columns", "Doing", "model"): "a"})
    assert after == text.replace("execution, # why", "execution, model: a, # why")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TEXT.replace("Tasks: {", "Tasks:\t{"), "line 5: a tab is here: write spaces"),
        (TEXT.replace("    columns", "\tcolumns"), "line 4: a tab is here: write spaces"),
        (
            TEXT.replace("{archetype: inbox}", "&a {archetype: inbox}\n        B: *a"),
            "aliases are not allowed",
        ),
        (TEXT.replace("2.00", "!!float 2"), "tags are not allowed"),
        (TEXT.replace("Done:", "Tasks:"), "`Tasks` appears twice, first in line 5"),
        (TEXT + "#" * (MAX_BYTES - len(TEXT)), "with this change the file is larger than 64 KiB: shorten it"),
        (TEXT + "#" * MAX_BYTES, "the file is larger than 64 KiB: shorten it"),
        (
            TEXT.replace("tools:\n", "model: |+\n                x\n\n            #\n#", 1).replace(
                "                network:  # one\n                - b.example.org\n", ""
            ),
            "the file's form cannot be kept: edit it by hand",
        ),
    ],
)
def test_a_file_that_cannot_be_changed_says_what_to_do(text: str, said: str) -> None:
    with pytest.raises(PolicyError) as refused:
        set_settings(text, {(*DOING, "usd_per_day"): 3.5, ("board", "limits", "runs"): 4})
    assert said in str(refused.value)


@pytest.mark.parametrize("end", ["\n", "", "# end", "\n# end\n"])
def test_a_file_without_a_board_gets_all_of_the_built_in_one(end: str) -> None:
    """With one of its columns alone, the others would be gone."""
    text = f"# ours\nversion: 1\nrepository: {{validation: none}}{end}"
    after = set_settings(write_built_in_board(text), {(*DOING, "budget_usd"): 5.0})
    assert after.startswith(text)
    before = parse(text, home="acme/board")
    assert [*parse(after, home="acme/board").board.columns] == [*before.board.columns]
    assert write_built_in_board(after) == after


@pytest.mark.parametrize("text", ["{version: 1}\n", "version: 1\n...\n"])
def test_a_board_that_cannot_be_added_is_added_by_hand(text: str) -> None:
    with pytest.raises(PolicyError, match="edit it by hand"):
        write_built_in_board(text)


OURS = """\
version: 1
# Ours.
board:
    home: acme/board   # here
    columns:
        Tasks: {archetype: inbox}
        Doing: {archetype: execution}
    # What the team may spend.
    limits: {runs: 1}
repository: {validation: {fast: ["make lint"]}}
"""
RECIPES = list_recipes()


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize(
    "ours",
    [
        OURS,
        OURS.replace("\n", "\r\n"),
        "version: 1\n",
        '{version: 1, "board": {columns: {A: {archetype: inbox}}}}',
    ],
)
def test_a_recipe_replaces_the_columns_and_all_else_that_the_file_says_stays(name: str, ours: str) -> None:
    recipe = read_recipe(name)
    after = start_from(ours, recipe)
    tree, other, before = read(after).tree, read(recipe).tree, read(ours).tree
    assert tree["board"]["columns"] == other["board"]["columns"]
    assert [line for line in ours.splitlines() if "#" in line or "make lint" in line] == [
        line
        for line in after.splitlines()
        if line in ours.splitlines() and ("#" in line or "make lint" in line)
    ]
    kept, added = before.get("board", {}), other["board"]
    assert tree["board"].get("home") == kept.get("home")
    assert tree["board"].get("limits", {}) == {**added.get("limits", {}), **kept.get("limits", {})}
    assert {**other, **before, "board": tree["board"]} == tree
    assert {key: tree["board"].get(key) for key in added.keys() - {"home", "limits"}} == {
        key: value for key, value in added.items() if key not in {"home", "limits"}
    }
    assert start_from(after, recipe) == after  # twice is once
