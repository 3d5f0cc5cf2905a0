"""The scenarios that the model plays: the scripted agent's language, and the faults of a provider."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

SECTIONS = ("plan", "redirect", "investigate", "work", "repair", "revise", "heed", "report")
FAULTS = ("status", "cut", "hang", "silent")
# What only a program can do, not a model: a scenario may hold it, and the model says that it cannot.
AGENT_ONLY = ("fail", "crash", "flood", "garbage")
_CAP_BYTES = 256 * 1024
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")
_NUMBER = (int, float)
# What a fault may hold besides its kind; `when` any step.
_EXTRAS = {"times": int, "message": str, "retry_after": int, "when": str}

Type = type | tuple[type, ...]


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of a step that is a mapping."""

    must: Mapping[str, Type] = field(default_factory=dict)
    may: Mapping[str, Type] = field(default_factory=dict)


SHAPES: Mapping[str, Type | Keys] = {
    "say": str,
    "plan": Keys({"summary": str, "steps": list}),
    "tick": int,
    "progress": str,
    "note": str,
    "ask": Keys({"question": str}, {"choices": list}),
    "block": str,
    "create_card": Keys({"title": str, "body": str, "reason": str}, {"repository": str, "relation": str}),
    "edit": Keys({"path": str}, {"content": str, "find": str, "replace": str}),
    "run": str,
    "commit": str,
    "thread": Keys({"say": str}, {"index": int, "match": str, "others": bool, "addressed": bool}),
    "finish": Keys(
        {"done": str}, {"changed": list, "check": list, "open_questions": list, "nothing_to_do": bool}
    ),
    "go_to_stage": Keys({"stage": str, "summary": str}, {"open_points": list}),
    "findings": Keys({"summary": str}, {"findings": list, "follow_ups": list}),
    "attach": Keys({"name": str, "content": str}),
    "sleep": _NUMBER,
    "usage": Keys({}, {"usd": _NUMBER, "in": int, "out": int, "cache_read": int, "cache_write": int}),
    "todo": list,
    "board": Keys({"tool": str}, {"input": dict}),
    "call": Keys({"name": str}, {"input": dict, "namespace": str, "text": str}),
    "subagent": str,
    "parallel": list,
    "long": int,
    "slow": _NUMBER,
    "status": int,
    "cut": bool,
    "hang": bool,
    "silent": bool,
    "fail": int,
    "crash": bool,
    "flood": dict,
    "garbage": bool,
}
TOGETHER = ("run", "progress", "note", "tick", "todo", "board", "call", "subagent", "edit")


