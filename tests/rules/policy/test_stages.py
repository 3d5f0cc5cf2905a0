"""The stages of a column taken together, personas as people write them, and what neither can loosen."""

import pytest

from bot.repo_config import personas
from rules.columns import execution
from rules.errors import PersonaError, PolicyError
from rules.policy.markdown.persona import MAX_BYTES, parse_persona
from rules.policy.model import parse
from rules.policy.stages import strictest

HEAD = "version: 1\nboard:\n  columns:\n    A:\n      archetype: execution\n"
PERSONA = "---\nname: sceptic\ndescription: Doubts.\ntools: {edit: deny}\nmodel: small\n---\nDoubt it.\n"


def problems(stages: str, rest: str = "") -> tuple[str, ...]:
    with pytest.raises(PolicyError) as caught:
        parse(f"{HEAD}{rest}      stages: {stages}\n", home="acme/board")
    return caught.value.problems


def one(name: str, more: str = "") -> str:
    return f"{{name: {name}, persona: tester{more}}}"


@pytest.mark.parametrize(
    ("stages", "said"),
    [
        (f"[{one('a', ', next: [c]')}]", "unknown stage `c`"),
        (f"[{one('a')}, {one('A')}]", "two stages have the same name"),
        (f"[{one('end')}]", "`end` cannot be a stage's name"),
        (f"[{one('a b')}]", "letters, digits, dashes"),
        (f"[{one('a', ', next: [a, end]')}]", "`a` leads to itself"),
        (f"[{one('a', ', next: [end]')}, {one('b')}]", "never reached from `a`, the first: `b`"),
        (f"[{one('a', ', next: [b]')}, {one('b', ', next: [a]')}]", "from `a` or `b` the run can never end"),
        ("[{name: a, persona: ../../secret}]", "lower-case letters, digits and dashes"),
        ("[{name: a, persona: Tester}]", "lower-case letters, digits and dashes"),
        (f"[{one('a', ', aproval: required')}]", "did you mean approval"),
        (
            f"[{one('a', ', tools: {network: full}')}]",
            "the column does not allow `*`: a stage may only narrow",
        ),
        (f"[{one('a', ', tools: {network: [a.org]}')}]", "the column does not allow `a.org`"),
        ("[" + ", ".join(one(f"s{n}", f", next: [s{n + 1}]") for n in range(13)) + "]", "at most 12"),
    ],
)
def test_what_is_wrong_with_stages_is_said(stages: str, said: str) -> None:
    assert said in problems(stages)[0]


@pytest.mark.parametrize(
    ("column", "stage", "fits"),
    [
        ("allow", "ask", True),
        ("allow", "deny", True),
        ("ask", "ask", True),
        ("ask", "allow", False),
        ("deny", "ask", False),
        ("deny", "deny", True),
    ],
)
def test_a_stage_may_only_narrow_what_its_column_allows(column: str, stage: str, fits: bool) -> None:
    tools = f"      tools: {{edit: {column}}}\n"
    stages = f"[{one('a', f', tools: {{edit: {stage}}}')}]"
    if fits:
        parse(f"{HEAD}{tools}      stages: {stages}\n", home="acme/board")
    else:
        where = "line 7: board.columns.A.stages.0.tools.edit"
        assert problems(stages, tools) == (f"{where}: the column has {column}: a stage may only narrow it",)


def test_a_stage_may_have_less_of_the_network_than_its_column() -> None:
    column = '      tools: {network: ["*.a.org", b.org]}\n'
    stages = (
        f"[{one('a', ', tools: {network: [x.a.org]}, next: [b]')}, {one('b', ', tools: {network: none}')}]"
    )
    parse(f"{HEAD}{column}      stages: {stages}\n", home="acme/board")
    wider = f"[{one('a', ', tools: {network: [x.a.org, c.org]}')}]"
    assert "the column does not allow `c.org`" in problems(wider, column)[0]


def test_stages_are_for_columns_in_which_agents_work() -> None:
    text = HEAD.replace("execution", "review") + f"      stages: [{one('a')}]\n"
    with pytest.raises(PolicyError, match="stages fit columns of kind execution, not review"):
        parse(text, home="acme/board")


def test_a_circle_with_a_way_out_is_fine() -> None:
    stages = f"[{one('a', ', next: [b]')}, {one('b', ', next: [a, end], approval: required')}]"
    policy = parse(f"{HEAD}      stages: {stages}\n", home="acme/board")
    first, second = policy.board.columns["A"].stages
    assert policy.archetype("A").STARTS_RUNS
    assert (first.ends, first.follows, second.ends, second.follows) == (False, ("b",), True, ("a",))


def test_the_strictest_wish_counts() -> None:
    assert strictest("allow", None, "ask") == "ask"
    assert strictest("deny", "allow") == "deny"
    assert strictest(None) == "allow"


def test_a_persona_is_read_with_the_digest_of_its_file() -> None:
    read = parse_persona("sceptic", PERSONA)
    assert (read.description, read.model, read.tools.edit, read.text) == (
        "Doubts.",
        "small",
        "deny",
        "Doubt it.",
    )
    assert read.digest != parse_persona("sceptic", PERSONA + "More.").digest
    assert parse_persona("sceptic", PERSONA.replace("\n", "\r\n")).text == "Doubt it."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: a persona must begin with `---`"),
        ("You are nice.", "line 1: a persona must begin with `---`"),
        ("---\nname: sceptic\n", "the front matter does not end"),
        (PERSONA.replace("sceptic", "optimist"), "the name is `optimist`, but the file is called `sceptic`"),
        (PERSONA.replace("Doubt it.", ""), "line 6: there is no text after the front matter"),
        (PERSONA.replace("description", "descripton"), "line 3: descripton: unknown key"),
        (PERSONA.replace("tools: {edit: deny}", "tools: {edit: never}"), "line 4: tools.edit: unknown value"),
        (PERSONA.replace("tools: {edit: deny}", "tools: {net: full}"), "unknown key `net`"),
        ("---\n- a\n---\nx", "must be a mapping that begins with `name: …`"),
        ("---\na: &x [*x]\n---\nx", "aliases are not allowed"),
        (f"---\nname: {'[' * 5000}\n---\nx", "nested too deeply"),
        (PERSONA + "x" * MAX_BYTES, "larger than 16 KiB"),
        ("\x01", "line 1: a persona must begin with"),
    ],
)
def test_a_mistake_in_a_persona_is_a_sentence_with_its_name(text: str, said: str) -> None:
    with pytest.raises(PersonaError) as caught:
        parse_persona("sceptic", text)
    assert said in " ".join(caught.value.problems)
    assert caught.value.problems[0].startswith("persona `sceptic`: ")
    assert "the stages cannot start:" in str(caught.value)


@pytest.mark.parametrize("name", personas.list_built_in())
def test_a_built_in_persona_is_one_and_says_something(name: str) -> None:
    read = parse_persona(name, personas.read_built_in(name))
    assert 300 < len(read.text) < 4_000
    assert read.model == ""


def test_the_personas_that_come_along_are_these() -> None:
    assert personas.list_built_in() == (
        "architect", "debugger", "docs-writer", "orchestrator", "reviewer", "senior-engineer", "tester",
    )  # fmt: skip


def test_the_column_says_how_many_stages_its_runs_have() -> None:
    policy = parse(f"{HEAD}      stages: [{one('a', ', next: [b]')}, {one('b')}]\n", home="acme/board")
    assert "plan first, 2 stages, up to $2.00" in execution.headline(policy.board.columns["A"])
