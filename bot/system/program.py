"""Program of a home: the command that starts it, for sentences to people."""

from pathlib import Path

TRIAL = "try.json"  # in the home of a board that `cardinal try` serves


def of_home(home: Path) -> str:
    """Return the command that starts Cardinal in this home."""
    return "cardinal try" if (home / TRIAL).exists() else "cardinal up"


def of_workers(home: Path) -> str:
    """Return the commands that start workers for this home, as marked code."""
    return f"`{of_home(home)}`" if (home / TRIAL).exists() else f"`{of_home(home)}` or `cardinal work`"
