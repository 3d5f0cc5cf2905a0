"""A shorter story: a card is dragged out while its run waits; Cardinal puts it back and asks, once."""

from forge.demo.people import wait_for
from forge.demo.stage import Stage
from forge.demo.story import STEPS as WHOLE
from forge.demo.story import Step

ASKED = "Cancel it, or let it finish?"


def _planned(stage: Stage) -> str:
    stage.team.drag("alice", stage.number, "In Progress")
    posted = ("Plan of run", "box:approve")
    return wait_for("the plan is posted", lambda: _said(stage, *posted), limit_s=stage.patience_s)


def _put_back(stage: Stage) -> str:
    stage.team.drag("alice", stage.number, "Tasks")
    asked = wait_for("it is asked", lambda: _said(stage, ASKED), limit_s=stage.patience_s)
    wait_for(
        "it is put back", lambda: stage.card()["column"] == "In Progress" or None, limit_s=stage.patience_s
    )
    return asked


def _said(stage: Stage, *words: str) -> str | None:
    found = stage.comment_with(*words)
    return None if found is None else str(found["body"])


STEPS = (
    WHOLE[0],
    Step("dragged to In Progress: the plan is posted", _planned),
    Step("dragged out: asked and put back", _put_back),
)


def check_asked_once(stage: Stage) -> None:
    """One question, still open: nobody took Cardinal's own move for a person's choice."""
    bodies = [bot_comment["body"] for bot_comment in stage.bot_comments()]
    asked = [body for body in bodies if "<!-- cardinal:question:" in body]
    assert len(asked) == 1
    assert "answered" not in asked[0].splitlines()[0]
    assert stage.card()["column"] == "In Progress"
