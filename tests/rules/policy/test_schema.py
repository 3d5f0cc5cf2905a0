"""The schema for editors: it takes every file that Cardinal takes, and sees the common mistakes."""

import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from rules.errors import PolicyError
from rules.policy.model import DEFAULT_TEXT, parse
from rules.policy.schema import (
    FILE,
    LINE,
    find_columns,
    lead_elsewhere,
    name_schema,
    policy_schema,
    schema_text,
)
from rules.policy.yaml_reader import read

DOCS = Path(__file__).parents[3] / "docs"
FENCED = re.compile(r"```yaml\n(.*?)```", re.DOTALL)
COLUMN = "version: 1\nboard:\n  columns:\n    Doing: {{archetype: execution{more}}}\n"


@pytest.fixture(scope="module")
def schema() -> Draft202012Validator:
    made = policy_schema()
    Draft202012Validator.check_schema(made)
    return Draft202012Validator(made)


def test_every_file_of_the_documentation_that_cardinal_takes_is_right(schema: Draft202012Validator) -> None:
    found = [text for page in DOCS.rglob("*.md") for text in FENCED.findall(page.read_text())]
    files = [f"version: 1\n{text.replace('version: 1', '')}" for text in (DEFAULT_TEXT, *found)]
    taken = 0
    for text in files:
        try:
            parse(text, home="acme/board")
        except PolicyError:
            continue
        taken += 1
        assert list(schema.iter_errors(read(text).tree)) == [], text
    assert taken > 20


@pytest.mark.parametrize(
    "more",
    [
        ", tools: {network: none}",
        ", tools: {network: [b.example.org]}",
        ", on_success: stay",
        ", on_success: {move: Review}",
        ", agents: [codex], retry: {with: codex}",
        ", plan_approval: off",
    ],
)
def test_what_is_written_in_several_ways_is_right_in_each(schema: Draft202012Validator, more: str) -> None:
    assert list(schema.iter_errors(read(COLUMN.format(more=more)).tree)) == []


@pytest.mark.parametrize(
    ("more", "about"),
    [
        (", budgett: 3", "budgett"),
        (", budget: high", "high"),
        (", on_success: leave", "leave"),
        (", tools: {edit: maybe}", "maybe"),
        (", retry: {then: codex}", "then"),
        (", on_entry: [{action: merge, methods: squash}]", "methods"),
        (", on_exit: [{action: ai_tusk, prompt: x}]", "ai_tusk"),
    ],
)
def test_a_mistake_is_seen_in_an_editor(schema: Draft202012Validator, more: str, about: str) -> None:
    text = COLUMN.format(more=more)
    (error,) = schema.iter_errors(read(text).tree)
    assert about in error.message
    with pytest.raises(PolicyError):
        parse(text, home="acme/board")


def test_an_archetype_that_does_not_exist_is_seen(schema: Draft202012Validator) -> None:
    text = COLUMN.format(more="").replace("execution", "executing")
    assert ["executing" in it.message for it in schema.iter_errors(read(text).tree)] == [True]


def test_descriptions_are_plain_text() -> None:
    assert not re.search(r"\]\([#a-z]", schema_text())
    assert "rebased and checked again, by a run" in schema_text()  # a link, in the reference


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_file_gets_the_line_of_its_schema_once_and_keeps_its_bytes(mark: str, ending: str) -> None:
    rest = f"# ours{ending}version: 1{ending}repository: {{validation: none}}{ending}"
    made = name_schema(mark + rest, FILE)
    assert made == f"{mark}{LINE}{FILE}{ending}{rest}"
    assert name_schema(made, "https://cardinal.example/policy.schema.json") == made
    assert parse(made, home="acme/board") == parse(mark + rest, home="acme/board")


def test_what_names_a_column_is_found_and_led_elsewhere() -> None:
    tree = read(
        """
version: 1
board:
  columns:
    Doing:
      archetype: execution
      instructions: Review
      on_success: {move: Review}
      on_failure: stay
      pipelines: {columns: [Doing, review]}
    Review: {archetype: review, on_entry: [{action: ai_task, prompt: Review}]}
  workflows: {w: {stages: [{name: Review, persona: p}], on_success: {move: "👀 Review"}}}
  schedule: {daily: {cron: "0 7 * * *", title: Review, column: Review}}
"""
    ).tree
    assert set(find_columns(tree, "Review")) == {
        ("board", "columns", "Doing", "on_success", "move"),
        ("board", "columns", "Doing", "pipelines", "columns", 1),
        ("board", "workflows", "w", "on_success", "move"),
        ("board", "schedule", "daily", "column"),
    }
    lead_elsewhere(tree, "Review", "QA")
    assert list(find_columns(tree, "Review")) == []
    assert len(list(find_columns(tree, "QA"))) == 4
