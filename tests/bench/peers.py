"""Cardinal's board beside hermes-agent's: the same cards, on the same machine, one after the other.

hermes-agent comes from PyPI at an exact version and is unpacked into a temporary folder; its board needs none
of its dependencies. Neither board starts an agent.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from bot.scheduler import dispatch
from ledger.ids import RunId
from tests.bench import boards
from tests.bench.figures import Figure
from tests.ledger.samples import NOW

HERMES = "hermes-agent==0.19.0"
SIZES = (100, 1_000, 10_000)
CLAIMS = 98  # a column of Cardinal's takes a hundred runs, two are at work
LIMIT_S = 1800
NOTES = {
    "tick": "two at work, every tenth card ready, none may start",
    "tick_after_change": "the same after something happened to a card that waits",
    "listing": "all cards; Cardinal's by column, a hundred each with the counts of all",
    "claims": "each in its own commit; Cardinal's checks limits, budgets and the queue's order again",
}
UNITS = {"tick": "ms", "tick_after_change": "ms", "listing": "ms", "claims": "claims/s"}


def measure(*, quick: bool) -> Iterator[Figure]:
    """Measure an idle tick, a listing and claims of both, at each size."""
    with tempfile.TemporaryDirectory(prefix="cardinal-peers-") as folder:
        package = _fetch(Path(folder))
        for size in SIZES[:1] if quick else SIZES:
            for whose, figures in (("hermes", _hermes(package, size)), ("cardinal", _cardinal(size))):
                for name, value in figures.items():
                    yield Figure(f"peer_{name}_{whose}_{size}", value, UNITS[name], note=NOTES[name])


def _fetch(folder: Path) -> Path:
    """Return the folder of the unpacked package. Raises CalledProcessError if PyPI does not serve it."""
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), HERMES)
    subprocess.run(pip, check=True, timeout=LIMIT_S, stdout=sys.stderr)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "package")
    return folder / "package"


def _hermes(package: Path, size: int) -> Mapping[str, float]:
    """Return what its own process measured, in a home of its own."""
    with tempfile.TemporaryDirectory(prefix="cardinal-hermes-") as home:
        homes = dict.fromkeys(("HOME", "HERMES_HOME", "HERMES_KANBAN_HOME"), home)
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(package), **homes}
        program = Path(__file__).with_name("peer_hermes.py")
        words = (sys.executable, str(program), *map(str, (size, boards.QUEUED_EVERY, boards.REPEATS, CLAIMS)))
        done = subprocess.run(words, env=environment, check=True, timeout=LIMIT_S, stdout=subprocess.PIPE)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def _cardinal(size: int) -> Mapping[str, float]:
    with tempfile.TemporaryDirectory(prefix="cardinal-bench-") as folder:
        engine = boards.filled(Path(folder) / "ledger.db", size)
        figures = {
            "tick": boards.median_ms(boards.tick, engine),
            "tick_after_change": boards.median_ms(boards.tick, engine, boards.change),
            "listing": boards.median_ms(boards.list_board, engine),
        }
        ready = [RunId(f"r{n}") for n in range(size) if n % boards.QUEUED_EVERY == 2][boards.SLOTS :][:CLAIMS]
        start = time.perf_counter()
        for run_id in ready:
            lease = dispatch.claim_run(engine, run_id, worker="w", now=NOW, ttl_s=60, slots=size)
            if lease is None:
                raise LookupError(f"{run_id} could not be claimed")
        figures["claims"] = len(ready) / (time.perf_counter() - start)
        engine.dispose()
    return figures
