"""`python -m forge.model`: serve a scripted model until SIGTERM."""

import argparse
import sys
from pathlib import Path

from forge.model.scenario import ScriptError
from forge.model.server import ScriptedModel
from forge.stopping import stop_event, wait_for_stop


def main() -> int:
    """Serve until SIGTERM or Ctrl-C; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m forge.model", description=__doc__)
    parser.add_argument("--scenarios", type=Path, required=True, metavar="FOLDER", help="where scenarios are")
    parser.add_argument("--scenario", default="default", help="which of them is played")
    parser.add_argument("--port", type=int, default=0, help="0 (default): any free port")
    parser.add_argument("--key", default="", help="refuse requests that are paid with another key")
    parser.add_argument("--requests", type=Path, metavar="FILE", help="write every request to FILE")
    options = parser.parse_args()
    stopping = stop_event()
    try:
        model = ScriptedModel(
            options.scenarios,
            scenario=options.scenario,
            port=options.port,
            key=options.key,
            log=options.requests,
        )
    except (ScriptError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    with model:
        print(f"scripted model listening on {model.url}", flush=True)
        wait_for_stop(stopping)
    return 0


if __name__ == "__main__":
    sys.exit(main())
