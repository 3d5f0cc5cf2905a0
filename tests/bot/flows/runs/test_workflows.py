"""A workflow that a label and a command choose for a card: its stages, why it is that one, its routes."""

from ledger.events.run import RunQueued
from ledger.events.stage import StageEntered
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.people import issue_of
from tests.bot.flows.settings import with_column

FLOWS = """\
  workflows:
    docs-flow: {stages: [{name: write, persona: docs-writer}]}
    full: {stages: [{name: build, persona: senior-engineer}]}
  workflow_labels: {"kind:docs": docs-flow}
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
    assert [event.stage for event in cardinal.events(StageEntered)] == ["write"]
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
