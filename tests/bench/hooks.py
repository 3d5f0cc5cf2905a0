"""What Cardinal's git hooks cost where nothing is to be checked: beside empty hooks, in turns."""

import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from bot.admin.clone import hooks
from tests.bench.figures import Figure, percentile
from tests.bot.admin.clone.shapes import history
from tests.runner.world import GIT_ENVIRONMENT, git

TIMES, FEW = 20, 2
HISTORY_MB, FEW_MB = 1024, 2
GOAL_S = 0.3
EMPTY = "#!/bin/sh\n"
NOTES = {
    "commit": "on a card's branch, whose trailer is added",
    "checkout": "of a branch with the same policy",
    "push": "of a new commit, to a folder; the repository has no policy",
    "python": "`python -c pass`; the hook: what the pre-commit framework starts, for the same push",
}


def measure(*, quick: bool) -> Iterator[Figure]:
    """Commit, check out and push in two clones, and start Cardinal as the pre-commit framework does: with
    next to no history, and with much that no compression makes smaller.
    """
    times = FEW if quick else TIMES
    yield from _compared(times, 0, "")
    yield from _compared(times, FEW_MB if quick else HISTORY_MB, "_with_history")


def _compared(times: int, megabytes: int, end: str) -> Iterator[Figure]:
    took_s: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="cardinal-bench-") as folder:
        clones = _clones(Path(folder), megabytes)
        for name in hooks.CLIENT:
            file = clones["raw"] / ".git/hooks" / name
            file.write_text(EMPTY)
            file.chmod(0o755)
        hooks.install_hooks(clones["hook"], {})
        for turn in range(times):
            for kind, clone in clones.items():
                for step, words in _steps(clone, kind, turn).items():
                    took_s[f"{kind}_{step}"].append(_timed(clone, words))
    more = f"; {megabytes} MB of history" if megabytes else ""
    for step, note in NOTES.items():
        raw, hook = (percentile(took_s[f"{kind}_{step}"], 0.5) for kind in clones)
        yield Figure(f"raw_{step}{end}", raw, "s", note=f"empty hooks of sh, the middle of {times}{more}")
        yield Figure(f"hook_{step}{end}", hook, "s", GOAL_S, f"{note}{more}", raw=f"raw_{step}{end}")


def _clones(folder: Path, megabytes: int) -> dict[str, Path]:
    """Return two clones of one history, each with an `origin` of its own that has it."""
    git(folder, "init", "--quiet", "--initial-branch=main", "first")
    git(folder / "first", "commit", "--quiet", "--allow-empty", "--message", "Begin")
    history(folder / "first", megabytes)
    for kind in ("raw", "hook"):
        git(folder, "clone", "--quiet", "--bare", "first", f"{kind}.git")
        git(folder, "clone", "--quiet", f"{kind}.git", kind)
        git(folder / kind, "branch", "--quiet", "other")
        git(folder / kind, "switch", "--quiet", "--create", "cardinal/1-begin")
    return {kind: folder / kind for kind in ("raw", "hook")}


def _steps(clone: Path, kind: str, turn: int) -> dict[str, tuple[str, ...]]:
    """Return what is timed, in order; the checkout leads back to where the next commit belongs."""
    git(clone, "switch", "--quiet", "cardinal/1-begin")
    program = ("-c", "pass") if kind == "raw" else ("-m", "bot.cli", "hooks", "run", "pre-push")
    return {
        "commit": ("git", "commit", "--quiet", "--allow-empty", "--message", "Work"),
        "push": ("git", "push", "--quiet", "origin", f"HEAD:refs/heads/pushed-{turn}"),
        "checkout": ("git", "switch", "--quiet", "other"),
        "python": (sys.executable, "-P", *program),
    }


def _timed(clone: Path, words: tuple[str, ...]) -> float:
    environ: Mapping[str, str] = {
        **os.environ,
        **GIT_ENVIRONMENT,
        "PRE_COMMIT_TO_REF": git(clone, "rev-parse", "HEAD"),
        "PRE_COMMIT_REMOTE_BRANCH": "refs/heads/pushed",
    }
    start = time.perf_counter()
    subprocess.run(words, cwd=clone, env=environ, capture_output=True, timeout=120, check=True)
    return time.perf_counter() - start
