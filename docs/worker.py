"""A worker of your own: it counts the words of the cards that wait for one in a column, say Measure."""

import json
import os
import sys
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

BEAT = {"lease_s": 120}  # seconds until the claim runs out; a long task sends a heartbeat well before


def call(method: str, path: str, fields: dict[str, Any] | None = None) -> Any:
    """Return the response of Cardinal's API; an error ends the program, and says what it is."""
    headers = {"Authorization": f"Bearer {os.environ['CARDINAL_TOKEN']}", "Content-Type": "application/json"}
    body = None if fields is None else json.dumps(fields).encode()
    address = f"{os.environ['CARDINAL_URL']}/api/v1{path}"
    try:
        with urlopen(Request(address, body, headers, method=method)) as response:  # noqa: S310 -- your own Cardinal
            return json.load(response)
    except HTTPError as error:
        sys.exit(json.load(error)["detail"])


def work(job: str) -> None:
    """Claim a job, do it, and hand it in."""
    claimed = call("POST", f"{job}/claim", BEAT)
    run, claim = f"/runs/{claimed['run']}", {"generation": claimed["generation"]}
    call("POST", f"{run}/heartbeat", {**claim, **BEAT, "progress": "Counting the words"})
    words = len(claimed["briefing"].split())
    call("POST", f"{job}/commands", {"command": "comment", "text": f"It has {words} words."})
    report = {"done": f"Counted {words} words.", "metadata": {"words": words}}
    call("POST", f"{run}/report", {**claim, **report, "outcome": "succeeded" if words else "failed"})


for it in call("GET", f"/jobs?state=queued&column={quote(sys.argv[1])}")["jobs"]:
    work(f"/jobs/{it['repository']}/{it['number']}")
