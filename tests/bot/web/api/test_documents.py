"""The examples of docs/api.md and of each command's help, run as they stand."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from bot.cli import main
from bot.cli._operations import operations_by_name
from ledger.events.conversation import CommandGiven
from tests.bot.flows.settings import with_column
from tests.bot.web.api.program import Program, lying
from tests.bot.web.api.test_create_job import WISH
from tests.bot.web.mcp.test_stdio import served
from tests.bot.web.pages.forms import at_work
from tests.bot.web.pages.world import PUBLIC, Pages
from tests.house.source import ROOT

CURL = re.compile(r"^```sh\n(curl .+)\n```\n\n```json\n(.+)\n```$", re.MULTILINE)
CLAIMS = ("claim", "heartbeat", "hand-in")  # in the order in which a worker gives them
COMMAND = re.compile(r"^  Example:\n    cardinal (job .+)$", re.MULTILINE)


def curls(text: str) -> list[tuple[str, str, dict[str, str], Any, dict[str, Any]]]:
    """Return each request of the page, with the answer that stands below it."""
    found = []
    for line, answer in CURL.findall(text):
        words = shlex.split(line)[1:]
        method = words[words.index("-X") + 1] if "-X" in words else "GET"
        headers = dict(words[at + 1].split(": ") for at, word in enumerate(words) if word == "-H")
        body = json.loads(words[words.index("-d") + 1]) if "-d" in words else None
        (path,) = (it.removeprefix(f"{PUBLIC}/api/v1") for it in words if it.startswith("https:"))
        found.append((method, path, headers, body, json.loads(answer)))
    return found


def fits(shown: Any, real: Any) -> bool:
    """Tell whether an answer has what the page shows: the same fields, with values of the same types."""
    if isinstance(shown, dict):
        return isinstance(real, dict) and all(it in real and fits(shown[it], real[it]) for it in shown)
    if isinstance(shown, list):
        return isinstance(real, list) and (not shown or (bool(real) and fits(shown[0], real[0])))
    return type(shown) is type(real)


def test_the_story_of_the_page_is_played(pages: Pages) -> None:
    cardinal, bob, names = pages.cardinal, Program(pages, "bob"), dict[str, str]()
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    requests = curls(text)
    assert len(requests) == 5
    cardinal.set_policy(with_column(plan_approval="required"))
    cardinal.catch_up()
    for method, path, headers, body, shown in requests:
        assert headers.pop("Authorization") == "Bearer $token"
        assert (headers.pop("Content-Type", ""), body is None) in (("application/json", False), ("", True))
        for old, new in names.items():
            path = path.replace(old, new)
            body = {it: value.replace(old, new) for it, value in body.items()} if body else body
        answer = bob.send(
            method, path, body, **{it.replace("-", "_"): value for it, value in headers.items()}
        )
        real = answer.get_json()
        assert (answer.status_code, fits(shown, real)) == (200, True), answer.text
        if "request" in real and not real["number"]:
            names[shown["request"]] = real["request"]
            cardinal.catch_up()
        elif "request" in real:
            names["shop/1"] = f"shop/{real['number']}"
            run = cardinal.run_of(cardinal.newest).run_id
            cardinal.plan(run)
            cardinal.catch_up()
            names["r1"] = run
    assert [(it.command, it.by) for it in cardinal.events(CommandGiven)] == [("approve", "bob")]
    assert cardinal.run(run).plan_approved, real


def test_the_example_of_every_command_works(pages: Pages, tmp_path: Path) -> None:
    item = at_work(pages)
    run_id = pages.cardinal.run_of(item).run_id
    bob = Program(pages, "bob")
    names = {
        "acme/shop#1": f"acme/shop#{pages.cardinal.card(item).number}",
        "0123456789abcdef01234567": bob.send("POST", "/jobs", WISH).get_json()["request"],
        "0" * 64: pages.keep(run_id, "full 1: pytest", "log"),
        "r1": run_id,
    }
    free = lying(pages)
    idle = pages.cardinal.card(free)
    examples = COMMAND.findall((ROOT / "docs/reference/cli.md").read_text(encoding="utf-8"))
    assert {shlex.split(it)[1] for it in examples} == set(operations_by_name())
    with served(pages) as address:
        environ = {"CARDINAL_HOME": str(tmp_path), "CARDINAL_URL": address, "CARDINAL_TOKEN": bob.token}
        own = [next(it for it in examples if it.startswith(f"job {word} ")) for word in CLAIMS]
        for example in [*(it for it in examples if it not in own), *own]:
            if example in own:
                names |= {"acme/shop#1": f"acme/shop#{idle.number}", "r1": pages.cardinal.run_of(free).run_id}
            words = [names.get(word, word) for word in shlex.split(example)]
            result = CliRunner().invoke(main, words, env=environ)
            assert result.exit_code == 0, (example, result.output)
