"""Which changed files the policy keeps from agents: paths matched against its patterns. Pure."""

import re
from collections.abc import Iterable

from runner.texts import one_line

_ABOVE = (".github", ".github/workflows")  # a link in their place brings workflows of somebody else's
_SHOWN = 5
_PATH_BYTES = 200
_TOKENS = re.compile(r"\*\*/|\*\*|\*|\?|[^*?]+")
_MEANS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def protected(paths: Iterable[str], patterns: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return each path that a pattern protects, with the first such pattern.

    `*` and `?` stay within a name, `**` goes over folders; a pattern without a slash counts at any depth, and
    one that names a folder counts for all in it. Letters count without case.
    """
    rules = [(pattern, _compiled(pattern)) for pattern in patterns if pattern.strip(" /")]
    found = ((path, next((rule for rule, shape in rules if shape.fullmatch(path)), "")) for path in paths)
    return tuple((path, rule) for path, rule in found if rule)


def is_workflow(path: str) -> bool:
    """Whether GitHub Actions takes the file for a workflow; case counts for nothing on some file systems."""
    return path.lower().startswith(".github/workflows/") or path.lower().rstrip("/") in _ABOVE


def concern(found: tuple[tuple[str, str], ...]) -> str:
    """Return in words which protected files a run changes, with the rules; empty for none."""
    if not found:
        return ""
    shown = [f"{one_line(path, _PATH_BYTES)!r} (rule {one_line(rule)!r})" for path, rule in found[:_SHOWN]]
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"The run changes what the repository's policy protects: {', '.join(shown)}{more}."


def _compiled(pattern: str) -> re.Pattern[str]:
    plain = pattern.strip()
    anchored = plain.strip("/")
    if "/" not in plain.rstrip("/"):
        anchored = f"**/{anchored}"
    inside = anchored.removesuffix("/**")
    shape = "".join(_MEANS.get(token, re.escape(token)) for token in _TOKENS.findall(inside))
    # A link or a submodule in the place of a folder above would bring a folder of somebody else's there.
    above = [re.escape(folder) for folder in _folders_above(inside)]
    return re.compile("|".join((f"{shape}(?:/.*)?", *above)), re.IGNORECASE | re.DOTALL)


def _folders_above(pattern: str) -> list[str]:
    """Return the folders that every path of the pattern is in, as far as it names them."""
    parts = pattern.split("/")
    named = next((n for n, part in enumerate(parts) if "*" in part or "?" in part), len(parts) - 1)
    return ["/".join(parts[:count]) for count in range(1, named + 1)]
