"""Answers of the model: the next steps of the scenario, up to the next use of a tool."""

import dataclasses
import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from forge.model.conversation import Answer, Call, Conversation, Tokens, Used, Words
from forge.model.place import Place, call_id, place_of, slug_of, title_of
from forge.model.scenario import AGENT_ONLY, FAULTS, Script, Step
from forge.model.threads import fits, replies
from forge.model.tools import BOARD, NoToolError, Toolbox

_CHAT_HEADING = re.compile(r"^# The card", re.MULTILINE)
_ABOUT_TITLES = re.compile(r"(?i)title generator|generate a [\w, ]*title|conversation topic|summarize this")


class Faults:
    """Counts how often each fault was served: the only thing that the model remembers."""

    def __init__(self) -> None:
        self._lock, self._served = threading.Lock(), Counter[tuple[str, int]]()

    def strikes(self, mark: str, index: int, step: Step) -> bool:
        """Return whether the fault is to be served once more; without `times` it always is."""
        with self._lock:
            self._served[mark, index] += 1
            limit = step.extras.get("times")
            return limit is None or self._served[mark, index] <= limit


class Playing:
    """Answers one request from the script. `complain` gets what an agent did not offer."""

    def __init__(self, script: Script, faults: Faults, complain: Callable[[str], None]) -> None:
        self._script, self._faults, self._complain = script, faults, complain

    def answer(self, conversation: Conversation) -> Answer:
        """Return the answer; the same for the same request, except for faults with `times`."""
        place = place_of(conversation)
        if _is_aside(conversation, place):
            return Answer("A scripted title", tokens=Tokens(20, 5))
        if place is None or place.phase == "chat":
            return self._chat(conversation, place)
        script = self._script.for_card(place.title)
        steps = tuple(step for step in script.steps(place.turn) if fits(step, place.threads))
        return _Turn(steps, place, conversation, self._faults, self._complain).answer()

    def _chat(self, conversation: Conversation, place: Place | None) -> Answer:
        texts = [entry.text for entry in conversation.entries if isinstance(entry, Words)]
        prompt = place.prompt if place else (texts[-1] if texts else "")
        title = title_of(prompt)
        for rule in self._script.for_card(title).chat:
            if re.search(rule.when, prompt):
                return Answer(rule.say.replace("{{title}}", title))
        return Answer("I have nothing to say to that.")


def _is_aside(conversation: Conversation, place: Place | None) -> bool:
    """Whether an agent's program asks for its own use, as for a title: without tools, and not as a chat."""
    if conversation.offer.names or conversation.offer.spaces:
        return False
    texts = [entry.text for entry in conversation.entries if isinstance(entry, Words)]
    if _ABOUT_TITLES.search("\n".join([conversation.system, *texts[:1]])):
        return True
    chats = place is not None or any(_CHAT_HEADING.search(text) for text in texts)
    return not chats


