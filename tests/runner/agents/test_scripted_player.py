"""The scripted player tells its calls apart by their place: the same after a crash, another in each turn."""

from pathlib import Path
from typing import Any

from runner.agents.scripted.player import Player


class Wire:
    """Answers every call at once, or hears nothing more, as after a kill before the acknowledgement."""

    def __init__(self, *, answers: bool) -> None:
        self.answers, self.ids = answers, list[str]()

    def say(self, message: dict[str, Any]) -> None:
        if "tool" in message:
            self.ids.append(message["id"])

    def hear(self, _limit: float | None) -> dict[str, Any] | None:
        return {"ack": self.ids[-1], "result": {"ok": True}} if self.answers else None

    def pause(self, _seconds: float) -> None:
        """Time does not pass here."""


def played(folder: Path, turn: str, *, answers: bool) -> list[str]:
    wire = Wire(answers=answers)
    plan = {"plan": {"summary": "s", "steps": ["a"]}}
    opening = {
        "repo": str(folder),
        "home": str(folder),
        "run": "r1",
        "session": next((kept.stem.removeprefix("scripted-") for kept in folder.glob("*.json")), ""),
        "prompt": "# Title",
        "answer": "",
        "version": "1",
        "phase": turn.split("-")[0],
        "turn": turn,
        "scenario": {"plan": [plan], "redirect": [plan]},
    }
    try:
        Player(opening, wire).play()  # type: ignore[arg-type]
    except SystemExit:
        assert not answers
    return wire.ids


def test_a_call_never_acknowledged_keeps_its_id_and_lends_it_to_no_other_turn(tmp_path: Path) -> None:
    killed = played(tmp_path, "plan", answers=False)
    redirected = played(tmp_path, "redirect-1", answers=True)
    again = played(tmp_path, "plan", answers=True)
    assert again == killed
    assert len(redirected) == 1
    assert redirected != killed
