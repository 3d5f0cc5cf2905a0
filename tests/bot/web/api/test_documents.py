"""The examples of docs/api.md and of each command's help, run as they stand."""

import re
import shlex
from pathlib import Path

from click.testing import CliRunner

from bot.cli import main
from bot.cli._operations import operations_by_name
from tests.bot.web.api.program import Program
from tests.bot.web.api.test_create_job import WISH
from tests.bot.web.mcp.test_stdio import served
from tests.bot.web.pages.forms import at_work
from tests.bot.web.pages.world import PUBLIC, Pages
from tests.house.source import ROOT

COMMAND = re.compile(r"^  Example:\n    cardinal (job .+)$", re.MULTILINE)


def test_the_request_of_the_page_is_answered(pages: Pages) -> None:
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    curl, option, header, address = shlex.split(re.search(r"^curl .*$", text, re.MULTILINE)[0])  # type: ignore[index]
    assert (curl, option, header) == ("curl", "-H", "Authorization: Bearer $token")
    assert Program(pages, "bob").get(address.removeprefix(f"{PUBLIC}/api/v1")) == {"jobs": [], "next": ""}


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
    examples = COMMAND.findall((ROOT / "docs" / "cli.md").read_text(encoding="utf-8"))
    assert {shlex.split(it)[1] for it in examples} == set(operations_by_name())
    with served(pages) as address:
        environ = {"CARDINAL_HOME": str(tmp_path), "CARDINAL_URL": address, "CARDINAL_TOKEN": bob.token}
        for example in examples:
            words = [names.get(word, word) for word in shlex.split(example)]
            result = CliRunner().invoke(main, words, env=environ)
            assert result.exit_code == 0, (example, result.output)
