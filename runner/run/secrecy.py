"""Takes the words of private skills out of what an agent says, before anything is written down. Pure."""

import dataclasses
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from ledger.events.run import RunEvent
from ledger.events.turn import BoardToolCalled
from runner.run.instructions import Layer, SkillContent

E = TypeVar("E", bound=RunEvent)
PRIVATE_SKILL_MARK = "[private skill]"
# What a run goes on by, as Cardinal and the policy named it: without it the events would lead nowhere.
_NAMES = frozenset(
    ("run_id", "question_id", "session_id", "call_id", "turn", "stage", "source", "target", "branch")
)
_NAMES_IN_CALLS = frozenset(("stage", "thread_id"))
_LEAST_CHARACTERS = 16  # a shorter line is not worth hiding: half the words of the language would go
_MAX_PHRASES = 4_000


@dataclass(frozen=True, slots=True)
class Secrecy:
    """The lines of private skills, each as text and as it stands within JSON; the longest first."""

    phrases: tuple[str, ...] = ()

    def redact_event(self, event: E) -> E:
        """Return the event with such lines taken out of all that it says."""
        if not self.phrases:
            return event
        names = (one.name for one in dataclasses.fields(event) if one.name not in _NAMES)
        told = {name: self._redacted(getattr(event, name)) for name in names}
        if isinstance(event, BoardToolCalled):  # value by value: a line may hold a part of the JSON around it
            told["body"] = json.dumps(self._redacted(json.loads(event.body)), ensure_ascii=False)
        return dataclasses.replace(event, **told)

    def _redacted(self, value: Any) -> Any:
        if type(value) is str:
            return self.redact_private_skills(value)
        if isinstance(value, dict):
            return {
                name: one if name in _NAMES_IN_CALLS else self._redacted(one) for name, one in value.items()
            }
        return type(value)(map(self._redacted, value)) if isinstance(value, tuple | list) else value

    def redact_private_skills(self, text: str) -> str:
        """Return `text` with a mark where such a line stood."""
        for phrase in self.phrases:
            if phrase in text:
                text = text.replace(phrase, PRIVATE_SKILL_MARK)
        return text


def secrecy_of(layers: Iterable[Layer], files: Iterable[SkillContent], before: Iterable[str] = ()) -> Secrecy:
    """Return what must not be repeated of the private ones among the layers and of their files, nor of what
    was told `before`: phrases of another Secrecy.
    """
    private = {layer.name: layer for layer in layers if layer.private}
    texts = [layer.text for layer in private.values()]
    texts += [one.content.decode(errors="replace") for one in files if one.path.split("/")[0] in private]
    phrases: dict[str, None] = {}
    for text in texts:
        for line in map(str.strip, text.splitlines()):
            if len(line) >= _LEAST_CHARACTERS:
                phrases |= dict.fromkeys((line, json.dumps(line)[1:-1], _unescaped(line)))
    kept = tuple(dict.fromkeys((*phrases, *before)))[:_MAX_PHRASES]
    return Secrecy(tuple(sorted(kept, key=len, reverse=True)))


def _unescaped(line: str) -> str:
    return json.dumps(line, ensure_ascii=False)[1:-1]
