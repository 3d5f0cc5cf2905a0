"""A form made from the schema of the policy file: a field for every key, and what a sent form says."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from rules.policy.messages import Problem
from rules.policy.schema import Spec, alternatives_of, follow_reference, properties_of

Given = Mapping[str, str]
NONE = "none"  # a list without lines, where that is not what applies by default
NEW = "-"  # in place of an item's number in the file
MAX_ITEMS = 50
MAX_LINE = 200  # letters of a text; one that may be longer gets a paragraph
MAX_LINES = 20_000
YES_NO = ("false", "true")
# As the reader of policies reads a number.
_WHOLE = re.compile(r"[-+]?[0-9]{1,15}", re.ASCII)
_DECIMAL = re.compile(r"[-+]?[0-9]{1,15}\.[0-9]{1,15}", re.ASCII)
_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


class FieldKind(StrEnum):
    """How a field is filled in."""

    CHOICE = "choice"
    NUMBER = "number"
    LINES = "lines"
    PARAGRAPH = "paragraph"
    TEXT = "text"
    FIXED = "fixed"  # says of what kind an item is
    GROUP = "group"
    LIST = "list"


@dataclass(frozen=True, slots=True)
class FormField:
    """A field of the form, or a group or list of them in `parts`; `adds` are the kinds of items of a list."""

    name: str
    label: str
    meaning: str
    kind: FieldKind
    value: str = ""
    choices: tuple[str, ...] = ()
    most: int = MAX_LINE
    parts: tuple["FormField", ...] = ()
    adds: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class PolicyForm:
    """The form of one group of a policy file.

    `names`: those that a text may be, by the schema's `format`, and the kinds of items that may be added, by
    the key that says so. `defaults`: what applies, by a key's path, where the schema says nothing; more than
    one where that depends on the form itself. `only`: the paths that have a field, with all below them.
    """

    spec: Spec
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    defaults: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    _origins: dict[str, list[str]] = field(default_factory=dict)

    def fields(self, tree: Mapping[str, Any]) -> tuple[FormField, ...]:
        """Return the fields, filled in with what the file says, or with what applies by default."""
        return tuple(self._group(self.spec, tree, ""))

    def read(self, before: Mapping[str, Any], given: Given) -> dict[str, Any]:
        """Return the tree that a sent form means; what it does not name, or shows as it was, stays.

        `do` in the form may add an item to a list, take one away or move it up.
        """
        return self._read_group(self.spec, before, given, "")

    def _keys(self, spec: Spec, prefix: str) -> Iterator[tuple[str, str, Spec]]:
        """Yield the keys of a group that have a field, with their paths."""
        for key, part in properties_of(spec).items():
            name = f"{prefix}{key}"
            near = (f"{it}.".startswith(f"{name}.") or f"{name}.".startswith(f"{it}.") for it in self.only)
            if not self.only or any(near):
                yield key, name, follow_reference(part)

    def _group(self, spec: Spec, tree: Mapping[str, Any], prefix: str) -> Iterator[FormField]:
        for key, name, part in self._keys(spec, prefix):
            yield self._field(name, part, tree.get(key, self._default(name, part)), key in tree)

    def _field(self, name: str, spec: Spec, value: Any, is_written: bool) -> FormField:
        kind, main = _shape(spec)
        label = spec.get("title") or name.rpartition(".")[2].replace("_", " ").capitalize()
        meaning = spec.get("description", "")
        if kind is FieldKind.GROUP:
            inner = value if isinstance(value, dict) else {}
            parts = tuple(self._group(main, inner, f"{name}."))
            if len(parts) != 1:
                return FormField(name, label, meaning, kind, parts=parts)
            (one,) = parts
            if len(properties_of(main)) > 1:  # of the others, none has a field
                return one
            # A group of one key is shown as that, and may be left out.
            choices = ("", *(it for it in one.choices if it)) if one.choices else ()
            return FormField(one.name, label, meaning, one.kind, one.value, choices, one.most)
        if kind is FieldKind.LIST:
            parts, origins = self._items(name, label, main, value or [], is_written)
            kinds = [(*_fixed(it), _title(it, label)) for it in alternatives_of(main["items"])]
            adds = tuple((word, title) for key, word, title in kinds if word in self.names.get(key, word))
            return FormField(name, label, meaning, kind, ",".join(origins), parts=parts, adds=adds)
        shown = _shown(value, spec)
        choices = _choices(main) or self.names.get(main.get("format", ""), ())
        if choices:
            kind = FieldKind.CHOICE
            choices = ("", *choices) if spec.get("default", "") is None else choices
            choices = choices if shown in choices else (shown, *choices)
        most = MAX_LINES if kind is FieldKind.LINES else main.get("maxLength", MAX_LINE)
        return FormField(name, label, meaning, kind, shown, choices, most)

    def _items(
        self, name: str, label: str, spec: Spec, items: list[Any], is_written: bool
    ) -> tuple[tuple[FormField, ...], list[str]]:
        """Return a group for each item of a list, and each one's number in the file."""
        fresh = [str(index) if is_written else NEW for index in range(len(items))]
        origins = self._origins.get(name, fresh)
        kinds = alternatives_of(spec["items"])
        parts = list[FormField]()
        for index, item in enumerate(items):
            kind, at = _kind_of(kinds, item), f"{name}.{index}"
            inner = tuple(self._group(kind, item, f"{at}."))
            title, meaning = f"{index + 1}. {_title(kind, label)}", kind.get("description", "")
            parts.append(FormField(at, title, meaning, FieldKind.GROUP, parts=inner))
        return tuple(parts), origins

    def _default(self, name: str, spec: Spec) -> Any:
        known = self.defaults.get(name)
        return known[0] if known else spec.get("default")

    def _read_group(self, spec: Spec, before: Mapping[str, Any], given: Given, prefix: str) -> dict[str, Any]:
        after = dict(before)
        for key, name, part in self._keys(spec, prefix):
            kind, main = _shape(part)
            old = before.get(key)
            if kind is FieldKind.GROUP:
                was = old if isinstance(old, dict) else {}
                inner = self._read_group(main, was, given, f"{name}.")
                if inner != was:
                    _set_or_drop(after, key, inner or None)
            elif kind is FieldKind.LIST:
                self._read_list(after, key, name, part, given)
            elif name in given:
                applies = before.get(key, self._default(name, part))
                # A browser sends every field: one that still shows what was there is not a change.
                if given[name] != _shown(applies, part).strip():
                    value = _read_text(given[name], kind, part, main)
                    if value is None or value != applies:
                        _set_or_drop(after, key, value)
        return after

    def _read_list(self, after: dict[str, Any], key: str, name: str, spec: Spec, given: Given) -> None:
        if name not in given:
            return
        written = after.get(key)
        was: list[Any] = written if isinstance(written, list) else []
        kinds = alternatives_of(_shape(spec)[1]["items"])
        items, origins = list[dict[str, Any]](), list[str]()
        for index, origin in enumerate(filter(None, given[name].split(",")[:MAX_ITEMS])):
            at = f"{name}.{index}"
            known = origin.isdecimal() and origin.isascii() and len(origin) < 4 and int(origin) < len(was)
            base = dict(was[int(origin)]) if known else {}
            base |= {word: given[f"{at}.{word}"] for word, _ in map(_fixed, kinds) if f"{at}.{word}" in given}
            items.append(self._read_group(_kind_of(kinds, base), base, given, f"{at}."))
            origins.append(origin if known else NEW)
        _change_list(given.get("do", ""), name, kinds, items, origins)
        self._origins[name] = origins
        usual = [list(it) for it in self.defaults.get(name, [spec.get("default") or []])]
        if items != was if key in after else items not in usual:
            _set_or_drop(after, key, items if items or any(usual) else None)


