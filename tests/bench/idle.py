"""What an idle `cardinal up` holds in memory and takes of a core, with one board and with twenty."""

import math
import time
from collections.abc import Iterator

import psutil
from pydantic.fields import FieldInfo

from bot.daemon import up
from bot.scheduler import ticker
from bot.system.config import Config
from forge.demo.launch import Scene
from tests.bench.boards import COLUMNS
from tests.bench.figures import Figure
from tests.bench.world import running

SETTINGS: dict[str, FieldInfo] = Config.__pydantic_fields__  # type: ignore[attr-defined]
# Each routine comes again after so long, at the next tick. The doctor's, of ten minutes, is not waited for.
ROUTINE_S = max(ticker.TIDY_EVERY.total_seconds(), SETTINGS["sweep_s"].default)
TICK_S = ticker.pause_s(SETTINGS["tick_s"].default, math.inf)
# One round of the routines finds what a start or a new board leaves to do; then its workers rest until they
# end, and ticks become rarer.
SETTLE_S, BARELY_S = ROUTINE_S + up.IDLE_S + ticker.QUIET_S, 5
# At least one of every routine, whenever it begins: that a minute ends in one of them changes no sum.
WATCHED_S, BRIEFLY_S = ROUTINE_S + 2 * TICK_S, 2
MB = 1024 * 1024
BOARDS, FEW_BOARDS = 20, 2


def measure(*, quick: bool) -> Iterator[Figure]:
    """Watch all processes of one `cardinal up` whose boards rest: a seeded one, then more beside it."""
    watched_s, count = (BRIEFLY_S, FEW_BOARDS) if quick else (WATCHED_S, BOARDS)
    settle_s = BARELY_S if quick else SETTLE_S
    with running() as scene:
        share, before = _share(scene, watched_s, settle_s), _memory(scene)
        for number in range(2, count + 1):
            _add_board(scene, number)
        share_of_all, after = _share(scene, watched_s, settle_s), _memory(scene)
    one, every = (sum(it.pss for it in memory) / MB for memory in (before, after))
    watched = f"over {watched_s:g} s, with every routine of a minute; ended children counted, too"
    yield Figure("idle_cpu", share, "% of one core", 1, watched)
    yield Figure("idle_memory_pss", one, "MB", 180, f"{len(before)} processes, Redis among them")
    rss = sum(it.rss for it in before) / MB
    yield Figure("idle_memory_rss", rss, "MB", note="shared pages many times")
    yield Figure("idle_boards_cpu", share_of_all, "% of one core", 1, f"{count} boards, {watched}")
    yield Figure("idle_boards_memory_pss", every, "MB", 280, f"{count} boards, {len(after)} processes")
    yield Figure("idle_memory_per_board", (every - one) / (count - 1), "MB", 5, "each beside the first")
    yield Figure("idle_processes_per_board", len(after) - len(before), "processes", 0, f"of {count - 1} more")


def _add_board(scene: Scene, number: int) -> None:
    wanted = {"owner": "acme", "title": f"Board {number}", "columns": COLUMNS, "actor": "alice"}
    board = scene.team.call("alice", "POST", "/_forge/board", wanted)
    added = scene.command("boards", "add", f"acme/{board['number']}")
    if added.returncode:
        raise RuntimeError(f"cardinal boards add failed: {added.stderr}")


def _share(scene: Scene, watched_s: float, settle_s: float) -> float:
    """Return which share of a core all processes take, in percent."""
    time.sleep(settle_s)
    before = _cpu_s(scene)
    time.sleep(watched_s)
    return (_cpu_s(scene) - before) / watched_s * 100


def _everybody(scene: Scene) -> list[psutil.Process]:
    group = psutil.Process(scene.group.pid)
    return [group, *group.children(recursive=True)]


def _memory(scene: Scene) -> list[psutil._ntuples.pfullmem]:
    return [process.memory_full_info() for process in _everybody(scene)]


def _cpu_s(scene: Scene) -> float:
    times = [process.cpu_times() for process in _everybody(scene)]
    return sum(it.user + it.system + it.children_user + it.children_system for it in times)
