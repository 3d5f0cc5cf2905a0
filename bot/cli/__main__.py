"""The program `cardinal`, and `python -m bot.cli`."""

import atexit
import gc

from bot.cli import main


def run() -> None:
    """Run the command that the words name, and end the process."""
    atexit.register(gc.freeze)  # taking apart what ends with the process is a fifth of a short one's work
    main(prog_name="cardinal")


if __name__ == "__main__":
    run()
