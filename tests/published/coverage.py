"""Whether everything that Cardinal can send went through the judge: run after all suites, by scripts/test.

`CARDINAL_TEST_SEEN` names the folder in which every test process notes what it saw.
"""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.house.source import sources
from tests.published import calls, fetching
from tests.published.court import Court
from tests.published.rest import Rest


def note(court: Court) -> None:
    """Note what this process saw, if somebody wants to know."""
    folder = os.environ.get("CARDINAL_TEST_SEEN")
    if folder and court.seen:
        text = "\n".join(sorted(court.seen))
        (Path(folder) / f"{os.getpid()}.seen").write_text(text, encoding="utf-8")


def unseen(rest: Rest, sent: Iterable[calls.Sent], operations: Iterable[str], seen: set[str]) -> list[str]:
    """Return the calls and operations that no test sent."""
    missing = [f"{one}" for one in sorted(set(operations)) if one not in seen]
    for one in sent:
        found = rest.operation(one.method, one.path)
        if found is None or found.name not in seen:
            missing.append(f"{one.method} {one.path} ({one.place})")
    return missing


def main(folder: Path) -> int:
    """Return 1 and say what no test sent; 0 when all was seen, or nothing can be judged here."""
    if not fetching.here() and not os.environ.get("CI"):
        return 0
    seen = {line for path in folder.glob("*.seen") for line in path.read_text(encoding="utf-8").splitlines()}
    bot = sources("bot")
    missing = unseen(Rest.published(), calls.rest_calls(bot), calls.operations(bot), seen)
    for one in missing:
        print(f"tests.published: no test sent this to the forge: {one}", file=sys.stderr)
    print(f"== what Cardinal sends: {len(seen)} operations were judged")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
