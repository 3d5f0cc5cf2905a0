"""A web server in a group of its own, for the tests."""

import os
import sys
from pathlib import Path

from bot.daemon import up, web_server
from bot.daemon.group import ProcessGroup
from bot.system import config as configuration


def main() -> None:
    """Run it until SIGTERM; print its address, then what the group says."""
    config = configuration.read(os.environ, Path.cwd())
    with web_server.bind(config) as listener:
        say(web_server.listen_address(listener))
        ProcessGroup(up.web_roles(config, listener), say, lambda pids: None).run()


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
