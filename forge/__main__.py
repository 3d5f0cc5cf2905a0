"""`python -m forge`: serve until SIGTERM."""

import argparse
import sys
from pathlib import Path

from forge.seed import load
from forge.stopping import stop_event, wait_for_stop
from forge.web.server import Forge


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m forge", description="A small GitHub on this machine.")
    parser.add_argument("--port", type=int, default=0, help="0 (default): any free port")
    parser.add_argument("--root", type=Path, required=True, help="the folder for the git repositories")
    parser.add_argument("--seed", default="", help="fill the forge with a prepared world: demo")
    parser.add_argument("--webhook", default="", help="send the App's webhooks to this address")
    parser.add_argument("--secret", default="", help="sign the webhooks with this secret")
    parser.add_argument("--key-file", type=Path, help="write the App's private key here")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    """Serve until SIGTERM or Ctrl-C; return the exit status."""
    options = parse_arguments(arguments)
    forge = Forge(options.root.absolute(), options.port)
    stopping = stop_event()
    if options.seed:
        world = load(forge.store, options.seed, webhook=options.webhook, secret=options.secret)
        if options.key_file is not None:
            options.key_file.touch(mode=0o600)
            options.key_file.write_text(world.private_key)
    forge.start()
    print(f"forge listening on {forge.url}", flush=True)
    wait_for_stop(stopping)
    forge.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
