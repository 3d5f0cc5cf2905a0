"""A policy file is read strictly; what is wrong is said with its line and with what would be right."""

from contextlib import suppress
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from rules.errors import PolicyError
from rules.policy.column import ColumnPolicy
from rules.policy.model import Policy, default_policy, parse, parse_repository
from rules.policy.validate import Installed
from rules.registry import ACTIONS, ARCHETYPES

HEAD = "version: 1\nboard:\n  columns:\n"
WHOLE = """\
version: 1
board:
  home: acme/board
  columns:
    Planning:    {archetype: planning, model: small, instructions: "Drive to acceptance criteria."}
    In Progress:
      archetype: execution
      mode: investigate
      agent: codex
      model: default
      plan_approval: off
      concurrency: 4
      budget_usd: 3
      timeout_minutes: 20
      max_turns: 50
      tools: {edit: allow, run: ask, commit: deny, network: [files.example], ask: ["git push:*"]}
      stages: [{name: do, persona: senior, next: [verify]}, {name: verify, persona: tester, next: [do, end]}]
      on_entry: [{action: ai_task, prompt: "Check %{title}"}, {action: start_run}]
      on_success: {move: Review}
      on_leave: finish
    Review: {archetype: review}
    Done: {archetype: terminal, on_entry: [{action: merge, method: rebase}, {action: delete_branch}]}
  limits: {runs: 6, runs_per_repository: 2, usd_per_day: 50, points_per_hour: 2500}
  commands: {approve: [alice, maintain], budget: maintain, stop-all: admin}
  repositories: {labels: {"area:api": acme/api}}
repository:
  image: acme/agent:1
  setup: ["pip install -e .[dev]"]
  validation: {fast: ["ruff check ."], full: ["pytest -q"]}
  limits: {iterations: 4, full_runs: 2, files_changed: 10, lines_changed: 100}
  guardrails:
    protect: [".github/workflows/**"]
    dependencies: deny
    commands: {deny: ["git push --force*"]}
  skills: {default: [], labels: {"area:db": [safe-migration]}}
  mcp: {context7: {command: [npx, -y, "@upstash/context7-mcp"], tools: [find, read]}}
"""


INSTALLED = Installed(agents=("claude", "codex", "opencode", "scripted"), guards=("modes", "secrets"))


def problems(text: str, home: str = "acme/board") -> tuple[str, ...]:
    with pytest.raises(PolicyError) as caught:
        parse(text, home=home, installed=INSTALLED)
    return caught.value.problems


def test_what_counts_without_a_policy_file_is_read_as_strictly_as_a_file() -> None:
    said = "  repositories: {without_policy: {profile: our_own, guardrails: {mode: ask}, valdation: none}}\n"
    columns = "version: 1\nboard:\n  columns: {Tasks: {archetype: inbox}}\n"
    (unknown,) = problems(columns + said)
    assert "board.repositories.without_policy.valdation: unknown key `valdation`" in unknown
    guard, profile = problems(columns + said.replace(", valdation: none", ""))
    assert "line 4: board.repositories.without_policy.guardrails.mode: unknown key `mode`" in guard
    assert "line 4: board.repositories.without_policy.profile: unknown profile `our_own`" in profile


def test_every_key_of_the_format_is_read() -> None:
    policy = parse(WHOLE, home="Acme/Board")
    column = policy.column("in progress")
    assert column is not None
    assert (column.mode, column.agent, column.plan_approval, column.on_leave) == (
        "investigate",
        "codex",
        "off",
        "finish",
    )
    assert column.tools.network == ("files.example",)
    assert column.on_success is not None
    assert column.on_success.move == "Review"
    assert policy.board.commands["approve"] == ("alice", "maintain")
    assert policy.repository.validation is not None
    assert policy.repository.validation.full == ("pytest -q",)
    assert policy.repository.guardrails.model_dump()["dependencies"] == "deny"
    assert policy.repository.mcp["context7"].command[0] == "npx"


def test_without_a_file_the_six_column_board_applies() -> None:
    policy = default_policy("acme/board")
    assert [column.archetype for column in policy.board.columns.values()] == [
        "inbox",
        "planning",
        "execution",
        "review",
        "review",
        "terminal",
    ]
    column = policy.column("In Progress")
    assert column is not None
    assert (column.budget_usd, column.timeout_minutes, column.max_turns, column.concurrency) == (2, 30, 60, 3)
    assert (column.silence_minutes, column.max_output_mb, column.retries) == (5, 50, 2)
    assert (column.plan_required, column.on_leave, column.on_success) == (True, "ask", None)
    assert column.entry_actions == ({"action": "start_run"},)