def place_problems(
    fields: Iterable[FormField], problems: Iterable[str], at: tuple[str | int, ...]
) -> dict[str, list[str]]:
    """Return the problems of a file by the name of the field that each is about, "" for those of none.

    `at` is where the form's group is in the file.
    """
    names = tuple(_names_of(fields))
    placed: dict[str, list[str]] = {}
    for problem in problems:
        path = problem.path if isinstance(problem, Problem) else ()
        inside = [str(part) for part in path[len(at) :]] if path[: len(at)] == at else []
        ways = (".".join(inside[:length]) for length in range(len(inside), 0, -1))
        near = (name for way in ways for name in names if f"{name}.".startswith(f"{way}."))
        name = next(near, "")
        said = problem.said if name and isinstance(problem, Problem) else str(problem)
        placed.setdefault(name, []).append(said)
    return placed


def _names_of(fields: Iterable[FormField]) -> Iterator[str]:
    for it in fields:
        yield it.name
        yield from _names_of(it.parts)


def _shape(spec: Spec) -> tuple[FieldKind, Spec]:
    """Return how a value is filled in, and the alternative of the schema that says so."""
    parts = alternatives_of(spec)
    for kind in ("array", "object", "integer", "number", "boolean", "string"):
        for part in parts:
            if part.get("type") != kind or (kind == "string" and "const" in part and len(parts) > 1):
                continue
            match kind:
                case "array":
                    inner = alternatives_of(part["items"])
                    is_list = any(it.get("type") == "object" for it in inner)
                    return (FieldKind.LIST if is_list else FieldKind.LINES), part
                case "object":
                    return FieldKind.GROUP, part
                case "integer" | "number":
                    return FieldKind.NUMBER, part
                case "boolean":
                    return FieldKind.CHOICE, part
            if "const" in part:
                return FieldKind.FIXED, part
            if "enum" in part:
                return FieldKind.CHOICE, part
            return (FieldKind.PARAGRAPH if part.get("maxLength", 0) > MAX_LINE else FieldKind.TEXT), part
    raise TypeError(f"no field of a form has the shape {dict(spec)}")


