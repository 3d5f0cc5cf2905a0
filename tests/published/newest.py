"""Pins the newest packages in which GitHub publishes its API, so that news show before they hurt."""

import json
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

from tests.published.fetching import FETCH_S, PINS, NotFetchedError, Pin, fetch, pins


def newest(pin: Pin) -> Pin:
    """Return the pin of the newest version of the same package; raises NotFetchedError."""
    name = pin.package.rpartition("@")[0]
    command = ["npm", "view", "--json", f"{name}@latest", "version", "dist.integrity"]
    try:
        asked = subprocess.run(
            command, check=True, timeout=FETCH_S, stdin=subprocess.DEVNULL, capture_output=True
        )
        found = json.loads(asked.stdout)
        version, integrity = found["version"], found["dist.integrity"]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        raise NotFetchedError(f"npm does not tell the newest {name} ({error}): try again") from error
    return replace(pin, package=f"{name}@{version}", integrity=integrity)


def renew(path: Path) -> list[str]:
    """Write the newest versions into the file of pins and fetch them; return a line for each newer one."""
    renewed = [(pin, newest(pin)) for pin in pins()]
    for _, new in renewed:
        if not new.path.is_file():
            fetch(new)
    written = {}
    for _, new in renewed:
        written[new.package] = asdict(new)
        del written[new.package]["package"]
    path.write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")
    return [f"{old.package} -> {new.package}" for old, new in renewed if old != new]


def main() -> int:
    """Say what is newer; return the exit status."""
    try:
        news = renew(PINS)
    except NotFetchedError as error:
        print(f"scripts/published: {error}", file=sys.stderr)
        return 1
    print("\n".join(news) or "scripts/published: nothing is newer")
    return 0


if __name__ == "__main__":
    sys.exit(main())
