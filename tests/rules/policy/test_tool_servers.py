"""Tool servers in a policy: what is refused, and which tools columns and stages leave."""

import re
from pathlib import Path

import pytest

from rules.errors import PolicyError
from rules.policy.model import parse, parse_repository
from rules.policy.stages import McpChoice, tools_of_choice

PAGE = Path(__file__).parents[3] / "docs/instructions.md"
NAMES = ("docs__find", "docs__read", "schema__show")


@pytest.mark.parametrize(
    ("server", "problem"),
    [
        ("docs: {command: [docs]}", "line 4: repository.mcp.docs"),
        ("docs: {command: [], tools: [find]}", "line 4: repository.mcp.docs.command"),
        ("docs: {command: [docs], tools: []}", "line 4: repository.mcp.docs.tools"),
        ("docs: {command: [docs], tools: [a b]}", "line 4: repository.mcp.docs.tools"),
        (
            "docs: {command: [docs], tools: [find], repository: write}",
            "line 4: repository.mcp.docs.repository",
        ),
        ("docs: {command: [docs], tools: [find], netwrok: [a]}", "unknown key `netwrok`"),
        ("do__cs: {command: [docs], tools: [find]}", "line 4: repository.mcp"),
    ],
)
def test_a_server_that_is_not_whole_is_refused_with_its_line(server: str, problem: str) -> None:
    with pytest.raises(PolicyError) as caught:
        parse(f"version: 1\nrepository:\n  mcp:\n    {server}\n", home="acme/board")
    assert problem in caught.value.problems[0]


@pytest.mark.parametrize(
    ("choices", "left"),
    [
        ((), NAMES),
        ((None, None), NAMES),
        ((("docs",),), NAMES[:2]),
        ((("docs", "schema__show"), ("docs__read", "schema")), NAMES[1:]),
        ((("doc",),), ()),
        (((), None), ()),
    ],
)
def test_every_choice_only_narrows(choices: tuple[McpChoice, ...], left: tuple[str, ...]) -> None:
    assert tools_of_choice(NAMES, *choices) == left


SERVERS = "repository: {mcp: {docs: {command: [docs], tools: [find, read]}}}"
OF_OTHERS = "repositories: {without_policy: {mcp: {schema: {command: [s], tools: [show]}}}}"


@pytest.mark.parametrize(
    ("column", "stage", "others", "repository", "problem"),
    [
        ("docs, docs__find", "docs__read", "", SERVERS, ""),
        ("docs, schema__show", "schema", OF_OTHERS, SERVERS, ""),
        ("anything, docs__none", "anything", "", "", ""),
        ("dosc", "dosc", "", SERVERS, "unknown tool server `dosc`: did you mean docs?"),
        ("schema", "schema", "", SERVERS, "has to be under `repositories: without_policy: mcp`, too"),
        ("docs__fnd", "docs__fnd", "", SERVERS, "unknown tool of docs `fnd`: did you mean find?"),
        ("docs", "docs__fnd", "", SERVERS, "unknown tool of docs `fnd`: did you mean find?"),
        ("docs__find", "docs__read", "", SERVERS, "the column does not allow `docs__read`"),
        ("docs", "schema", "", "", "the column does not allow `schema`: a stage may only narrow it"),
    ],
)
def test_a_name_that_is_no_tool_is_an_error_as_far_as_the_file_says(
    column: str, stage: str, others: str, repository: str, problem: str
) -> None:
    last = f"{{name: a, persona: tester, tools: {{mcp: [{stage}]}}}}"
    rules = f"{{archetype: execution, tools: {{mcp: [{column}]}}, stages: [{last}]}}"
    text = f"version: 1\nboard:\n  columns: {{Go: {rules}}}\n  {others}\n{repository}\n"
    if not problem:
        parse(text, home="acme/board")
        return
    with pytest.raises(PolicyError) as caught:
        parse(text, home="acme/board")
    assert problem in caught.value.problems[0]


def test_the_examples_of_the_page_are_policies() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## Tool servers")[2]
    lent, secret = re.findall(r"```yaml\n(.*?)```", section, re.DOTALL)
    servers = parse_repository(lent).mcp
    assert [servers[name].repository for name in servers] == ["read", "none"]
    assert parse_repository(secret).mcp["tickets"].secrets == ("TICKETS_KEY",)
