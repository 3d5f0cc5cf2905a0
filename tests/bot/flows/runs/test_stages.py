"""A column with stages, from its policy to what people see: personas, breadcrumbs, costs, decisions."""

from hashlib import sha256
from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.cli import main
from bot.repo_config import personas
from bot.repo_config.personas import FOLDER
from bot.runspec.stages import stages_of
from forge.store.board import Item
from forge.store.models import Repo
from ledger.events.run import AgentSaid, QuestionAsked, RunEnded, SessionStarted
from ledger.events.stage import StageEntered, StageLeft
from ledger.states import Ending
from rules.errors import PersonaError
from rules.policy.model import parse
from runner.run.run_spec import ToolSpec
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.settings import with_column

WRITE = {"edit": {"path": "greeting.txt", "content": "Hello\n"}}
FINISH = {"finish": {"done": "It greets."}}
STAGES = (
    "[{name: implement, persona: senior-engineer, next: [verify]},"
    " {name: verify, persona: tester, next: [implement, end], tools: {edit: deny}}]"
)


def go(stage: str) -> dict[str, object]:
    return {"go_to_stage": {"stage": stage, "summary": f"On to {stage}."}}


LOOP = {
    "implement": [{"usage": {"usd": 0.4, "in": 12_000, "out": 345}}, WRITE, go("verify")],
    "verify": [{"usage": {"usd": 0.1, "in": 900, "out": 50}}, go("implement")],
    "implement-2": [go("verify")],
    "verify-2": [FINISH],
}


def staged(cardinal: Cardinal, stages: str = STAGES, **changes: str) -> Item:
    """Return a card that was dragged into a column with stages, carried as far as it goes."""
    cardinal.set_policy(with_column(stages=stages, **changes))
    cardinal.catch_up()
    item = cardinal.new(column="In Progress")
    cardinal.catch_up(work=True)
    return item


def own_persona(cardinal: Cardinal, name: str, text: str) -> None:
    """Commit a persona to the shop's default branch, as Alice."""
    path = f".github/cardinal/personas/{name}.md"
    cardinal.forge.store.repos.write_files(
        cardinal.repo, "main", {path: text.encode()}, "A persona", actor=cardinal.person("alice")
    )


def test_a_staged_run_shows_its_way_and_what_each_stage_cost(cardinal: Cardinal) -> None:
    cardinal.scenario(stages=LOOP)
    item = staged(cardinal)
    (ended,) = cardinal.events(RunEnded)
    assert ended.ending is Ending.SUCCEEDED, ended
    comment = cardinal.comment(item, "plan ✓").body
    assert "plan ✓ → implement ✓ ×2 12k · $0.40 · " in comment
    assert " · +1 −0 → verify ✓ ×2 950 · $0.10 · " in comment
    assert "implement by senior-engineer, verify by " in comment
    assert [event.by for event in cardinal.events(StageEntered)] == ["policy", "agent", "agent", "agent"]
    cardinal.assert_nothing_is_stuck()


SCEPTIC = "---\nname: sceptic\ndescription: Doubts.\n---\nDoubt every line.\n"
OWN = (
    "[{name: implement, persona: senior-engineer, next: [verify]},"
    " {name: verify, persona: sceptic, next: [implement, end], approval: required}]"
)


def test_a_repository_has_personas_of_its_own_and_a_person_lets_a_stage_begin(cardinal: Cardinal) -> None:
    own_persona(cardinal, "sceptic", SCEPTIC)
    verify = [{"say": "Told: {{prompt}}"}, FINISH]
    cardinal.scenario(stages={"implement": [WRITE, go("verify")], "verify": verify})
    item = staged(cardinal, OWN)
    comment = cardinal.comment(item, "needs you before its next stage")
    assert "Begin verify" in comment.body
    assert "implement hands over: On to verify." in comment.body
    assert " → **verify ●** → " in cardinal.comment(item, "plan ✓").body
    cardinal.tick(comment, f"choice:{cardinal.events(QuestionAsked)[0].question_id}:1")
    cardinal.catch_up(work=True)
    (ended,) = cardinal.events(RunEnded)
    assert ended.ending is Ending.SUCCEEDED, ended
    implement, verify_ = cardinal.events(StageEntered)
    assert (implement.persona_source, verify_.persona_source) == ("built in", "acme/shop")
    assert (verify_.by, verify_.persona_digest) == ("alice", sha256(SCEPTIC.encode()).hexdigest())
    told = [event.text for event in cardinal.events(AgentSaid) if event.text.startswith("Told")]
    assert "Doubt every line." in told[0]
    shown = CliRunner().invoke(
        main, ["show", "r1", "--briefing"], env={"CARDINAL_HOME": str(cardinal.services.config.home)}
    )
    assert "=== 1. system: rules" in shown.output
    assert (
        "=== stage 1, implement (persona senior-engineer from built in, sha256 of its file " in shown.output
    )
    whole = shown.output.partition("=== stage 2, verify (persona sceptic from acme/shop,")[2]
    for words in ("Doubt every line.", "What earlier stages handed over", "You are in stage verify"):
        assert words in whole
    cardinal.assert_nothing_is_stuck()


