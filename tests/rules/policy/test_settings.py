"""A policy is shown and compared whole: each key of the model is a setting by itself."""

from collections.abc import Iterator

from pydantic import BaseModel

from rules.policy.model import DEFAULT_TEXT, Policy, default_policy, parse
from rules.policy.settings import (
    MAX_CHANGED,
    MAX_CHANGED_TEXT,
    find_changed_settings,
    settings_of,
    settings_of_no_column,
)


def keys(model: BaseModel, prefix: str) -> Iterator[str]:
    for name in type(model).model_fields:
        part = getattr(model, name)
        yield from keys(part, f"{prefix}{name}.") if isinstance(part, BaseModel) else (f"{prefix}{name}",)


def with_lines(*lines: str) -> Policy:
    return parse("\n".join((DEFAULT_TEXT, *lines)), home="acme/board")


def test_each_key_of_board_and_repository_is_shown_with_its_meaning() -> None:
    policy = default_policy("acme/board")
    shown = {it.name: it for it in settings_of_no_column(policy)}
    wanted = set(keys(policy, "")) - {"board.columns"}
    missing = {it for it in wanted if not any(name == it or name.startswith(f"{it}.") for name in shown)}
    assert missing == set()
    assert [it.name for it in shown.values() if not it.meaning or "](" in it.meaning] == []


def test_of_a_column_only_what_was_given_is_shown() -> None:
    column = with_lines("    Work: {archetype: execution, tools: {run: deny}}").column("Work")
    assert column is not None
    given = [(it.name, it.words) for it in settings_of(column, depth=0)]
    assert given == [("archetype", "execution"), ("tools.run", "deny")]


def test_of_a_list_of_actions_it_is_seen_where_each_ends() -> None:
    actions = "[{action: merge, method: squash}, {action: delete_branch}]"
    column = with_lines(f"    End: {{archetype: terminal, on_entry: {actions}}}").column("End")
    assert column is not None
    shown = {it.name: it.words for it in settings_of(column, depth=0)}
    assert shown["on_entry"] == "(action: merge; method: squash), (action: delete_branch)"


def test_what_differs_is_named_from_where_it_differs_and_cut() -> None:
    long = "x" * 500
    before = with_lines("  commands: {retry: read}", "repository:", f"  setup: ['{long}']")
    after = with_lines("  commands: {cancel: admin}", "repository:", f"  setup: ['{long}\u202e{long}']")
    changes, more = find_changed_settings(before, after)
    setup, *commands = sorted(changes, key=lambda it: -len(it.after))
    assert more == 0
    assert setup.name == "repository.setup"
    assert setup.before == "…" + "x" * 40
    assert len(setup.after) == MAX_CHANGED_TEXT
    assert "\u202e" not in setup.after
    assert {(it.name, it.before, it.after) for it in commands} == {
        ("board.commands.retry", "read", "not set"),
        ("board.commands.cancel", "not set", "admin"),
    }


def test_settings_beyond_the_bound_are_counted() -> None:
    labels = ", ".join(f"'area:{number}': acme/shop" for number in range(MAX_CHANGED + 3))
    before, after = with_lines(), with_lines(f"  repositories: {{labels: {{{labels}}}}}")
    changes, more = find_changed_settings(before, after)
    assert (len(changes), more) == (MAX_CHANGED, 3)