class ScriptError(Exception):
    """A scenario cannot be played; the text has its name, the place and the reason."""

    def __init__(self, name: str, where: str, problem: str) -> None:
        self.name = name
        super().__init__(f"scenario {name}: {where + ': ' if where else ''}{problem}")


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its kind, its value, and in `extras` the limits of a fault, and the threads it is for."""

    kind: str
    value: Any
    extras: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reply:
    """One rule of a chat; `when` is a regular expression."""

    say: str
    when: str = ""


@dataclass(frozen=True, slots=True)
class Script:
    """One scenario: the steps of each section, of each subagent, of each stage, and the replies of its chat.

    `cards` are scenarios for the cards whose title fits a regular expression; the first that fits counts.
    """

    sections: Mapping[str, tuple[Step, ...]]
    subagents: Mapping[str, tuple[Step, ...]]
    chat: tuple[Reply, ...]
    cards: tuple[tuple[str, "Script"], ...] = ()
    stages: Mapping[str, tuple[Step, ...]] = field(default_factory=dict)

    def for_card(self, title: str) -> "Script":
        """Return the scenario that a card of this title gets."""
        return next((script for pattern, script in self.cards if re.search(pattern, title)), self)

    def complete(self, sections: Mapping[str, tuple[Step, ...]]) -> "Script":
        """Return this scenario with those of the sections that it lacks."""
        return replace(self, sections={key: self.sections[key] or sections[key] for key in SECTIONS})

    def steps(self, turn: str) -> tuple[Step, ...]:
        """Return the steps of a turn: `repair-2` plays `repair`, `stage-2-verify` plays `verify-2` of the
        stages, or `verify`; no `redirect` means `plan` again.
        """
        if turn.startswith("sub-"):
            return self.subagents.get(turn.removeprefix("sub-"), ())
        section, _, rest = turn.partition("-")
        if section == "stage":
            number, _, name = rest.partition("-")
            return self.stages.get(f"{name}-{number}", self.stages.get(name, ()))
        steps = self.sections.get(section, ())
        return steps or (self.sections.get("plan", ()) if section == "redirect" else ())


def load_script(folder: Path, name: str) -> Script:
    """Return the scenario `name` of the folder with those that its `cards` name. Raises ScriptError."""
    path = folder / f"{name}.yml"
    if not _NAME.fullmatch(name) or not path.is_file():
        known = ", ".join(sorted(file.stem for file in folder.glob("*.yml")))
        raise ScriptError(name, "", f"there is no such file in {folder}; there are {known or 'none'}")
    if path.stat().st_size > _CAP_BYTES:
        raise ScriptError(name, "", f"it is larger than {_CAP_BYTES} bytes")
    try:
        given = yaml.safe_load(path.read_bytes()) or {}
    except yaml.YAMLError as error:
        raise ScriptError(name, "", f"not YAML: {error}") from error
    if not isinstance(given, dict):
        raise ScriptError(name, "", "a mapping of sections was expected")
    return _script(folder, name, given)


def _script(folder: Path, name: str, given: dict[str, Any]) -> Script:
    unknown = set(given) - {*SECTIONS, "subagents", "stages", "chat", "cards"}
    if unknown:
        raise ScriptError(name, "", f"there is no section {sorted(map(str, unknown))[0]!r}")
    own = {key: tuple(_steps(name, key, given.get(key))) for key in SECTIONS}
    try:
        cards = tuple(
            (re.compile(scene["title"]).pattern, load_script(folder, scene["scenario"]).complete(own))
            for scene in given.get("cards") or ()
        )
        chat = tuple(
            Reply(str(rule["say"]), re.compile(rule.get("when", "")).pattern)
            for rule in given.get("chat") or ()
        )
    except (re.error, KeyError, TypeError, AttributeError) as error:
        raise ScriptError(name, "chat and cards", f"{type(error).__name__}: {error}") from error
    subagents = given.get("subagents") or {}
    return Script(
        own,
        {key: tuple(_steps(name, f"subagents.{key}", steps)) for key, steps in subagents.items()},
        chat,
        cards,
        _stages(name, given.get("stages") or {}),
    )


def _stages(name: str, given: Any) -> Mapping[str, tuple[Step, ...]]:
    if not isinstance(given, dict):
        raise ScriptError(name, "stages", "a mapping of stages was expected")
    return {key: tuple(_steps(name, f"stages.{key}", steps)) for key, steps in given.items()}


def _steps(name: str, where: str, given: Any) -> Iterator[Step]:
    if not isinstance(given or [], list):
        raise ScriptError(name, where, "a list of steps was expected")
    for number, step in enumerate(given or []):
        yield _step(name, f"{where}.{number}", {step: True} if isinstance(step, str) else step)


def _step(name: str, where: str, given: Any) -> Step:
    kinds = [key for key in given if key not in _EXTRAS] if isinstance(given, dict) else []
    if len(kinds) != 1:
        raise ScriptError(name, where, "a step is exactly one of " + ", ".join(SHAPES))
    kind = kinds[0]
    if kind not in SHAPES:
        raise ScriptError(name, where, f"there is no step {kind!r}; there are {', '.join(SHAPES)}")
    extras = {key: value for key, value in given.items() if key != kind}
    wrong = [
        key
        for key, value in extras.items()
        if (kind not in FAULTS and key != "when") or not _is(value, _EXTRAS[key])
    ]
    problem = f"{wrong[0]} is not for this step" if wrong else _problem(kind, given[kind])
    if problem:
        raise ScriptError(name, where, f"{kind}: {problem}")
    value = given[kind]
    if kind == "parallel":
        value = tuple(_steps(name, f"{where}.parallel", value))
        if any(step.kind not in TOGETHER for step in value):
            raise ScriptError(name, where, f"parallel: only {', '.join(TOGETHER)} can be done together")
    return Step(kind, value, extras)


def _problem(kind: str, value: Any) -> str:
    shape = SHAPES[kind]
    if not isinstance(shape, Keys):
        return "" if _is(value, shape) else f"{_join_names(shape)} was expected"
    if not isinstance(value, dict):
        return "a mapping was expected"
    allowed = {**shape.must, **shape.may}
    for key in value:
        if key not in allowed:
            return f"there is no key {key!r}; there are {', '.join(allowed)}"
        if not _is(value[key], allowed[key]):
            return f"{key}: {_join_names(allowed[key])} was expected"
    missing = [key for key in shape.must if key not in value]
    if missing:
        return f"{missing[0]} is missing"
    if kind == "edit" and ("content" in value) == ("find" in value):
        return "give either content, or find and replace"
    return ""


def _is(value: Any, wanted: Type) -> bool:
    if isinstance(value, bool):
        return wanted is bool
    return isinstance(value, wanted)


def _join_names(wanted: Type) -> str:
    return " or ".join(kind.__name__ for kind in (wanted if isinstance(wanted, tuple) else (wanted,)))
