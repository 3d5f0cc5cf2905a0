"""The form of a policy has a field for every key, and what it sends back is what it was given."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from pydantic import BaseModel

from bot.repo_config.recipes import list_recipes, read_recipe
from bot.web.acting.policy_form import FieldKind, FormField, PolicyForm, place_problems
from rules.errors import PolicyError
from rules.policy.column import ColumnPolicy
from rules.policy.model import DEFAULT_TEXT, parse
from rules.policy.schema import policy_schema, spec_at
from rules.policy.yaml_reader import read
from rules.registry import ACTIONS

START = [{"action": "start_run"}]
ALL = {
    "archetype": "execution",
    "agents": ["codex", "claude/opus"],
    "budget_usd": 2.5,
    "usd_per_day": 30,
    "instructions": "Be brief.\nTest: it, twice.\n",
    "checks": ['grep -q "a, b" report.md', "true"],
    "retry": {"with": "codex"},
    "effort": "high",
    "tools": {"edit": "deny", "network": "full", "ask": ["git push:*", "npm publish:*"], "mcp": []},
    "resources": {"cpus": 1.5},
    "secrets": [{"name": "KEY", "host": "a.example.org"}],
    "stages": [
        {"name": "do", "persona": "senior-engineer", "next": ["check"], "tools": {"network": "none"}},
        {"name": "check", "persona": "tester", "approval": "required"},
    ],
    "on_entry": [
        {"action": "ai_task", "prompt": "Tag %{title}", "brief": True, "labels": ["a", "b"]},
        *START,
    ],
    "on_exit": [],
    "on_success": {"move": "Review"},
    "on_failure": "stay",
    "pipelines": {"columns": ["Review"], "start": True},
}


def form(*defaults: list[dict[str, Any]]) -> PolicyForm:
    names = {"column": ("Doing", "Review")}
    return PolicyForm(spec_at("board", "columns", ""), names, {"on_entry": defaults or ([*START],)})


def flat(fields: tuple[FormField, ...]) -> Iterator[FormField]:
    for it in fields:
        yield it
        yield from flat(it.parts)


def sent(fields: tuple[FormField, ...]) -> dict[str, str]:
    """Return what a browser sends of a form that nobody touched."""
    return {it.name: it.value.strip() for it in flat(fields) if it.kind is not FieldKind.GROUP}


def change(tree: Mapping[str, Any], **given: str) -> dict[str, Any]:
    """Return the tree once somebody has changed fields, and nothing else."""
    shown = form()
    return form().read(
        tree, {**sent(shown.fields(tree)), **{k.replace("__", "."): v for k, v in given.items()}}
    )


def keys_of(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, info in model.model_fields.items():
        inner = info.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from keys_of(inner, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def test_every_key_of_a_column_and_of_its_items_has_a_field() -> None:
    every = [{"action": name} for name in ACTIONS.names()]
    tree = {"archetype": "execution", "stages": [{}], "secrets": [{}], "on_exit": every}
    names = {it.name for it in flat(form().fields(tree))}
    wanted = set(keys_of(ColumnPolicy)) - {"on_success", "on_failure", "on_changes_requested", "retry"}
    wanted |= {"on_success.move", "on_failure.move", "on_changes_requested.move", "retry.with"}
    for index, (_, part) in enumerate(ACTIONS.all()):
        wanted |= set(keys_of(part.Settings, f"on_exit.{index}."))
    wanted |= {"stages.0.persona", "stages.0.tools.network", "secrets.0.header"}
    assert wanted <= names


def test_words_come_from_the_policys_own_model() -> None:
    fields = {it.name: it for it in flat(form().fields({"archetype": "execution", "on_exit": [*START]}))}
    network, edit, move = fields["tools.network"], fields["tools.edit"], fields["on_success.move"]
    assert (edit.label, edit.value, edit.choices) == ("Edit", "allow", ("allow", "ask", "deny"))
    assert edit.meaning == "Change files of the workspace."
    assert (network.kind, network.meaning) == (FieldKind.LINES, "none, a list of host names, or full.")
    assert (move.label, move.choices) == ("After success, move to", ("", "Doing", "Review"))
    assert fields["effort"].choices == ("", "low", "medium", "high")
    assert fields["instructions"].kind is FieldKind.PARAGRAPH
    assert fields["pipelines.start"].choices == ("false", "true")
    assert fields["on_exit.0"].label == "1. start_run"
    assert {word for word, _ in fields["on_exit"].adds} == set(ACTIONS.names())
    assert fields["on_entry"].value == "-"  # by default, not in the file
    assert fields["archetype"].choices == ("execution", "inbox", "planning", "review", "terminal")


def columns() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "all", ALL
    for name, text in (("built in", DEFAULT_TEXT), *((it, read_recipe(it)) for it in list_recipes())):
        for column, tree in read(text).tree["board"]["columns"].items():
            yield f"{name}: {column}", tree


@pytest.mark.parametrize(("name", "tree"), [*columns()])
def test_a_form_that_nobody_touched_changes_nothing(name: str, tree: dict[str, Any]) -> None:
    assert form().read(tree, sent(form().fields(tree))) == tree
    assert form().read(tree, {}) == tree


@pytest.mark.parametrize(
    ("tree", "given", "key", "value"),
    [
        ({}, {"tools__edit": "ask"}, "tools", {"edit": "ask"}),
        ({"tools": {"edit": "ask"}}, {"tools__edit": "allow"}, "tools", {"edit": "allow"}),
        ({}, {"tools__network": "full"}, "tools", {"network": "full"}),
        (
            {},
            {"tools__network": "a.org\r\n\n b.org ".replace("\r", "")},
            "tools",
            {"network": ["a.org", "b.org"]},
        ),
        ({}, {"tools__ask": "git push:*"}, "tools", {"ask": ["git push:*"]}),
        ({}, {"tools__mcp": "none"}, "tools", {"mcp": []}),
        ({"tools": {"ask": ["a"]}}, {"tools__ask": ""}, "tools", None),
        ({"tools": {"ask": ["a"], "edit": "deny"}}, {"tools__ask": ""}, "tools", {"edit": "deny"}),
        ({}, {"budget_usd": "7.5"}, "budget_usd", 7.5),
        ({}, {"budget_usd": "7"}, "budget_usd", 7),
        ({}, {"budget_usd": "lots"}, "budget_usd", "lots"),
        ({}, {"budget_usd": "1e400"}, "budget_usd", "1e400"),
        ({}, {"budget_usd": "9" * 30}, "budget_usd", "9" * 30),
        ({}, {"concurrency": "٣"}, "concurrency", "٣"),
        ({}, {"concurrency": "2.5"}, "concurrency", "2.5"),
        ({"usd_per_day": 3}, {"usd_per_day": ""}, "usd_per_day", None),
        ({"on_success": {"move": "Review"}}, {"on_success__move": ""}, "on_success", None),
        ({"on_success": "stay"}, {"on_success__move": "Doing"}, "on_success", {"move": "Doing"}),
        ({}, {"retry__with": "codex"}, "retry", {"with": "codex"}),
        ({}, {"pipelines__start": "true"}, "pipelines", {"start": True}),
        ({}, {"on_entry": ""}, "on_entry", []),
        ({}, {"on_entry": "-", "on_entry__0__action": "merge"}, "on_entry", [{"action": "merge"}]),
        ({"on_exit": [*START]}, {"on_exit": ""}, "on_exit", None),
    ],
)
def test_each_kind_of_field_is_read_as_the_policy_has_it(
    tree: dict[str, Any], given: dict[str, str], key: str, value: object
) -> None:
    tree = {"archetype": "execution", **tree}
    after = change(tree, **given)
    assert after.get(key) == value
    assert {name: its for name, its in after.items() if name != key} == {
        name: its for name, its in tree.items() if name != key
    }


@pytest.mark.parametrize("origins", ["7", "-1", "x", "٣", "00000", ","])
def test_items_that_the_file_does_not_have_are_new_ones(origins: str) -> None:
    tree = {"archetype": "inbox", "on_exit": [{"action": "merge", "method": "rebase"}]}
    after = form().read(tree, {"on_exit": origins, "on_exit.0.action": "ready"})
    assert after.get("on_exit", []) == ([{"action": "ready"}] if origins != "," else [])


@pytest.mark.parametrize(
    ("do", "prompts"),
    [
        ("add:on_exit:ai_task", ["a", "b", None]),
        ("remove:on_exit:0", ["b"]),
        ("up:on_exit:1", ["b", "a"]),
        ("up:on_exit:0", ["a", "b"]),
        ("remove:on_exit:9", ["a", "b"]),
        ("remove:on_exit:-1", ["a", "b"]),
        ("remove:on_entry:0", ["a", "b"]),
        ("remove:on_exit", ["a", "b"]),
        ("add:on_exit:explode", ["a", "b"]),
        ("explode", ["a", "b"]),
    ],
)
def test_buttons_change_a_list_and_the_form_shows_it(do: str, prompts: list[str | None]) -> None:
    tasks = [{"action": "ai_task", "prompt": "a", "model": "small"}, {"action": "ai_task", "prompt": "b"}]
    tree = {"archetype": "inbox", "on_exit": tasks}
    first = form()
    second = form()
    after = second.read(tree, {**sent(first.fields(tree)), "do": do})
    assert [it.get("prompt") for it in after["on_exit"]] == prompts
    # Sent again, it is the same: each item still knows its own in the file.
    assert form().read(tree, sent(second.fields(after))) == after


def test_another_kind_of_column_brings_its_own_rules() -> None:
    tree = {"archetype": "execution"}
    given = {**sent(form().fields(tree)), "archetype": "review"}
    assert form([], [*START]).read(tree, given) == {"archetype": "review"}
    assert sent(form([], [*START]).fields({"archetype": "review"}))["on_entry"] == ""


@pytest.mark.parametrize(
    ("rules", "name", "said"),
    [
        ("budget_usd: lots", "budget_usd", "number"),
        ("tools: {edit: maybe}", "tools.edit", "unknown value `maybe`"),
        ("tools: {network: [a, 1]}", "tools.network", "string"),
        ("on_success: {move: Nowhere}", "on_success.move", "unknown column `Nowhere`"),
        ("retry: {with: codex}", "retry.with", "is not one of the column's `agents`"),
        ("on_exit: [{action: ai_task, prompt: x}, {action: ai_task}]", "on_exit.1.prompt", "is missing"),
        ("on_exit: [{action: merge}]", "on_exit.0", "merge fits columns of kind"),
        ("stages: [{name: a, persona: p, tools: {edit: x}}]", "stages.0.tools.edit", "unknown value `x`"),
        ("budgett_usd: 1", "", "budgett_usd: unknown key"),
    ],
)
def test_a_problem_is_said_at_its_field(rules: str, name: str, said: str) -> None:
    column = 'a: `b` "c" #d.'
    text = f"version: 1\nboard:\n  columns:\n    'a: `b` \"c\" #d.': {{archetype: execution, {rules}}}\n"
    with pytest.raises(PolicyError) as refused:
        parse(text, home="acme/board")
    fields = form().fields(read(text).tree["board"]["columns"][column])
    placed = place_problems(fields, refused.value.problems, ("board", "columns", column))
    assert [*placed] == [name]
    assert said in placed[name][0]


def test_a_part_of_the_policy_can_have_a_form_of_its_own() -> None:
    fields = PolicyForm(policy_schema(), only=("board.limits", "repository.profile")).fields({})
    names = {it.name for it in flat(fields) if it.kind is not FieldKind.GROUP}
    assert {"board.limits.runs", "board.limits.usd_total", "repository.profile"} <= names
    assert {name.rpartition(".")[0] for name in names} == {"board.limits", "repository"}
