"""`agents` of a column: whom `/cardinal agent` may choose, and how a column is with one of them."""

import pytest

from rules.errors import PolicyError
from rules.policy.model import parse
from rules.policy.validate import Installed

TEXT = """\
version: 1
board:
  columns:
    Work:
      archetype: execution
      model: small
      agents: [codex, claude/opus, opencode/some/model]
      stages: [{name: a, persona: tester, model: small}]
"""


@pytest.mark.parametrize(
    ("choice", "played"),
    [
        ("", ("claude", "small", "small")),
        ("claude/opus", ("claude", "opus", "small")),
        ("codex", ("codex", "default", None)),
        ("opencode/some/model", ("opencode", "some/model", None)),
        ("codex/other", ("claude", "small", "small")),  # the policy does not list it, or no more
    ],
)
def test_a_column_is_played_by_those_that_it_lists(choice: str, played: tuple[str, str, str | None]) -> None:
    column = parse(TEXT, home="acme/board").column("Work")
    assert column is not None
    chosen = column.played_by(choice, {})
    assert (chosen.agent, chosen.model, chosen.stages[0].model) == played


@pytest.mark.parametrize(
    ("board", "where"),
    [
        ("columns: {Work: {archetype: execution, agent: qwen, effort: high}}", "columns.Work.effort"),
        (
            "specialists: {ann: {agent: qwen, effort: low}}\n  columns: {Work: {archetype: execution}}",
            "specialists.ann.effort",
        ),
        (
            "labels: {hard: {effort: high}}\n  columns: {Work: {archetype: execution, agent: qwen}}",
            "labels.hard.effort",
        ),
    ],
)
def test_an_effort_for_an_agent_that_cannot_be_told_one_is_refused(board: str, where: str) -> None:
    installed = Installed(agents=("claude", "qwen"), thinkers=("claude",))
    with pytest.raises(PolicyError, match=rf"(?s){where}.* can be told|{where}.* cannot be told"):
        parse(f"version: 1\nboard:\n  {board}\n", home="acme/board", installed=installed)
    parse(f"version: 1\nboard:\n  {board.replace('qwen', 'claude')}\n", home="a/b", installed=installed)


def test_the_effort_of_a_column_is_its_own_agents_and_a_specialist_has_its_own() -> None:
    text = TEXT.replace("model: small\n", "model: small\n      effort: low\n", 1)
    text = text.replace("some/model]", "some/model, '@ann', '@bo']")
    text = text.replace("board:\n", "board:\n  specialists: {ann: {effort: high}, bo: {agent: claude}}\n")
    column = parse(text, home="acme/board").board.columns["Work"]
    specialists = parse(text, home="acme/board").board.specialists
    played = {
        it: column.played_by(it, specialists).effort for it in ("", "claude/opus", "codex", "@ann", "@bo")
    }
    assert played == {"": "low", "claude/opus": "low", "codex": None, "@ann": "high", "@bo": "low"}


def test_an_agent_that_is_not_installed_cannot_be_listed() -> None:
    with pytest.raises(PolicyError, match="unknown agent `opencode`"):
        parse(TEXT, home="acme/board", installed=Installed(agents=("claude", "codex")))


@pytest.mark.parametrize(
    ("column", "fits"),
    [
        ("{archetype: execution, agent: own}", True),
        ("{archetype: execution, agents: [own]}", True),
        ("{archetype: planning, agent: own}", False),
        ('{archetype: execution, agent: own, on_entry: [{action: ai_task, prompt: "Sum it up."}]}', False),
        ('{archetype: execution, agent: own, on_exit: [{action: ai_task, prompt: "Sum it up."}]}', False),
    ],
)
def test_a_worker_of_ones_own_stands_where_no_model_is_asked(column: str, fits: bool) -> None:
    text = f"version: 1\nboard:\n  columns:\n    Work: {column}\n"
    installed = Installed(agents=("claude", "own"))
    if fits:
        assert parse(text, home="acme/board", installed=installed)
        return
    with pytest.raises(PolicyError, match="cannot be `own`"):
        parse(text, home="acme/board", installed=installed)