def _choices(spec: Spec) -> tuple[str, ...]:
    return YES_NO if spec.get("type") == "boolean" else tuple(map(str, spec.get("enum", ())))


def _title(spec: Spec, usual: str) -> str:
    return _WORD.sub(" ", spec.get("title", usual))


def _fixed(spec: Spec) -> tuple[str, str]:
    """Return the key that says of what kind an item is, and the kind's word; empty for items of one kind."""
    return next(
        ((key, str(part["const"])) for key, part in properties_of(spec).items() if "const" in part), ("", "")
    )


def _kind_of(kinds: Sequence[Spec], item: Mapping[str, Any]) -> Spec:
    """Return the kind of an item; the first one for an item that says none."""
    fitting = (kind for kind in kinds if item.get(_fixed(kind)[0]) == _fixed(kind)[1])
    return next(fitting, kinds[0])


def _change_list(
    do: str, name: str, kinds: Sequence[Spec], items: list[dict[str, Any]], origins: list[str]
) -> None:
    """Do what a button beside a list says: `add:NAME:KIND`, `remove:NAME:NUMBER` or `up:NAME:NUMBER`."""
    what, _, rest = do.partition(":")
    at, _, word = rest.partition(":")
    if at != name:
        return
    number = int(word) if word.isascii() and word.isdecimal() and len(word) < 4 else len(items)
    if what == "add" and len(items) < MAX_ITEMS:
        for key, known in (it for it in map(_fixed, kinds) if it[1] == word):
            items.append({key: known} if key else {})
            origins.append(NEW)
    elif what == "remove" and number < len(items):
        del items[number], origins[number]
    elif what == "up" and 0 < number < len(items):
        items.insert(number - 1, items.pop(number))
        origins.insert(number - 1, origins.pop(number))


def _set_or_drop(tree: dict[str, Any], key: str, value: Any) -> None:
    if value is None:
        tree.pop(key, None)
    else:
        tree[key] = value


def _shown(value: Any, spec: Spec) -> str:
    """Return a value as its field shows it."""
    match value:
        case None:
            return ""
        case bool():
            return YES_NO[value]
        case [] if _shape(spec)[0] is FieldKind.LINES and spec.get("default") != []:
            return NONE
        case list() | tuple():
            return "\n".join(map(str, value))
        case _:
            return str(value)


def _read_text(text: str, kind: FieldKind, spec: Spec, main: Spec) -> Any:
    """Return what a field's text says, None for nothing; what is no number stays a text, for the policy's
    reader to refuse.
    """
    if not text:
        return None
    match kind:
        case FieldKind.LINES:
            lines = [line.strip() for line in text.split("\n") if line.strip()]
            may_be_word = any(part.get("type") == "string" for part in alternatives_of(spec))
            if len(lines) == 1 and may_be_word:
                return lines[0]
            return [] if lines == [NONE] and spec.get("default") != [] else lines
        case FieldKind.NUMBER:
            if main["type"] == "number" and _DECIMAL.fullmatch(text):
                return float(text)
            return int(text) if _WHOLE.fullmatch(text) else text
        case FieldKind.CHOICE if main.get("type") == "boolean" and text in YES_NO:
            return text == YES_NO[True]
        case _:
            return text
