"""The pages and their generated blocks: whatever stands between two markers is written here, not by hand."""

import re
from collections.abc import Callable, Iterator, Mapping
from difflib import unified_diff
from pathlib import Path

from docs._make import (
    agents,
    api,
    benchmark,
    doctor,
    forge,
    mcp,
    parts,
    peer,
    policy,
    reference,
    rooms,
    states,
    tables,
)

ROOT = Path(__file__).parents[2]
BLOCKS: Mapping[str, Callable[[], str]] = {
    "settings": reference.settings,
    "commands": reference.commands,
    "cli": reference.cli,
    "events": reference.events,
    "policy keys": policy.keys,
    "policy actions": policy.actions,
    "policy default": policy.default,
    "parts": parts.table,
    "profiles": policy.profiles,
    "rooms": rooms.tree,
    "run states": states.run,
    "card states": states.card,
    "personas": policy.personas,
    "agents": agents.table,
    "api operations": api.operations,
    "mcp tools": mcp.tools,
    "benchmark": benchmark.table,
    "boards at rest": benchmark.boards,
    "board tools": agents.tools,
    "engine troubles": agents.troubles,
    "doctor checks": doctor.table,
    "peer divergences": peer.divergences,
    "forge differences": forge.differences,
    "tables": tables.bounds,
}
FILES: Mapping[Path, Callable[[], str]] = {  # made whole, for programs
    ROOT / "bot/web/api/operations.json": api.requests,
    ROOT / "bot/cli/commands.json": reference.described_commands,
}
_BLOCK = re.compile(
    r"(?P<start><!-- made by scripts/docs: (?P<name>[a-z ]+) -->\n).*?(?P<end><!-- end of (?P=name) -->)",
    re.DOTALL,
)


class UnknownBlockError(Exception):
    """A page asks for a block that nobody makes."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"no block is called {name!r}: there are {', '.join(sorted(BLOCKS))}")


def pages() -> tuple[Path, ...]:
    """Return every page of the documentation, the ones in the top folder as well."""
    return (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))


def filled(text: str) -> str:
    """Return the page with every block as it should be. Raises UnknownBlockError."""

    def fresh(found: re.Match[str]) -> str:
        make = BLOCKS.get(found["name"])
        if make is None:
            raise UnknownBlockError(found["name"])
        return f"{found['start']}\n{make().strip()}\n\n{found['end']}"

    return _BLOCK.sub(fresh, text)


def block_names(text: str) -> tuple[str, ...]:
    """Return the names of the blocks in a page."""
    return tuple(found["name"] for found in _BLOCK.finditer(text))


def stale() -> Iterator[tuple[Path, str, str]]:
    """Yield the pages that are not as they should be, each with its text and the one that it should have."""
    for file, make in FILES.items():
        text, fresh = file.read_text(encoding="utf-8") if file.exists() else "", make()
        if fresh != text:
            yield file, text, fresh
    for page in pages():
        text = page.read_text(encoding="utf-8")
        fresh = filled(text)
        if fresh != text:
            yield page, text, fresh


def differences() -> Iterator[str]:
    """Yield the lines by which stale pages differ from what they should be, as a unified diff."""
    for page, text, fresh in stale():
        yield from unified_diff(
            text.splitlines(), fresh.splitlines(), str(page.relative_to(ROOT)), "made anew", lineterm="", n=0
        )


def write() -> tuple[Path, ...]:
    """Bring every stale page up to date; return which."""
    changed = tuple(stale())
    for page, _, fresh in changed:
        page.write_text(fresh, encoding="utf-8")
    return tuple(page for page, _, _ in changed)
