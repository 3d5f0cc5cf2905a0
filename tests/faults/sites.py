"""The sites that a story can reach, read from the code: where it commits, and the acts that it sends."""

import ast
from collections.abc import Iterable, Iterator

from bot.outbox import handlers
from tests.house.source import sources

# Rooms that carry the flow from a delivery to the merge; what operators and browsers ask for is not in it.
ROOMS = (
    *(
        "bot/ingest/",
        "bot/outbox/",
        "bot/reactor/",
        "bot/runspec/",
        "bot/scheduler/",
        "bot/state/",
        "bot/sync/",
    ),
    *("bot/system/", "ledger/queue/", "runner/"),
)
COMMITS = frozenset({"writing", "beside", "apart"})


def commits() -> Iterator[str]:
    """Yield each function of the flow's rooms that begins a transaction which writes."""
    for package in ("bot", "ledger", "runner"):
        for source in sources(package):
            if source.path.startswith(ROOMS):
                yield from _writers(source.tree, source.path.removesuffix(".py"), "")


def _writers(node: ast.AST, path: str, name: str) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        inner = name
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            inner = f"{name}.{child.name}".lstrip(".")
        if isinstance(child, ast.Call) and ast.unparse(child.func).rpartition(".")[2] in COMMITS:
            yield f"{path}.{name}"
        yield from _writers(child, path, inner)


def acts() -> frozenset[str]:
    """Return the names of all acts of the outbox."""
    return frozenset(handlers.ACTS.names())


def reached(points: Iterable[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the sites that commit, and the acts, among these points."""
    places = [point.partition("@")[::2] for point in points]
    known = acts()
    committed = (place for what, place in places if what.startswith("commit:"))
    named = (place.rpartition("/")[2] for _, place in places)
    return frozenset(_site(place, known) for place in committed), known.intersection(named)


def _site(place: str, known: frozenset[str]) -> str:
    """Return the site without the act behind it."""
    room, _, last = place.rpartition("/")
    return room if last in known else place