@dataclasses.dataclass
class _Turn:
    """One turn of the script: collects the steps that come before the next use of a tool."""

    steps: tuple[Step, ...]
    place: Place
    conversation: Conversation
    faults: Faults
    complain: Callable[[str], None]

    def __post_init__(self) -> None:
        self.replies = replies(self.steps, self.place.threads)
        self.tools = Toolbox(self.conversation.offer, self.conversation.folder, self.place, self.replies)
        self.texts = [f"Heard: {text}" for text in self.place.steered]
        self.extras: dict[str, Any] = {}

    def answer(self) -> Answer:
        try:
            return self._answer()
        except NoToolError as error:
            self.complain(f"{self.place.run} {self.place.turn}: {error}")
            return self._closed(f"There is no tool for this: {error}.", len(self.steps))

    def _answer(self) -> Answer:
        index = self.place.step
        if index >= 0 and self._waits(index):
            return self._closed("I wait for the answer.", index)
        if 0 <= index < len(self.steps):
            calls = self.tools.calls(self._filled(self.steps[index]), self.place.outcomes)
            if calls:
                return self._called(calls, index, len(self.place.outcomes))
        for index in range(self._start(), len(self.steps)):
            step = self._filled(self.steps[index])
            if step.kind in AGENT_ONLY:
                self.complain(f"{self.place.run} {self.place.turn}: only the scripted agent can {step.kind}")
                return self._closed("I cannot do this.", index)
            if self._noted(step, index):
                if self.extras.get("status"):
                    return self._with(index)
                continue
            calls = self.tools.calls(step, ())
            if calls:
                return self._called(calls, index, 0)
        return self._closed("That is all.", len(self.steps))

    def _waits(self, index: int) -> bool:
        """Whether the newest call asked people, and no answer is there."""
        asking = index < len(self.steps) and _asks(self.steps[index])
        answered = self.place.answered_inside or (self.place.fresh and self.place.phase == "answer")
        return asking and not answered

    def _start(self) -> int:
        """Return the step to go on with: behind the newest, and behind a question that was answered."""
        after = self.place.step + 1
        parked = 0 <= self.place.step < len(self.steps) and _asks(self.steps[self.place.step])
        # The agent may have been stopped before its memory held the question.
        if self.place.phase == "answer" and self.place.fresh and not parked:
            asking = [n for n in range(after, len(self.steps)) if _asks(self.steps[n])]
            return asking[0] + 1 if asking else after
        return after

    def _noted(self, step: Step, index: int) -> bool:
        """Take in a step that needs no tool; False for others."""
        value = step.value
        match step.kind:
            case "say":
                self.texts.append(value)
            case "long":
                self.texts.append(_words_of_length(value))
            case "sleep":
                self.extras["delay_s"] = self.extras.get("delay_s", 0.0) + value
            case "slow":
                self.extras["pace_s"] = value
            case "usage":
                self.extras["tokens"] = _tokens(value)
            case kind if kind in FAULTS:
                if self.faults.strikes(self.place.mark, index, step):
                    self._break(step)
            case _:
                return False
        return True

    def _break(self, step: Step) -> None:
        if step.kind != "status":
            self.extras["ending"] = step.kind
            return
        message = step.extras.get("message", f"scripted failure {step.value}")
        self.extras |= {
            "status": step.value,
            "message": message,
            "retry_after": step.extras.get("retry_after"),
        }

    def _called(self, calls: tuple[Call, ...], index: int, number: int) -> Answer:
        mark = self.place.mark
        search = self._search(calls)
        if search is not None:
            # Its id counts for no step: the step itself is still to be done.
            return self._with(index, (dataclasses.replace(search, call_id=f"call_{mark}x{index}s{number}"),))
        named = tuple(
            dataclasses.replace(call, call_id=call_id(mark, index, number, which))
            for which, call in enumerate(calls)
        )
        return self._with(index, named)

    def _search(self, calls: tuple[Call, ...]) -> Call | None:
        """Return the call that makes deferred tools known, when one is needed that was not searched yet."""
        offer = self.conversation.offer
        searched = " ".join(
            str(entry.given)
            for entry in self.conversation.entries
            if isinstance(entry, Used) and entry.name == offer.search
        )
        wanted = {call.name for call in calls if call.name in offer.deferred and call.name not in searched}
        if not wanted:
            return None
        wanted |= {name for name in offer.deferred if name.removeprefix("mcp__board__") in BOARD}
        query = "select:" + ",".join(sorted(wanted))
        return Call(offer.search, {"query": query, "max_results": len(wanted)})

    def _closed(self, text: str, index: int) -> Answer:
        self.texts = self.texts or [text]
        return self._with(index)

    def _with(self, index: int, calls: tuple[Call, ...] = ()) -> Answer:
        place = (self.place.run, self.place.turn, index)
        return Answer(text="\n\n".join(self.texts), calls=calls, place=place, **self.extras)

    def _filled(self, step: Step) -> Step:
        return dataclasses.replace(step, value=_fill(step.value, self._words()))

    def _words(self) -> Mapping[str, str]:
        place, total = self.place, len(self.place.threads)
        done = sum(reply.addressed for reply in self.replies)
        addressed = f"{done} of {total} review comment{'' if total == 1 else 's'} addressed"
        addressed = addressed if total else "no comment on a line of the code was there to address"
        return {
            "slug": slug_of(place.title), "title": place.title, "prompt": place.prompt,
            "answer": place.answer, "addressed": addressed,
        }  # fmt: skip


def _fill(value: Any, words: Mapping[str, str]) -> Any:
    """Put words where a scenario names them in double braces."""
    if isinstance(value, str):
        for name, text in words.items():
            value = value.replace(f"{{{{{name}}}}}", text)
        return value
    if isinstance(value, Step):
        return dataclasses.replace(value, value=_fill(value.value, words))
    if isinstance(value, list | tuple):
        return type(value)(_fill(item, words) for item in value)
    return {key: _fill(item, words) for key, item in value.items()} if isinstance(value, dict) else value


def _tokens(given: dict[str, Any]) -> Tokens:
    usual = Tokens()
    return Tokens(
        given.get("in", usual.fresh),
        given.get("out", usual.out),
        given.get("cache_read", 0),
        given.get("cache_write", 0),
    )


def _words_of_length(characters: int) -> str:
    return ("words " * (characters // 6 + 1))[:characters]


def _asks(step: Step) -> bool:
    """Tell whether people are asked by the step, which ends the turn."""
    return step.kind in ("ask", "block") or (
        step.kind == "create_card" and bool(step.value.get("repository"))
    )
