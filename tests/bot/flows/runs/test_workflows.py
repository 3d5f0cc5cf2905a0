"""A workflow that a label and a command choose for a card: its stages, why it is that one, its routes."""

from click.testing import CliRunner

from bot.cli import main
from ledger.events.board import CardMoved
from ledger.events.policy import PolicyLoaded, PolicyRejected
from ledger.events.run import RunEnded, RunQueued
from ledger.events.stage import FileTouched, StageLeft
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.people import issue_of
from tests.bot.flows.settings import with_column

FLOWS = """\
  workflows:
    docs-flow: {stages: [{name: write, persona: docs-writer}]}
    full: {stages: [{name: build, persona: senior-engineer}]}
  labels: {"kind:docs": {workflow: docs-flow}}
"""
WORKS = [{"edit": {"path": "greeting.txt", "content": "Hello\n"}}, {"finish": {"done": "It greets."}}]


def test_a_label_and_then_a_command_choose_the_workflow_and_the_run_says_why(cardinal: Cardinal) -> None:
    cardinal.set_policy(with_column() + FLOWS)
    cardinal.scenario(stages={"write": WORKS, "build": WORKS})
    item = cardinal.new()
    cardinal.catch_up()
    cardinal.forge.store.issues.set_labels(issue_of(item), ["kind:docs"], actor=cardinal.person("alice"))
    cardinal.drag(item, "In Progress")
    cardinal.catch_up(work=True)
    (left,) = cardinal.events(StageLeft)
    assert (left.stage, left.touched) == ("write", (FileTouched("greeting.txt", 1, 0),))
    home = str(cardinal.services.config.home)
    shown = " ".join(CliRunner().invoke(main, ["show", "r1"], env={"CARDINAL_HOME": home}).output.split())
    assert "greeting.txt (added 1, removed 0)" in shown
    assert "Workflow `docs-flow` (the label `kind:docs`)" in shown
    assert cardinal.comment(item, "workflow `docs-flow` (the label `kind:docs`)")
    cardinal.say(item, "/cardinal workflow full")
    cardinal.say(item, "/cardinal retry")
    cardinal.say(item, "/cardinal explain")
    cardinal.catch_up()
    assert [(it.workflow, it.workflow_rule, it.workflow_value) for it in cardinal.events(RunQueued)] == [
        ("docs-flow", "label", "kind:docs"),
        ("full", "command", "alice"),
    ]
    assert "r2 has the workflow `full` (chosen by `alice`)" in cardinal.told(item)[-1]


def test_a_card_whose_run_fails_goes_to_the_route_of_its_workflow_with_the_reason_on_its_face(
    cardinal: Cardinal,
) -> None:
    routed = FLOWS.replace("docs-writer}]}", "docs-writer}], on_failure: {move: Tasks}}")
    cardinal.set_policy(with_column(workflow="docs-flow") + routed)
    cardinal.scenario(stages={"write": [{"finish": {"done": "Nothing."}}]})
    item = cardinal.new(column="In Progress")
    cardinal.catch_up(work=True)
    (end,) = cardinal.events(RunEnded)
    assert (end.ending, cardinal.column(item)) == ("failed", "Tasks")
    (move,) = (it for it in cardinal.events(CardMoved) if it.by_cardinal)
    assert (move.before, move.after) == ("In Progress", "Tasks")
    assert cardinal.face(item)["Progress"].startswith(f"r1 failed: {end.detail[:20]}")
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    assert [it.kind for it in cardinal.events(RunQueued)] == ["first", "retry"]


def _commit(cardinal: Cardinal, files: dict[str, bytes | None]) -> None:
    """Commit files to the default branch of the board's home."""
    alice = cardinal.person("alice")
    cardinal.forge.store.repos.write_files(cardinal.home_repo, "main", files, "Workflows", actor=alice)


def test_a_file_of_the_board_s_home_is_a_workflow_as_well_and_a_wrong_one_changes_nothing(
    cardinal: Cardinal,
) -> None:
    place, text = (
        ".github/cardinal/workflows/docs-flow.yml",
        "stages: [{name: write, persona: docs-writer}]\n",
    )
    _commit(cardinal, {place: text.encode()})
    cardinal.set_policy(with_column(workflow="docs-flow"))
    cardinal.scenario(stages={"write": WORKS})
    cardinal.new(column="In Progress")
    cardinal.catch_up(work=True)
    (left,) = cardinal.events(StageLeft)
    assert left.stage == "write"
    loaded = cardinal.events(PolicyLoaded)[-1]
    assert [(it.name, it.text) for it in loaded.workflows] == [("docs-flow", text)]
    _commit(cardinal, {place: b"stages: 5\n"})
    cardinal.catch_up()
    (refused,) = cardinal.events(PolicyRejected)
    assert refused.problems[0].startswith(f"{place}: line 1: stages: ")
    _commit(cardinal, {place: None, ".github/cardinal/workflows/README.md": b"Ours.\n"})
    cardinal.catch_up()
    assert "unknown workflow `docs-flow`" in cardinal.events(PolicyRejected)[-1].problems[0]
