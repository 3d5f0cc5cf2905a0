"""Workflows in files of their own: as good as those of the policy file, and refused with the file's name."""

import pytest

from ledger.events.policy import WorkflowFile, digest_of_policy
from rules.errors import PolicyError
from rules.policy.model import parse, parse_repository

POLICY = """\
version: 1
board:
  columns:
    In Progress: {archetype: execution, workflow: docs}
    Review: {archetype: review}
  workflows:
    own: {stages: [{name: build, persona: tester}]}
"""
DOCS = "stages:\n- {name: write, persona: docs-writer}\non_success: {move: Review}\n"


def files(**texts: str) -> tuple[WorkflowFile, ...]:
    return tuple(WorkflowFile(name, text) for name, text in texts.items())


def test_a_column_has_the_stages_and_routes_of_a_file() -> None:
    policy = parse(POLICY, home="acme/board", workflows=files(docs=DOCS))
    column = policy.column("In Progress")
    assert column is not None
    assert [it.name for it in column.stages] == ["write"]
    assert column.on_success is not None
    assert set(policy.board.workflows) == {"own", "docs"}
    assert set(parse("version: 1\n", home="acme/board", workflows=files(docs=DOCS)).board.workflows) == {
        "docs"
    }


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("own", DOCS, ".github/cardinal.yml has a workflow of that name as well: remove it there, or"),
        ("none", DOCS, "rename it: a workflow's name has up to 40 small letters"),
        ("Docs", DOCS, "rename it: a workflow's name"),
        ("other", "", "line 1: the file must be a mapping that begins with `stages:`"),
        ("other", "stages: []\n", "line 1: stages: "),
        ("other", DOCS + "on_sucess: stay\n", "line 4: on_sucess: unknown key `on_sucess`: did you mean"),
        ("other", DOCS.replace("Review", "Nowhere"), "line 3: on_success.move: unknown column `Nowhere`"),
        (
            "other",
            DOCS.replace("}\non", ", next: [gone]}\non"),
            "line 2: stages.0.next: unknown stage `gone`",
        ),
        ("other", "\x01", "the file is not YAML"),
        ("other", "x" * 70_000, "the file is larger than 64 KiB"),
        ("other", "stages: &a []\nb: *a\n", "aliases are not allowed"),
    ],
)
def test_a_wrong_file_is_refused_with_its_name_and_what_to_do(name: str, text: str, said: str) -> None:
    with pytest.raises(PolicyError) as error:
        parse(POLICY, home="acme/board", workflows=(*files(docs=DOCS), WorkflowFile(name, text)))
    problem = error.value.problems[0]
    assert problem.startswith(f".github/cardinal/workflows/{name}.yml: ")
    assert said in problem


def test_there_are_as_many_as_a_policy_file_may_have() -> None:
    many = tuple(WorkflowFile(f"w{number}", DOCS) for number in range(49))
    assert len(parse(POLICY.replace("docs", "w0"), home="acme/board", workflows=many).board.workflows) == 50
    with pytest.raises(PolicyError, match="at most 50 workflows"):
        parse(POLICY, home="acme/board", workflows=(*many, *files(docs=DOCS)))


def test_who_did_not_read_the_files_refuses_no_name_of_a_workflow() -> None:
    assert parse_repository(POLICY)
    assert parse(POLICY, home=None, workflows=None)
    with pytest.raises(PolicyError, match="unknown workflow `docs`"):
        parse(POLICY, home="acme/board")


def test_another_file_is_another_policy() -> None:
    digests = {digest_of_policy(POLICY, it) for it in ((), files(a="x"), files(a="y"), files(b="x"))}
    assert len(digests) == 4
