"""The program `cardinal`, and `python -m bot.cli`."""

import atexit
import gc
import os
import sys
from pathlib import Path

from bot.cli import _described, main

MANY = 20_000  # new objects until garbage is looked for; Python has 700


def run() -> None:
    """Run the command that the words name, and end the process."""
    code = _have_read(sys.argv[1:])
    if code is not None:
        raise SystemExit(code)
    gc.set_threshold(MANY, *gc.get_threshold()[1:])  # a start leaves little garbage: do not look for it
    atexit.register(gc.freeze)  # taking apart what ends with the process is a fifth of a short one's work
    main(prog_name="cardinal")


def _have_read(words: list[str]) -> int | None:
    """Have a command that only reads carried out by the Cardinal of this home; None for any other."""
    about = _described.descriptions().get(words[0], {}) if words else {}
    if not about.get("reads") or _described.HELP & set(words) or "_CARDINAL_COMPLETE" in os.environ:
        return None
    home = Path(os.environ.get("CARDINAL_HOME") or ".cardinal")
    if not (home / "run").is_dir():
        return None
    from bot.cli import _socket

    try:
        return _socket.hand_over(home, words)
    except _socket.LostCommandError as error:
        sys.stderr.write(f"Error: {error}\n")
        return 2


if __name__ == "__main__":
    run()
