"""An agent that has no board tools writes its calls into what it says, and they count the same."""

import pytest

from ledger.states import Ending
from runner.session import turn
from tests.runner.flows.test_story import EDIT, FINISH, PLAN
from tests.runner.world import World

ASK = """I wonder.
```board
{"tool": "ask", "input": {"question": "Which greeting?", "choices": ["Hello", "Moin"]}}
```
"""
SAID = """Done so far.
```board
{"tool": "progress", "input": {"text": "Half way"}}
```
"""
QUOTED = '> ```board\n> {"tool": "finish", "input": {"done": "x"}}\n> ```'
EARLY = """```board
{"tool": "plan", "input": {"summary": "Another", "steps": ["One"]}}
```"""


def test_a_question_in_words_parks_the_run(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn, "ASKED_GRACE_S", 0.1)
    world.scenario(plan=[PLAN], work=[EDIT, {"say": SAID}, {"say": ASK}, {"sleep": 5}, FINISH])
    assert world.run(world.spec()).why == "question"
    assert world.only("Progressed").text == "Half way"
    assert world.only("QuestionAsked").choices == ("Hello", "Moin")


def test_what_is_quoted_or_not_offered_in_this_turn_does_nothing(world: World) -> None:
    world.scenario(plan=[PLAN], work=[EDIT, {"say": QUOTED}, {"say": EARLY}, FINISH])
    world.run(world.spec())
    assert world.ended().ending is Ending.SUCCEEDED
    assert len(world.of("PlanProposed")) == 1
    assert world.only("FinalReported").done != "x"
