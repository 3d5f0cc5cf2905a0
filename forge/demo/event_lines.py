"""What happens in the demo as lines for the person at its terminal, from Cardinal's log."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING

from forge.seed.demo import TEAM

if TYPE_CHECKING:
    from forge.demo.launch import Scene

# Beside what people and agents say: what an agent is doing, how its checks ended, and whether it is merged.
WORK = frozenset({"Progressed", "CommandChecked", "PullChanged"})
WIDTH, TITLE_CHARS = 120, 40
STOP_S = 10


@contextmanager
def printed(scene: "Scene") -> Iterator[None]:
    """Print each event from now on until the block ends. What follows the log dies with this process."""
    # From the first event, for it needs seconds to start; what is older than this moment is not printed.
    words = ["setpriv", "--pdeathsig", "KILL", *scene.words("watch", "--json", "--from", "0")]
    begun, log = datetime.now(UTC), scene.home.parent / "cardinal.log"
    with log.open("ab") as errors:
        following = subprocess.Popen(  # in a group of its own: Ctrl-C is for the demo, which stops it
            words, env=scene.environment, stdout=subprocess.PIPE, stderr=errors, text=True, process_group=0
        )
    assert following.stdout is not None
    printing = threading.Thread(target=_print, args=(following.stdout, begun), name="events")
    printing.start()
    try:
        yield
    finally:
        ended = following.poll()
        following.terminate()
        following.wait(STOP_S)
        printing.join()
        if ended is not None:
            print(f"The lines about events stopped early: see {log}", flush=True)


def _print(events: IO[str], begun: datetime) -> None:
    last = ""
    for text in events:
        event = json.loads(text)
        is_shown = event["zoom"] == "conversation" or event["kind"] in WORK
        if is_shown and datetime.fromisoformat(event["at"]) >= begun:
            now = line(event, _width())
            if now != last:  # a command is something that a person said, too
                print(now, flush=True)
            last = now


def line(event: dict[str, str], width: int = WIDTH) -> str:
    """Return one line about an event; the people of the team are whoever sits at this machine."""
    _, is_issue, number = event["card"].rpartition("#")
    card = f"#{number}" if is_issue else "draft"
    said = event["text"].removesuffix(f": {event['title']}")
    who = next((login for login in TEAM if re.match(rf"{login}\b", said)), "")
    if who:
        said = f"you ({who}){said.removeprefix(who)}"
    said = f"{card} “{_cut(event['title'], TITLE_CHARS)}”  {said}"
    at = datetime.fromisoformat(event["at"]).astimezone()
    return _cut(f"{at:%H:%M:%S}  {said}", width)


def _cut(text: str, most: int) -> str:
    text = "".join(char for char in text if char.isprintable())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _width() -> int:
    """Return the terminal's width; without a terminal that of a usual page."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or WIDTH
    except OSError:
        return WIDTH