@pytest.mark.parametrize(
    ("persona", "words"),
    [
        ("", ("unknown persona `sceptic`", "architect, debugger, docs-writer, odd, orchestrator")),
        ("Just be nice.", ("persona `sceptic`: line 1: a persona must begin with `---`",)),
        (
            SCEPTIC.replace("description", "model: gpt-9\ndescription"),
            ("wants the model `gpt-9`", "add it to `models` of the column"),
        ),
    ],
    ids=["unknown", "wrong", "model"],
)
def test_a_persona_that_cannot_be_used_starts_no_agent_and_the_card_says_why(
    cardinal: Cardinal, persona: str, words: tuple[str, ...]
) -> None:
    own_persona(cardinal, "sceptic" if persona else "odd", persona or SCEPTIC)
    cardinal.scenario(stages={})
    item = staged(cardinal, OWN)
    (ended,) = cardinal.events(RunEnded)
    assert (ended.ending, ended.reason) == (Ending.FAILED, "repository")
    for word in words:
        assert word in ended.detail
    assert "the stages cannot start" in cardinal.comment(item, "failed").body
    assert cardinal.events(SessionStarted) == []
    cardinal.assert_nothing_is_stuck()


def test_a_persona_loosens_nothing(cardinal: Cardinal) -> None:
    wild = SCEPTIC.replace(
        "---\nDoubt",
        "tools: {edit: allow, run: allow, network: full, mcp: [docs__find, docs__rm]}\n---\nDoubt",
    )
    own_persona(cardinal, "sceptic", wild)
    tools = ToolSpec(
        edit="deny", run="ask", network="list", hosts=("a.org",), ask=("git push:*",), mcp=("docs__find",)
    )
    text = with_column(stages=OWN, tools="{edit: deny, run: ask}")
    column = parse(text, home="acme/board").column("In Progress")
    assert column is not None
    _, verify = stages_of(personas.list_places(cardinal.services, "acme/shop", "main", ""), column, tools)
    assert (verify.tools.edit, verify.tools.run, verify.tools.ask) == ("deny", "ask", ("git push:*",))
    assert (verify.tools.network, verify.tools.hosts) == ("list", ("a.org",))
    assert verify.tools.mcp == ("docs__find",)


def test_a_persona_is_the_repositorys_then_the_homes_then_the_operators_then_built_in(
    cardinal: Cardinal, tmp_path: Path
) -> None:
    def commit(repo: Repo, *names: str) -> None:
        files: dict[str, bytes | None] = {f"{FOLDER}/{name}.md": persona(name, repo.name) for name in names}
        store, alice = cardinal.forge.store, cardinal.person("alice")
        store.repos.write_files(repo, "main", files, "Personas", actor=alice)

    def persona(name: str, where: str) -> bytes:
        return f"---\nname: {name}\ndescription: Of {where}.\n---\nFrom {where}, word for word.\n".encode()

    names = ("sceptic", "tester", "reviewer", "architect")
    for name in names[:3]:
        (tmp_path / f"{name}.md").write_bytes(persona(name, "the operator"))
    (tmp_path / "coder.md").write_text("Not a persona: MARKER-0815.\n")
    cardinal.configure(skills=tmp_path)
    commit(cardinal.home_repo, *names[:2])
    commit(cardinal.repo, names[0])
    services = cardinal.services

    def sources(*wanted: str) -> list[tuple[str, bool]]:
        after = (*wanted[1:], "end")
        stages = ", ".join(
            f"{{name: {name}, persona: {name}, next: [{then}]}}"
            for name, then in zip(wanted, after, strict=True)
        )
        column = parse(with_column(stages=f"[{stages}]"), home="acme/board").board.columns["In Progress"]
        places = personas.list_places(services, "acme/shop", "main", "acme/board")
        return [(stage.source, stage.private) for stage in stages_of(places, column, ToolSpec())]

    assert sources(*names) == [
        ("acme/shop", False),
        ("acme/board", False),
        ("operator", True),
        ("built in", False),
    ]
    with pytest.raises(PersonaError) as caught:
        sources("coder")
    assert caught.value.problems == ("persona `coder` of the operator's folder cannot be used",)
    with pytest.raises(PersonaError, match="unknown persona `nobody`") as unknown:
        sources("nobody")
    assert "coder" not in str(unknown.value)


def test_no_call_is_made_for_a_column_without_stages(cardinal: Cardinal) -> None:
    cardinal.scenario(work=[WRITE, FINISH])
    cardinal.new(column="In Progress")
    cardinal.catch_up(work=True)
    assert cardinal.events(StageLeft) == []
    assert cardinal.calls("personas") == []
