"""Reading a policy file's YAML strictly: small, shallow, no aliases, no tags, no key twice."""

import re
from dataclasses import dataclass
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, SequenceNode

from rules.errors import PolicyError
from rules.text import code, plain

MAX_BYTES = 64 * 1024
MAX_DEPTH = 16
Path = tuple[str | int, ...]


class _StrictLoader(yaml.SafeLoader):
    """YAML 1.2's plain words: only true and false are booleans, so that `off` stays a word."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012  PyYAML's way
    depth = 0

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        mark: Any = event.start_mark
        if isinstance(event, yaml.events.AliasEvent):
            raise yaml.composer.ComposerError(
                None, None, "aliases are not allowed: write the value out", mark
            )
        if getattr(event, "tag", None):
            raise yaml.composer.ComposerError(None, None, "tags are not allowed", mark)
        if self.depth >= MAX_DEPTH:
            raise yaml.composer.ComposerError(None, None, "nested too deeply", mark)
        self.depth += 1
        node: Node | None = super().compose_node(parent, index)
        self.depth -= 1
        return node


for _tag, _pattern, _first in (
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("int", r"^[-+]?(?:0|[1-9][0-9]{0,14})$", "-+0123456789"),
    ("float", r"^[-+]?(?:0|[1-9][0-9]{0,14})\.[0-9]{1,15}$", "-+0123456789"),
):
    _StrictLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), list(_first))


@dataclass(frozen=True, slots=True)
class Written:
    """A file as written: its tree, and the line of every key and item by path."""

    tree: dict[str, Any]
    lines: dict[Path, int]


def read(text: str, *, first: str = "version: 1") -> Written:
    """Return the file's tree with its lines; PolicyError with the hint `first` when it is no mapping."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise PolicyError((f"the file is larger than {MAX_BYTES // 1024} KiB: shorten it",))
    loader = None
    try:
        loader = _StrictLoader(text)
        node = loader.get_single_node()
        if not isinstance(node, MappingNode):
            raise PolicyError((f"line 1: the file must be a mapping that begins with `{first}`",))
        lines: dict[Path, int] = {}
        _walk(node, (), lines)
        return Written(loader.construct_document(node), lines)
    except yaml.MarkedYAMLError as error:
        raise PolicyError((_sentence(error),)) from error
    except yaml.YAMLError as error:
        raise PolicyError((f"the file is not YAML: {plain(str(error), 160)}",)) from error
    finally:
        if loader is not None:
            loader.dispose()


def _sentence(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    where = f"line {mark.line + 1}: " if mark else ""
    if mark and (mark.buffer or "")[mark.pointer : mark.pointer + 1] == "\t":
        return f"{where}a tab is here: write spaces"
    return f"{where}{plain(error.problem or error.context or 'not YAML', 160)}"


def _walk(node: Node, path: Path, lines: dict[Path, int]) -> None:
    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, SequenceNode):
        for index, item in enumerate(node.value):
            _walk(item, (*path, index), lines)
    if not isinstance(node, MappingNode):
        return
    for key, value in node.value:
        line = key.start_mark.line + 1
        if key.tag == "tag:yaml.org,2002:merge" or key.tag != "tag:yaml.org,2002:str":
            raise PolicyError((f"line {line}: a key must be text; quote it: {code(str(key.value))}",))
        if (*path, key.value) in lines:
            first = lines[(*path, key.value)]
            raise PolicyError((f"line {line}: {code(key.value)} appears twice, first in line {first}",))
        lines[(*path, key.value)] = line
        _walk(value, (*path, key.value), lines)
