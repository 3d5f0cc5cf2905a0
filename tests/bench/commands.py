"""Processor seconds of commands: help, completion, reads of the API and of the ledger, beside bare Python."""

import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from bot.system import config as configuration
from bot.system.clock import utc_now
from forge.demo.launch import Scene
from ledger.lifecycle.open import open_ledger
from ledger.log import event_store
from ledger.queue import api_tokens
from ledger.queue.api_tokens import Scope
from tests.bench.figures import Figure, percentile
from tests.bench.world import running

TIMES, FEW = 11, 1
REAPED_S = 1.0  # until the last one that did a read has ended
HELP_S, READ_S = 0.15, 0.3
RAW = "raw_python_cpu"
PROGRAM = str(Path(sys.executable).with_name("cardinal"))
HELPS: Mapping[str, Sequence[str]] = {
    "help": ("--help",),
    "help_of_one": ("board", "--help"),
    "help_of_api": ("job", "list", "--help"),
}
TYPED: Mapping[str, str] = {"completion": "cardinal do", "completion_of_api": "cardinal job l"}
OF_API: Mapping[str, Sequence[str]] = {
    "job_list": ("job", "list"),
    "job_inbox": ("job", "inbox", "--json"),
    "job_boards": ("job", "list-boards"),
    "job_stats": ("job", "stats"),
}
OF_LEDGER: Mapping[str, Sequence[str]] = {
    "board": ("board",),
    "inbox": ("inbox",),
    "runs": ("runs",),
    "stats": ("stats",),
    "watch": ("watch", "--once"),
}
ALONE = ("board", "runs")  # read by their own process, too, where no Cardinal runs


def measure(*, quick: bool) -> Iterator[Figure]:
    """Run each command again and again on a board of the demo, and take the middle of what it used."""
    times = FEW if quick else TIMES
    note = f"core seconds, the middle of {times}"
    with running() as scene:
        here = {**scene.environment, "CARDINAL_HOME": str(scene.home / ".cardinal")}
        api = {"CARDINAL_URL": scene.cardinal_url, "CARDINAL_TOKEN": _token(scene)}
        yield Figure(
            RAW, _cpu_s((sys.executable, "-c", "pass"), here, times), "s", note=f"{note} of `python -c pass`"
        )
        for name, words in HELPS.items():
            yield _figure(name, _cpu_s((PROGRAM, *words), here, times), HELP_S, note)
        for name, typed in TYPED.items():
            asked = {
                "_CARDINAL_COMPLETE": "bash_complete",
                "COMP_WORDS": typed,
                "COMP_CWORD": str(typed.count(" ")),
            }
            yield _figure(name, _cpu_s((PROGRAM,), here | asked, times), HELP_S, note)
        for name, words in OF_API.items():
            yield _figure(name, _cpu_s((PROGRAM, *words), here | api, times), READ_S, note)
        group = psutil.Process(scene.group.pid)
        for name, words in OF_LEDGER.items():
            before = _group_s(group)
            used = _cpu_s((PROGRAM, *words), here, times)
            time.sleep(REAPED_S)
            used += (_group_s(group) - before) / times
            yield _figure(name, used, READ_S, f"{note}; with those of the running Cardinal, which does it")
        alone = f"{note}; no Cardinal runs in that home"
        with TemporaryDirectory() as folder:
            ledger = Path(folder, "data")
            shutil.copytree(scene.home / ".cardinal" / "data", ledger)
            elsewhere = {**here, "CARDINAL_HOME": folder}
            for name in ALONE:
                used = _cpu_s((PROGRAM, *OF_LEDGER[name]), elsewhere, times)
                yield _figure(f"{name}_alone", used, READ_S, alone)


def _figure(name: str, used_s: float, most_s: float, note: str) -> Figure:
    return Figure(f"command_{name}_cpu", used_s, "s", most_s, note, raw=RAW)


def _token(scene: Scene) -> str:
    """Return a token for the demo's account alice."""
    config = configuration.read({"CARDINAL_HOME": str(scene.home / ".cardinal")}, scene.home)
    alice = scene.team.call("alice", "GET", "/user")
    engine = open_ledger(config.database_url, migrate=False)
    with event_store.writing(engine) as db:
        token, _ = api_tokens.make(
            db, "bench", login="alice", user_id=alice["id"], scopes=(Scope.READ,), now=utc_now(),
            lives=timedelta(days=1),
        )  # fmt: skip
    engine.dispose()
    return token


def _cpu_s(words: Sequence[str], environ: Mapping[str, str], times: int) -> float:
    """Return the processor seconds of the process, the middle of several."""
    used = []
    for _ in range(times):
        before = _children_s()
        done = subprocess.run(words, env=environ, capture_output=True, text=True, timeout=60, check=False)
        used.append(_children_s() - before)
        if done.returncode:
            raise RuntimeError(f"{' '.join(words)} failed: {done.stderr}")
    return percentile(used, 0.5)


def _group_s(group: psutil.Process) -> float:
    """Return the processor seconds of the group's first process, and of its children that have ended."""
    used = group.cpu_times()
    return float(used.user + used.system + used.children_user + used.children_system)


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