def test_a_file_without_a_board_keeps_the_default_columns_and_its_own_repository_part() -> None:
    policy = parse("version: 1\nrepository: {validation: {fast: [make lint]}}", home="acme/board")
    assert list(policy.board.columns) == list(default_policy("acme/board").board.columns)
    assert policy.repository.validation is not None
    assert policy.repository.validation.fast == ("make lint",)
    assert parse_repository("version: 1").limits.iterations == 5


@pytest.mark.parametrize(
    ("written", "checked", "waived"),
    [
        ("{}", False, False),
        ("{validation: {}}", False, False),
        ("{validation: {fast: [], full: []}}", False, False),
        ("{validation: {fast: [make lint]}}", True, False),
        ("{validation: {full: [make test]}}", True, False),
        ("{validation: none}", False, True),
    ],
)
def test_no_checks_on_purpose_are_told_from_no_checks(written: str, checked: bool, waived: bool) -> None:
    rules = parse_repository(f"version: 1\nrepository: {written}")
    assert (rules.checked, rules.waived) == (checked, waived)
    assert not default_policy("acme/board").repository.waived


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("off", "repository.validation: add `fast` or `full` checks, or write none"),
        ("", "repository.validation: is empty: add `fast` or `full`, or write none"),
        ("{ful: [make test]}", "repository.validation.ful: unknown key `ful`: did you mean full?"),
        ("{none: true}", "repository.validation.none: unknown key `none`"),
    ],
)
def test_a_mistake_in_validation_never_waives_it(written: str, said: str) -> None:
    (found,) = problems(f"version: 1\nrepository:\n  validation: {written}\n")
    assert said in found
    assert found.startswith("line 3: ")


def test_a_column_survives_being_kept_as_json() -> None:
    column = parse(WHOLE, home="acme/board").column("In Progress")
    assert column is not None
    assert ColumnPolicy.model_validate_json(column.to_json()) == column


def test_a_column_that_the_policy_does_not_name_is_like_an_inbox() -> None:
    policy = default_policy("acme/board")
    assert policy.column("Parking") is None
    assert policy.column(None) is None
    assert policy.archetype("Parking") is ARCHETYPES.load("inbox")


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (
            "    A: {archetype: execution, budget: 2}",
            "line 4: board.columns.A.budget: unknown key `budget`: did you mean budget_usd?",
        ),
        ("    A: {archetype: exec}", "unknown value `exec`: did you mean execution?"),
        ("    A: {archetype: review, on_leave: askk}", "unknown value `askk`: did you mean ask?"),
        ("    A: {archetype: execution, agent: cloude}", "unknown agent `cloude`: did you mean claude?"),
        ("    A: {model: small}", "line 4: board.columns.A.archetype: is missing"),
        ("    A: {archetype: execution, concurrency: '3'}", "board.columns.A.concurrency: "),
        ("    A: {archetype: execution, concurrency: true}", "not `True`"),
        ("    A: {archetype: execution, budget_usd: -1}", "greater than 0"),
        ("    A: {archetype: execution, budget_usd: .inf}", "board.columns.A.budget_usd: "),
        ("    A: {archetype: execution, on_entry: [{action: start}]}", "did you mean start_run?"),
        ("    A: {archetype: execution, on_entry: [{}]}", "known are ai_task, delete_branch, merge"),
        ("    A: {archetype: inbox, on_entry: [{action: start_run}]}", "fits columns of kind execution"),
        (
            "    A:\n      archetype: inbox\n"
            "      on_exit:\n      - action: ai_task\n        prompt: x\n        modle: y",
            "line 9: board.columns.A.on_exit.0.modle: unknown key `modle`: did you mean model?",
        ),
        (
            "    A: {archetype: inbox, on_entry: [{action: ai_task, prompt: '%{titel}'}]}",
            "unknown field %{titel}",
        ),
        (
            "    A: {archetype: inbox, on_entry: [{action: ai_task, prompt: x, field: Area}]}",
            "`field` and `options` go together",
        ),
        (
            "    A: {archetype: inbox, on_exit: [{action: ai_task, prompt: x, options: [A], field: status}]}",
            "the field Status is the card's column",
        ),
        (
            "    A: {archetype: inbox, on_entry: [{action: ai_task, prompt: x, labels: ['Cardinal:fix']}]}",
            "board.columns.A.on_entry.0.labels.0: `Cardinal:fix` chooses a card's repository or mode, or",
        ),
        ("    A: {archetype: execution, on_success: {move: B}}", "unknown column `B`"),
        ("    A: {archetype: execution, on_success: move}", "write stay, or {move: <column>}"),
        ("    A: {archetype: execution, stages: [{name: a, persona: b, next: [c]}]}", "unknown stage `c`"),
        ("    A: {archetype: inbox}\n    a: {archetype: inbox}", "only in case, spaces or emoji"),
        ("    In QA: {archetype: inbox}\n    🚦 InQA: {archetype: inbox}", "only in case, spaces or emoji"),
        (
            "    A: {archetype: inbox}\n  commands: {aprove: write}",
            "unknown command `aprove`: did you mean approve?",
        ),
        ("    A: {archetype: inbox}\n  commands: {approve: '@write'}", "is a role: remove the @"),
        (
            "    A: {archetype: inbox}\n  home: acme/other",
            "is acme/other, but this file is in acme/board: remove the key",
        ),
        ("    A: {archetype: inbox}\n  limit: {runs: 3}", "unknown key `limit`: did you mean limits?"),
        ("    A: {archetype: execution, tools: {edit: yes}}", "unknown value `yes`"),
        ("    1: {archetype: inbox}", "a key must be text"),
        (
            "    A: {archetype: inbox}\n    A: {archetype: review}",
            "line 5: `A` appears twice, first in line 4",
        ),
        ("    A: &a {archetype: inbox}\n    B: *a", "line 5: aliases are not allowed"),
        ("    A: !!python/object/apply:os.system [id]", "line 4: tags are not allowed"),
        ("    {}", "board.columns: "),
    ],
)
def test_what_is_wrong_is_said_with_its_line(columns: str, said: str) -> None:
    (problem,) = problems(HEAD + columns)
    assert said in problem


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file must be a mapping"),
        ("- a", "the file must be a mapping"),
        ("version: 2", "line 1: version: unknown value"),
        ("version: 1\nboard:", "line 2: board: is empty"),
        ("version: 1\nbord: {}", "unknown key `bord`: did you mean board?"),
        ("version: [1", "line 1: "),
        ("version: 1\n\tboard: {}", "line 2: "),
        ("a\x00b: 1", "the file is not YAML"),
        ("[" * 30_000, "nested too deeply"),
        ("x: " + "a" * 70_000, "larger than 64 KiB"),
        ("version: 1\n---\nversion: 1", "line 2: "),
        ("? {a: b}\n: c", "a key must be text"),
    ],
)
def test_what_is_no_policy_file_at_all_is_refused(text: str, said: str) -> None:
    assert said in problems(text)[0]


