"""Start a program that speaks ACP: its home without leftovers, its settings, and nothing of the repository's.

    python3 acp_start.py SETUP PROGRAM ARGUMENT...

It passes its input on to the program, waits for it, and ends with its exit code. Standard library only.
"""

import fnmatch
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runner.exec.in_container.shelter import Shelter, ShelterError
else:  # beside this file, wherever it lies
    from shelter import Shelter, ShelterError

_STAY_S = 2.0  # that a program may take for its end once its input is over


def clear(folder: Path, kept: Sequence[str]) -> None:
    """Remove what is there but for plain files of these patterns, which are relative to the folder."""
    if folder.is_symlink() or folder.is_file():
        folder.unlink()
        return
    for at, folders, files in os.walk(folder, topdown=False):
        for name in files:
            path = Path(at, name)
            if path.is_symlink() or not any(_matches(path.relative_to(folder), pattern) for pattern in kept):
                path.unlink()
        for name in folders:
            path = Path(at, name)
            if path.is_symlink():
                path.unlink()
            elif not any(path.iterdir()):
                path.rmdir()


def _matches(path: Path, pattern: str) -> bool:
    wanted = pattern.split("/")
    return len(path.parts) == len(wanted) and all(map(fnmatch.fnmatchcase, path.parts, wanted))


def write_files(home: Path, files: Mapping[str, str]) -> None:
    """Write the files of these paths in the home, in folders that were cleared before."""
    for name, text in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _feed(program: "subprocess.Popen[bytes]", ended: list[int]) -> None:
    """Pass the input on. A program that stays after its end is told to go, which is noted in `ended`."""
    assert program.stdin is not None
    try:
        while data := os.read(sys.stdin.fileno(), 65536):
            program.stdin.write(data)
            program.stdin.flush()
        program.stdin.close()
    except BrokenPipeError:  # it is gone, or listens no more
        return
    try:
        program.wait(_STAY_S)
    except subprocess.TimeoutExpired:
        ended.append(signal.SIGTERM)
        program.terminate()


def _run(argv: Sequence[str]) -> int:
    """Return how the program ended; a wish to end is passed on, also one that comes while it starts."""
    programs, wishes, ended = list[subprocess.Popen[bytes]](), list[int](), list[int]()

    def stop(number: int, _frame: FrameType | None) -> None:
        wishes.append(number)
        for program in programs:
            program.terminate()

    signal.signal(signal.SIGTERM, stop)
    try:
        programs.append(subprocess.Popen(argv, stdin=subprocess.PIPE))
    except FileNotFoundError:
        sys.exit(f"this image has no program {argv[0]}: name one that has in the policy's `image:`, or none")
    if wishes:
        programs[0].terminate()
    threading.Thread(target=_feed, args=(programs[0], ended), daemon=True).start()
    code = programs[0].wait()
    return 0 if ended and code == -signal.SIGTERM else code


def play(setup: Mapping[str, Any], argv: Sequence[str]) -> int:
    """Run the program to its end. Raises ShelterError when it would obey the repository's files."""
    home, shelter = Path(setup["home"]), Shelter(setup["name"], setup["repo"], setup["hides"])
    shelter.raise_up()
    try:
        for name, kept in setup["clears"].items():
            clear(home / name, kept)
        write_files(home, setup["files"])
        if setup["prepare"]:
            subprocess.run(("sh", "-euc", setup["prepare"]), cwd=home, stdin=subprocess.DEVNULL, check=True)
        code = _run(argv)
        return code if code >= 0 else 128 - code
    finally:
        shelter.take_down()


if __name__ == "__main__":
    try:
        sys.exit(play(json.loads(sys.argv[1]), sys.argv[2:]))
    except (ShelterError, OSError, subprocess.CalledProcessError) as error:
        sys.exit(str(error))
