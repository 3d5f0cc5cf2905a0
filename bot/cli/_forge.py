"""Programs of the forge, the small GitHub of the demo and of `cardinal try`."""

import importlib.util
import os
import sys
from collections.abc import Iterable
from typing import NoReturn

from bot.admin.images import context
from bot.cli import CliError
from runner import agents

# First the images, then the program, all in the engine of this shell.
BUILD = '"$0" -P -m bot.cli {} && '


def exec_program(module: str, *args: str, workspace: str, players: Iterable[str]) -> NoReturn:
    """Go on as that program; with containers, beside an engine that has the images of these agents."""
    if importlib.util.find_spec("forge") is None:
        raise CliError("this Cardinal runs in an image, without the forge: install the wheel for that")
    command = (sys.executable, "-P", "-m", module, *args)
    if workspace == "docker":
        command = ("bash", str(context.script("engine")), "bash", "-c", in_engine(players), *command)
    replace(*command)


def in_engine(players: Iterable[str]) -> str:
    """Return the line of shell that builds the images of Cardinal's own among these agents, then goes on."""
    own = sorted({*players} & {name for name in agents.names() if agents.load(name).image})
    builds = ("images agent", *(f"agents --build {name}" for name in own))
    return "".join(map(BUILD.format, builds)) + 'exec "$0" "$@"'


def replace(*args: str) -> NoReturn:
    """Go on as another program: signals and the exit code are its own."""
    os.execvp(args[0], args)  # noqa: S606 -- no shell is wanted
