"""A web server in a group of its own, for the tests: it prints its address, then what the group says."""

import os
import sys
from pathlib import Path

from bot import config as configuration
from bot import web
from bot.group import Group
from bot.role import Role


def main() -> None:
    config = configuration.read(os.environ, Path.cwd())
    with web.bind(config) as listener:
        say(web.address(listener))
        role = Role("web", lambda ready: web.serve(config, listener, ready))
        Group((role,), say, lambda pids: None).run()


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
