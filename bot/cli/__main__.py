"""The program `cardinal`, and `python -m bot.cli`."""

import atexit
import gc

from bot.cli import main


def run() -> None:
    """Run the command that the words name, and end the process."""
    atexit.register(gc.freeze)  # what is left ends with the process: taking it apart takes a fifth of a short one
    main(prog_name="cardinal")


if __name__ == "__main__":
    run()
