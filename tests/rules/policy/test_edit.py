"""A setting is changed in a file; comments, order and form of the rest stay to the byte."""

from difflib import unified_diff

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.errors import PolicyError
from rules.policy.edit import change_text
from rules.policy.model import DEFAULT_TEXT, parse
from rules.policy.yaml_reader import read

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
    after = change_text(TEXT, {(*DOING, "budget_usd"): 3.5})
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
    ],
)
def test_a_missing_setting_is_one_more_line(key: tuple[str, ...], value: object, added: str) -> None:
    assert changed_lines(TEXT, change_text(TEXT, {key: value})) == [f"+{added}"]


def test_settings_in_braces_stay_in_them() -> None:
    after = change_text(
        TEXT, {("board", "columns", "Tasks", "model"): "a", ("board", "columns", "Done", "model"): "b"}
    )
    assert "        Tasks: {archetype: inbox, model: a}   # ideas\n" in after
    assert "        Done: {archetype: terminal, model: b}\n" in after


def test_texts_of_several_lines_and_lists_are_replaced_whole() -> None:
    after = change_text(
        TEXT, {(*DOING, "instructions"): "One.\nTwo.\n", (*DOING, "tools", "network"): ["a.org", "b.org"]}
    )
    column = read(after).tree["board"]["columns"]["In Progress"]
    assert (column["instructions"], column["tools"]) == ("One.\nTwo.\n", {"network": ["a.org", "b.org"]})
    assert all(comment in after for comment in ("# Dear", "# one", "# two"))


@pytest.mark.parametrize("text", ["version: 1\nboard: none\n", "version: [\n", "- 1\n", ""])
def test_what_has_no_such_place_is_refused(text: str) -> None:
    with pytest.raises(PolicyError):
        change_text(text, {("board", "columns", "X", "model"): "a"})


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
    tree = read(change_text(TEXT, {(*place, name): value})).tree
    for part in (*place, name):
        tree = tree[part]
    assert tree == value


def test_the_built_in_board_can_be_the_start() -> None:
    after = change_text(DEFAULT_TEXT, {(*DOING, "budget_usd"): 5.0})
    column = parse(after, home="acme/board").column("In Progress")
    assert column is not None
    assert column.budget_usd == 5.0
