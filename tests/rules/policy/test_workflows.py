"""Workflows of a policy: stages and routes under a name, used by columns, labels and cards."""

import re
from pathlib import Path

import pytest

from rules.card.workflow_choice import ChosenWorkflow, apply_workflow, choose_workflow, describe_workflow
from rules.errors import PolicyError
from rules.policy.column import ColumnPolicy
from rules.policy.model import Policy, parse
from rules.policy.stages import MoveTo

PAGE = Path(__file__).parents[3] / "docs/instructions.md"
TEXT = """\
version: 1
board:
  workflows:
    docs-flow:
      stages:
        - {name: write, persona: docs-writer, next: [check]}
        - {name: check, persona: tester, tools: {edit: deny}}
      on_failure: {move: Triage}
      on_success: stay
    other: {stages: [{name: build, persona: senior-engineer}]}
  labels: {"kind:docs": {workflow: docs-flow}, "kind:other": {workflow: other}}
  columns:
    Triage: {archetype: inbox}
    Go: {archetype: execution, workflow: docs-flow, on_success: {move: Done}}
    Plain: {archetype: execution, on_success: {move: Done}, on_failure: {move: Triage}}
    Done: {archetype: terminal}
"""


def test_the_example_of_the_page_is_a_policy() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("### Workflows")[2]
    (example,) = re.findall(r"```yaml\n(.*?)```", section.partition("### ")[0], re.DOTALL)
    writing = parse(example, home="acme/board").board.columns["Writing"]
    assert (writing.stages[0].persona, writing.on_failure) == ("docs-writer", MoveTo(move="Triage"))


def problem(old: str, new: str) -> str:
    assert old in TEXT
    with pytest.raises(PolicyError) as caught:
        parse(TEXT.replace(old, new, 1), home="acme/board")
    return "\n".join(caught.value.problems)


def read() -> Policy:
    return parse(TEXT, home="acme/board")


def column(name: str) -> ColumnPolicy:
    return read().board.columns[name]


def test_a_column_has_the_stages_of_its_workflow_whose_routes_win() -> None:
    go = column("Go")
    assert [stage.name for stage in go.stages] == ["write", "check"]
    assert (go.on_failure, go.on_success) == (MoveTo(move="Triage"), None)
    assert ColumnPolicy.model_validate_json(go.to_json()) == go


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "execution, workflow: docs-flow",
            "execution, workflow: doc-flow",
            "board.columns.Go.workflow: unknown workflow `doc-flow`: did you mean docs-flow?",
        ),
        (
            '"kind:docs": {workflow: docs-flow}',
            '"kind:docs": {workflow: docsflow}',
            "board.labels.kind:docs.workflow: unknown workflow `docsflow`: did you mean docs-flow?",
        ),
        ('"kind:docs":', '"Kind:Other":', "differs from `Kind:Other` only in case"),
        ("move: Triage", "move: Triag", "board.workflows.docs-flow.on_failure.move: unknown column `Triag`"),
        ("next: [check]", "next: [chek]", "board.workflows.docs-flow.stages.0.next: unknown stage `chek`"),
        ("{edit: deny}}", "{edit: deny}, next: [write]}", "the run can never end"),
        ("next: [check]", "next: [end]", "never reached from `write`"),
        ("Triage: {archetype: inbox", "Triage: {archetype: inbox, workflow: other", "workflows fit columns"),
        (
            "execution, workflow: docs-flow",
            "execution, workflow: docs-flow, stages: [{name: a, persona: tester}]",
            "has `stages`",
        ),
        ("    other:", "    none:", "`none` cannot be a workflow's name"),
        ("on_success: stay", "on_sucess: stay", "unknown key `on_sucess`: did you mean on_success?"),
        ("on_success: stay", "on_success: leave", "write stay, or {move: <column>}"),
    ],
)
def test_what_is_wrong_with_a_workflow_is_said(old: str, new: str, said: str) -> None:
    assert said in problem(old, new)


def test_a_workflow_may_do_no_more_than_the_column_that_names_it() -> None:
    text = TEXT.replace("{edit: deny}", "{edit: allow, network: [a.org]}")
    text = text.replace(
        "archetype: execution, workflow", "archetype: execution, tools: {edit: ask}, workflow"
    )
    with pytest.raises(PolicyError) as caught:
        parse(text, home="acme/board")
    first, second = caught.value.problems
    assert "board.workflows.docs-flow.stages.1.tools.edit: the column `Go` has ask" in first
    assert "the column `Go` does not allow `a.org`" in second


@pytest.mark.parametrize(
    ("name", "pinned", "labels", "chosen"),
    [
        ("Go", "", (), ChosenWorkflow("docs-flow", "column")),
        ("Plain", "", (), ChosenWorkflow()),
        ("Plain", "", ("bug", "Kind:Docs"), ChosenWorkflow("docs-flow", "label", "kind:docs")),
        ("Plain", "", ("kind:other", "kind:docs"), ChosenWorkflow("docs-flow", "label", "kind:docs")),
        ("Go", "other", ("kind:docs",), ChosenWorkflow("other", "command", "bob")),
        ("Go", "gone", ("kind:other",), ChosenWorkflow("other", "label", "kind:other")),
    ],
)
def test_a_command_goes_before_a_label_before_the_column(
    name: str, pinned: str, labels: tuple[str, ...], chosen: ChosenWorkflow
) -> None:
    assert choose_workflow(read().board, column(name), pinned, "bob", labels) == chosen


def test_a_chosen_workflow_brings_its_stages_and_the_routes_that_it_has() -> None:
    board = read().board
    docs = apply_workflow(board, column("Plain"), ChosenWorkflow("docs-flow", "command", "bob"))
    assert (docs.stages[0].name, docs.on_success, docs.workflow) == ("write", None, "docs-flow")
    other = apply_workflow(board, column("Plain"), ChosenWorkflow("other", "command", "bob"))
    assert (other.stages[0].name, other.on_success) == ("build", MoveTo(move="Done"))
    assert apply_workflow(board, column("Plain"), ChosenWorkflow()) == column("Plain")


@pytest.mark.parametrize(
    ("rule", "value", "said"),
    [
        ("command", "bob", "`other` (chosen by `bob`)"),
        ("label", "kind:other", "`other` (the label `kind:other`)"),
        ("column", "", "`other` (as its column says)"),
    ],
)
def test_why_a_run_has_its_workflow_is_said(rule: str, value: str, said: str) -> None:
    assert describe_workflow("other", rule, value) == said
    assert describe_workflow("", "", "") == ""


def test_a_specialist_plays_the_stages_of_the_workflow_that_was_chosen() -> None:
    text = TEXT.replace("  labels", "  specialists: {prober: {agent: codex, persona: tester}}\n  labels")
    text = text.replace("Plain: {archetype: execution,", 'Plain: {archetype: execution, agents: ["@prober"],')
    board = parse(text, home="acme/board").board
    alone = board.columns["Plain"].played_by("@prober", board.specialists)
    assert [stage.persona for stage in alone.stages] == ["tester"]
    docs = apply_workflow(board, board.columns["Plain"], ChosenWorkflow("docs-flow", "command", "bob"))
    played = docs.played_by("@prober", board.specialists)
    assert (played.agent, [stage.persona for stage in played.stages]) == ("codex", ["docs-writer", "tester"])
