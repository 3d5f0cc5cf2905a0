"""The tutorials: everything that a page says to type is typed, in its order, and comes to what it says."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from mcp import Client

from bot.cli import main
from forge.store.board import Item
from ledger.events.conversation import CommandGiven, CommandRefused
from ledger.events.run import PlanRedirected, QuestionAnswered, RunEnded, RunQueued
from ledger.states import Ending
from tests.bot.flows.settings import POLICY, with_column
from tests.bot.web.api.program import Program
from tests.bot.web.mcp.agent import document, talk
from tests.bot.web.mcp.test_stdio import served
from tests.bot.web.pages.conftest import pages
from tests.bot.web.pages.world import Pages
from tests.house.source import ROOT

__all__ = ["pages"]
HELLO = [
    {"ask": {"question": "In which language?"}},
    {"edit": {"path": "shop/hello.py", "content": '"""{{answer}}"""\n'}},
    {"finish": {"done": "It says hello."}},
]


def typed(page: str, kind: str, number: int) -> Iterator[str]:
    """Yield what stands in the page's boxes of a kind, with the job's number in place of the page's."""
    text = (ROOT / f"docs/tutorials/{page}.md").read_text(encoding="utf-8")
    for box in re.findall(rf"^```{kind}\n(.*?)\n```$", text, re.DOTALL | re.MULTILINE):
        yield re.sub(r'(acme/shop#|"number": )4\b', rf"\g<1>{number}", box)


@pytest.fixture
def number(pages: Pages) -> int:
    """Let a plan and a question stand between a card and its work; return the next issue's number."""
    cardinal = pages.cardinal
    cardinal.set_policy(with_column(plan_approval="required"))
    cardinal.scenario(plan=[{"plan": {"summary": "Say it.", "steps": ["Say hello"]}}], work=HELLO)
    cardinal.catch_up()
    return max(cardinal.repo.issues, default=0) + 1


def made(pages: Pages) -> Item:
    """Return a card whose plan waits for somebody."""
    item = pages.cardinal.new(column="In Progress")
    pages.cardinal.catch_up(work=True)
    return item


def endings(pages: Pages) -> list[Ending]:
    return [ended.ending for ended in pages.cardinal.events(RunEnded)]


def test_a_reviewer_says_everything_in_comments(pages: Pages, number: int) -> None:
    cardinal, item = pages.cardinal, made(pages)
    for text in typed("reviewer", "text", number):
        cardinal.say(item, text, who="bob")
        cardinal.catch_up(work=True)
    given = [event.command for event in cardinal.events(CommandGiven)]
    assert given == ["redirect", "approve", "status", "retry"]
    assert cardinal.events(CommandRefused) == []
    assert [event.text for event in cardinal.events(PlanRedirected)] == ["Leave the old greeting where it is"]
    assert [event.text for event in cardinal.events(QuestionAnswered)] == ["Say it in English."]
    assert (endings(pages), len(cardinal.events(RunQueued))) == ([Ending.SUCCEEDED], 2)


def test_an_operator_asks_the_command_line(
    pages: Pages, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cardinal = pages.cardinal
    made(pages)
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github/cardinal.yml").write_text(POLICY)
    environ = {"CARDINAL_HOME": str(cardinal.services.config.home)}
    for line in "\n".join(typed("operator", "sh", number)).splitlines():
        result = CliRunner().invoke(main, shlex.split(line)[1:], env=environ)
        assert result.exit_code == 0, f"{line}: {result.output}"
        assert result.output.strip(), line
    assert (tmp_path / "weekly.db").exists()


def test_a_program_makes_a_job_and_answers_for_it(pages: Pages, number: int, tmp_path: Path) -> None:
    cardinal = pages.cardinal
    _token, *boxes = typed("program", "sh", number)  # it is made at GitHub's word, which there is none of
    with served(pages) as address:
        environ = {
            "CARDINAL_HOME": str(tmp_path / "elsewhere"),
            "CARDINAL_URL": address,
            "CARDINAL_TOKEN": Program(pages, "bob").token,
        }
        for line in "\n".join(boxes).splitlines():
            words = shlex.split(line)[1:]
            result = CliRunner().invoke(main, words, env=environ)
            assert result.exit_code == 0, f"{line}: {result.output}"
            cardinal.catch_up(work=True)
    assert json.loads(result.stdout)["ending"] == "succeeded"
    assert [event.command for event in cardinal.events(CommandGiven)] == ["approve", "answer"]


def test_an_orchestrating_agent_leads_two_jobs(pages: Pages, number: int) -> None:
    cardinal = pages.cardinal
    calls = [json.loads(box) for box in typed("orchestrator", "json", number)]

    async def conversation(client: Client) -> None:
        for call in calls:
            answer = document(await client.call_tool(call["tool"], call["arguments"]))
            cardinal.catch_up(work=True)
        assert answer["ending"] == "succeeded"

    talk(pages, Program(pages, "bob"), conversation)
    assert [event.command for event in cardinal.events(CommandGiven)] == ["approve", "answer"]
    # The second job has a run, too, which waits for the first.
    assert (endings(pages), len(cardinal.events(RunQueued))) == ([Ending.SUCCEEDED], 2)
