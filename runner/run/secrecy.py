"""Removes the text of private skills and personas from an agent's words before they are stored. Pure."""

import dataclasses
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from ledger.events.run import RunEvent
from ledger.events.turn import BoardToolCalled
from runner.run.instructions import Equipment
from runner.run.run_spec import StageSpec

E = TypeVar("E", bound=RunEvent)
PRIVATE_SKILL_MARK = "[private skill]"
# What a run goes on by, as Cardinal and the policy named it: without it the events would lead nowhere.
_NAMES = frozenset(
    ("run_id", "question_id", "session_id", "call_id", "turn", "stage", "source", "target", "branch")
)
_NAMES_IN_CALLS = frozenset(("stage", "thread_id"))
_MIN_CHARACTERS = 16  # a shorter line is not worth hiding: half the words of the language would go
_MAX_PHRASES = 4_000


@dataclass(frozen=True, slots=True)
class Secrecy:
    """Lines of private skills, as text and as JSON, the longest first."""

    phrases: tuple[str, ...] = ()

    def redact_event(self, event: E) -> E:
        if not self.phrases:
            return event
        names = (field.name for field in dataclasses.fields(event) if field.name not in _NAMES)
        values = {name: self._redact_all(getattr(event, name)) for name in names}
        if isinstance(event, BoardToolCalled):  # value by value: a line may hold a part of the JSON around it
            values["body"] = json.dumps(self._redact_call(json.loads(event.body)), ensure_ascii=False)
        return dataclasses.replace(event, **values)

    def _redact_call(self, given: dict[str, Any]) -> dict[str, Any]:
        return {
            name: item if name in _NAMES_IN_CALLS else self._redact_all(item) for name, item in given.items()
        }

    def _redact_all(self, value: Any) -> Any:
        if type(value) is str:
            return self.redact_private_skills(value)
        if isinstance(value, dict):
            return {self.redact_private_skills(name): self._redact_all(item) for name, item in value.items()}
        return type(value)(map(self._redact_all, value)) if isinstance(value, tuple | list) else value

    def redact_private_skills(self, text: str) -> str:
        """Return `text` with a mark in place of such lines."""
        for phrase in self.phrases:
            if phrase in text:
                text = text.replace(phrase, PRIVATE_SKILL_MARK)
        return text


def secrecy_of(equipment: Equipment, before: Iterable[str] = (), stages: Iterable[StageSpec] = ()) -> Secrecy:
    """Return the Secrecy of the private layers and their files, of the stages' private personas, and of
    earlier phrases, `before`.
    """
    private = {layer.name: layer for layer in equipment.layers if layer.private}
    texts = [layer.text for layer in private.values()]
    texts += [stage.text for stage in stages if stage.private]
    texts += [
        file.content.decode(errors="replace")
        for file in equipment.files
        if file.path.split("/")[0] in private
    ]
    phrases: dict[str, None] = {}
    for text in texts:
        for line in map(str.strip, text.splitlines()):
            if len(line) >= _MIN_CHARACTERS:
                phrases |= dict.fromkeys(
                    (line, json.dumps(line)[1:-1], json.dumps(line, ensure_ascii=False)[1:-1])
                )
    kept = tuple(dict.fromkeys((*phrases, *before)))[:_MAX_PHRASES]
    return Secrecy(tuple(sorted(kept, key=len, reverse=True)))