def test_many_problems_are_told_together_and_the_list_ends() -> None:
    columns = "".join(f"    C{n}: {{archetype: no}}\n" for n in range(40))
    found = problems(HEAD + columns)
    assert len(found) == 21
    assert found[-1] == "and 20 more"


def test_hostile_text_in_a_problem_is_one_harmless_line() -> None:
    (problem,) = problems(HEAD + '    A: {archetype: "@everyone\\n<img src=x>\\u202e`rm`"}')
    assert not set(problem) & set("\n\u202e")
    assert problem.count("`") == 2


def test_the_agents_that_exist_can_be_told() -> None:
    text = HEAD + "    A: {archetype: execution, agent: mine}"
    assert parse(text, home="acme/board", installed=Installed(agents=("mine",))).column("A")


def models(model: type[BaseModel]) -> set[type[BaseModel]]:
    found = {model}
    for field in model.model_fields.values():
        waiting = [field.annotation]
        while waiting:
            annotation = waiting.pop()
            waiting.extend(get_args(annotation))
            if isinstance(annotation, type) and issubclass(annotation, BaseModel):
                found |= models(annotation)
    return found


def test_every_setting_is_described() -> None:
    parts = {action.Settings for _, action in ACTIONS.all()}
    for model in models(Policy) | parts:
        assert model.__doc__
        for name, field in model.model_fields.items():
            assert field.description, f"{model.__name__}.{name}"
            assert field.description.endswith("."), f"{model.__name__}.{name}"


@given(st.text(max_size=300) | st.text("{}[]:,-&*!|>'\"%@` \n#?a1~", max_size=200))
def test_any_text_is_a_policy_or_is_refused_as_one(text: str) -> None:
    with suppress(PolicyError):
        parse(text, home="acme/board")


def test_keys_of_one_name_in_both_parts_are_two_settings() -> None:
    text = """\
version: 1
board:
  columns: {Tasks: {archetype: inbox}}
  limits: {same_failures: 9}
  modes: {labels: {look: investigate}}
repository:
  limits: {same_failures: 4}
  guardrails: {modes: deny}
"""
    board, repository = parse(text, home="acme/board"), parse_repository(text)
    assert (board.limits.same_failures, repository.limits.same_failures) == (9, 4)
    assert dict(board.board.modes.labels) == {"look": "investigate"}
    assert repository.guardrails.model_dump()["modes"] == "deny"
