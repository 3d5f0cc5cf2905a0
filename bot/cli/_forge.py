"""Programs of the forge, the small GitHub of the demo and of `cardinal try`."""

import importlib.util
import os
import sys
from typing import NoReturn

from bot.admin.images import context
from bot.cli import CliError

# First the image, then the program, both in the engine of this shell.
IN_ENGINE = '"$0" -P -m bot.cli images agent && exec "$0" "$@"'


def exec_program(module: str, *args: str, workspace: str) -> NoReturn:
    """Go on as that program; with containers, beside an engine that has the agents' image."""
    if importlib.util.find_spec("forge") is None:
        raise CliError("this Cardinal runs in an image, without the forge: install the wheel for that")
    command = (sys.executable, "-P", "-m", module, *args)
    if workspace == "docker":
        command = ("bash", str(context.script("engine")), "bash", "-c", IN_ENGINE, *command)
    replace(*command)


def replace(*args: str) -> NoReturn:
    """Go on as another program: signals and the exit code are its own."""
    os.execvp(args[0], args)  # noqa: S606 -- no shell is wanted
