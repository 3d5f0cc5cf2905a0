"""The list of files by which tools decide, `tool_files.toml`, and whether a path is on it."""

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path

from runner.guards.path_patterns import fold_case


@dataclass(frozen=True, slots=True)
class ToolFile:
    """One pattern of the list: whose it is, the guard that looks for it, and why. `names` are its parts."""

    tool: str
    source: str
    pattern: str
    guard: str
    why: str
    names: tuple[str, ...]

    def fits(self, parts: tuple[str, ...], *, is_link: bool = False) -> bool:
        """Whether a folded path, in its parts, is one of these, or a link in the place of a folder above."""
        least = 1 if is_link else len(self.names)
        ends = range(1, len(parts) + 1) if self.pattern.endswith("/**") else (len(parts),)
        counts = range(least, len(self.names) + 1)
        return any(
            self._fits_at(parts[:end], count)
            for end in ends
            for count in counts
            if count == len(self.names) or end == len(parts)
        )

    def _fits_at(self, parts: tuple[str, ...], count: int) -> bool:
        """Whether these parts end with the pattern's first `count` names."""
        start = len(parts) - count
        is_there = start == 0 if self.pattern.startswith("/") else start >= 0
        return is_there and all(map(_is_like, parts[start:], self.names[:count]))


@cache
def list_tool_files() -> tuple[ToolFile, ...]:
    """Return the whole list, in its order, without alternatives."""
    tools = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    kinds, endings = tools.pop("kinds"), tools.pop("endings")
    return tuple(
        ToolFile(
            tool=name,
            source=tool["source"],
            pattern=pattern,
            guard=kinds[kind]["guard"],
            why=kinds[kind]["why"],
            names=_split(pattern),
        )
        for name, tool in tools.items()
        for kind, patterns in tool.items()
        if kind != "source"
        for written in patterns.split()
        for pattern in _expand(written, endings)
    )


def find_reason(path: str, guard: str, *, is_link: bool = False) -> str:
    """Return why the guard asks about the path, as the end of a sentence; empty when it does not.

    `is_link`: a link or a submodule, which may bring a folder with all that is in it.
    """
    parts = tuple(fold_case(path).split("/"))
    by_name, by_ending = _index(guard)
    files: Iterable[ToolFile]
    if is_link:
        files = (file for file in list_tool_files() if file.guard == guard)
    else:
        named = (file for name in parts for file in by_name.get(name, ()))
        endings = dict.fromkeys(ending for name in parts for ending in ("", _ending(name)))
        files = chain(named, (file for ending in endings for file in by_ending.get(ending, ())))
    return next((file.why for file in files if file.fits(parts, is_link=is_link)), "")


@cache
def _index(guard: str) -> tuple[dict[str, list[ToolFile]], dict[str, list[ToolFile]]]:
    """Return a guard's patterns by their last name, or by the ending of a last name with a star."""
    by_name: dict[str, list[ToolFile]] = {}
    by_ending: dict[str, list[ToolFile]] = {}
    for file in list_tool_files():
        name = file.names[-1]
        if file.guard == guard and "*" not in name:
            by_name.setdefault(name, []).append(file)
        elif file.guard == guard:
            ending = "" if "*" in _ending(name) else _ending(name)
            by_ending.setdefault(ending, []).append(file)
    return by_name, by_ending


def _ending(name: str) -> str:
    """Return the part behind the last dot, or the whole name."""
    return name.rpartition(".")[2]


def _split(pattern: str) -> tuple[str, ...]:
    return tuple(pattern.strip("/").removesuffix("/**").split("/"))


def _expand(pattern: str, endings: dict[str, str]) -> Iterator[str]:
    before, brace, rest = pattern.partition("{")
    if not brace:
        yield pattern
        return
    inside, _, after = rest.partition("}")
    for tail in _expand(after, endings):
        yield from (f"{before}{choice}{tail}" for choice in endings.get(inside, inside).split(","))


def _is_like(name: str, shape: str) -> bool:
    """Whether a name fits a shape with any number of stars; each part is looked for once."""
    first, *others = shape.split("*")
    if not others:
        return name == shape
    at, end = len(first), len(name) - len(others[-1])
    if not name.startswith(first) or not name.endswith(others[-1]):
        return False
    for part in others[:-1]:
        at = name.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return at <= end
