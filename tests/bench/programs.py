"""The programs that Cardinal starts, noted by an audit hook in each of its processes.

What these programs start in turn, git's helpers and what runs in a sandbox, is not among them.
"""

import json
from collections.abc import Iterable
from pathlib import Path

LOG = "BENCH_PROGRAMS"  # the variable that names the file
HOOK = f"""
import json, os, sys
def note(event, given):
    if event == "subprocess.Popen":
        log = os.open(os.environ["{LOG}"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(log, (json.dumps([str(word) for word in given[1]]) + "\\n").encode())
        os.close(log)
sys.addaudithook(note)
"""


def watch(folder: Path) -> dict[str, str]:
    """Return the environment in which every Python notes the programs that it starts, in `folder`."""
    (folder / "sitecustomize.py").write_text(HOOK, encoding="utf-8")
    return {"PYTHONPATH": str(folder), LOG: str(folder / "programs.jsonl")}


def noted(folder: Path) -> tuple[str, ...]:
    """Return the kinds of the programs so far, in order."""
    log = folder / "programs.jsonl"
    return tuple(kind(json.loads(line)) for line in log.read_text().splitlines()) if log.exists() else ()


def kind(argv: Iterable[str]) -> str:
    """Return the program's name, behind those that only prepare it; of git with its command."""
    words = list(argv)
    if words[0].endswith("setpriv") and "sh" in words:
        words = words[words.index("sh") + 2 :]  # behind the parent's id
    if words[0] == "flock":
        words = words[words.index("git") :]
    if words[0] == "prlimit":
        words = words[words.index("--") + 1 :]
    while words[:2] == ["git", "-c"]:
        words[1:3] = []
    return " ".join(words[: 2 if words[0] == "git" else 1])
