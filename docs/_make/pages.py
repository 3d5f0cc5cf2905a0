"""The pages and their generated blocks: whatever stands between two markers is written here, not by hand."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from docs._make import agents, benchmark, doctor, parts, peer, policy, reference, rooms, states

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
    "benchmark": benchmark.table,
    "board tools": agents.tools,
    "engine troubles": agents.troubles,
    "doctor checks": doctor.table,
    "peer divergences": peer.divergences,
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


def stale() -> Iterator[Path]:
    """Yield the pages that are not as they should be."""
    for page in pages():
        text = page.read_text(encoding="utf-8")
        if filled(text) != text:
            yield page


def write() -> tuple[Path, ...]:
    """Bring every stale page up to date; return which."""
    found = tuple(stale())
    for page in found:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
    return found
