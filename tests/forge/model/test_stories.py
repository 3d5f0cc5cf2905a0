"""The scripted model plays the demo's scenarios through each agent's own tools, and remembers nothing."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import requests

from forge.demo.launch import SCENARIOS
from forge.model.server import ScriptedModel
from forge.seed.demo import SHOP
from tests.forge.model.agents import AGENTS, Agent, ClaudeLike
from tests.runner.world import git

DISCOUNT = "# Big baskets get a discount\n\nMarketing wants it."
ANSWER = (
    "Your question was answered:\nRound half up, to whole cents.\n\nGo on from where you stopped.\n\n"
    "People wrote meanwhile:\nHurry."
)
THREADS = """People reviewed the branch.

Answer each of these review threads with `thread`:

[PRRT_a1] shop/discount.py:7
What is this threshold?

A name would help.

[PRRT_b2] tests/test_discount.py
And a basket of exactly 100?

Do the work on the branch you are on."""


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(SCENARIOS, scenario="shop", hurry=True) as running:
        yield running
        assert running.problems == []


@pytest.fixture(params=AGENTS)
def agent(request: pytest.FixtureRequest, model: ScriptedModel, tmp_path: Path) -> Agent:
    return born(request.param, model, tmp_path)


def born(kind: str, model: ScriptedModel, folder: Path) -> Agent:
    shutil.copytree(_shop().name, folder / "repo")
    return AGENTS[kind](model.url, folder / "repo")


@cache
def _shop() -> "TemporaryDirectory[str]":
    """Return the shop as one commit; every test goes on in a copy of its own."""
    folder = TemporaryDirectory(prefix="cardinal-stories-")
    for path, content in SHOP.items():
        (Path(folder.name) / path).parent.mkdir(parents=True, exist_ok=True)
        (Path(folder.name) / path).write_bytes(content or b"")
    for words in ("init", "config user.name a", "config user.email a@b", "add -A", "commit -m start"):
        git(Path(folder.name), *words.split())
    return folder


def head(turn: str, phase: str, rest: str, run: str = "r1") -> str:
    return f"Run {run}, turn {turn} ({phase}).\n\n{rest}"


def tools(agent: Agent) -> list[str]:
    return [tool for tool, _ in agent.board]


def commits(agent: Agent) -> list[str]:
    return agent.shell("git log --format=%s").splitlines()[1:]


def passes(agent: Agent) -> bool:
    return agent.shell(f"{sys.executable} -m unittest discover -s tests -t .").startswith("exit 0")


def test_the_discount_is_built_from_its_plan_to_its_review(agent: Agent) -> None:
    agent.play(head("plan", "plan", DISCOUNT))
    agent.play(head("redirect-1", "redirect", "Its own function.\n\n# Another heading"))
    assert tools(agent) == ["plan", "plan"]
    assert agent.board[1][1]["steps"][0] == "Write discount_cents in shop/discount.py"
    agent.play(head("work", "work", "The plan is approved."))
    assert tools(agent)[-1] == "ask"
    agent.play(head("work", "answer", ANSWER))
    assert (
        "note",
        {"text": "Rounding was decided on the card: Round half up, to whole cents."},
    ) in agent.board
    assert tools(agent)[-1] == "finish"
    assert not passes(agent)
    agent.play(head("repair-1", "repair", "FAILED test_fractions"))
    assert passes(agent)
    agent.play(head("revise", "revise", THREADS, run="r2"))
    answered = [given["thread_id"] for tool, given in agent.board if tool == "thread"]
    assert answered == ["PRRT_a1", "PRRT_b2"]
    assert agent.board[-1][1]["done"].startswith("Scripted: 2 of 2 review comments addressed.")
    assert passes(agent)
    assert commits(agent) == [
        "Test a basket of exactly 100.00",
        "Name the threshold",
        "Round the discount half up",
        "Give big baskets a discount",
        "start",
    ]
    assert agent.shell("git status --porcelain") == "exit 0\n"


@pytest.mark.parametrize("title", ["Big baskets get a discount", "Empty carts should say so", "Gift cards!"])
def test_a_remark_that_no_script_foresaw_is_answered_and_not_called_addressed(
    agent: Agent, title: str
) -> None:
    agent.play(head("plan", "plan", f"# {title}\n\nText."))
    agent.play(head("revise", "revise", THREADS.replace("threshold", "number").replace("exactly", "about")))
    replies = [given for tool, given in agent.board if tool == "thread"]
    assert [given["thread_id"] for given in replies] == ["PRRT_a1", "PRRT_b2"]
    assert not any(given["addressed"] for given in replies)
    assert all(given["text"].startswith("Scripted: I cannot work on this one.") for given in replies)
    assert agent.board[-1][1]["done"].startswith("Scripted: 0 of 2 review comments addressed.")
    assert commits(agent) == ["start"]


def test_the_small_card_is_built_without_a_question(agent: Agent) -> None:
    agent.play(head("plan", "plan", "# Empty carts should say so\n\nAn empty cart prints nothing."))
    agent.play(head("work", "work", "Go."))
    assert tools(agent) == ["plan", "progress", "tick", "progress", "tick", "finish"]
    assert passes(agent)
    assert commits(agent) == ["Let empty carts say so", "start"]


def test_a_card_without_a_scenario_gets_a_note_with_its_title_and_the_answer(agent: Agent) -> None:
    agent.play(head("plan", "plan", "# Gift cards!\n\nAn idea."))
    agent.play(head("work", "work", "Go."))
    agent.play(head("work", "answer", ANSWER))
    assert (agent.repo / "docs/gift-cards.md").read_text().startswith("# Gift cards!\n")
    assert agent.board[-1][1]["done"].endswith("Your answer was: Round half up, to whole cents.")


def test_usage_steps_are_the_usage_of_the_response_that_follows(agent: Agent, model: ScriptedModel) -> None:
    agent.play(head("plan", "plan", DISCOUNT))
    assert [message.tokens for message in agent.said] == [(100, 30, 0), (5200, 310, 0)]
    assert [(served.tokens.fresh, served.tokens.out) for served in model.served if served.tokens] == [
        (100, 30),
        (5200, 310),
    ]
    assert [(served.run, served.turn, served.complete) for served in model.served] == [
        ("r1", "plan", True)
    ] * 2


def test_the_same_request_gets_the_same_answer_byte_for_byte(agent: Agent) -> None:
    agent.prompt(head("work", "work", DISCOUNT))
    for _ in range(3):
        body = agent.body()
        assert agent.post(body).content == agent.post(body).content
        agent.round()


def test_a_model_that_was_started_again_goes_on_where_the_conversation_is(
    agent: Agent, model: ScriptedModel
) -> None:
    agent.prompt(head("work", "work", DISCOUNT))
    for _ in range(3):
        agent.round()
    with ScriptedModel(SCENARIOS, scenario="shop", hurry=True) as other:
        agent.url = other.url
        agent.round()
        while agent.round().calls:
            pass
    assert tools(agent) == ["progress", "tick", "ask"]


def test_a_turn_that_is_taken_up_again_goes_on_where_it_was_cut(agent: Agent) -> None:
    agent.prompt(head("work", "work", DISCOUNT))
    agent.round()
    agent.round()
    agent.play(head("work", "work", "You were interrupted."))
    assert tools(agent) == ["progress", "tick", "ask"]


def test_a_turn_that_is_begun_again_without_memory_breaks_nothing(agent: Agent, model: ScriptedModel) -> None:
    for _ in range(2):
        fresh = type(agent)(model.url, agent.repo)
        fresh.play(head("plan", "plan", "# Empty carts should say so\n\nText."))
        fresh.play(head("work", "work", "Go."))
        assert tools(fresh)[-1] == "finish"


def test_an_answer_without_memory_goes_on_behind_the_question(agent: Agent) -> None:
    agent.play(head("work", "answer", f"{DISCOUNT}\n\n{ANSWER}"))
    assert tools(agent)[0] == "note"
    assert "ask" not in tools(agent)


def test_a_question_that_is_answered_at_once_does_not_end_the_turn(agent: Agent) -> None:
    agent.asked_answer = "Down."
    agent.play(head("work", "work", DISCOUNT))
    assert tools(agent)[-1] == "finish"
    assert ("note", {"text": "Rounding was decided on the card: Down."}) in agent.board


def test_a_question_that_nobody_answered_ends_the_turn(agent: Agent) -> None:
    assert agent.play(head("work", "work", DISCOUNT)) == "I wait for the answer."
    assert agent.play(head("work", "work", "Go on.")) == "I wait for the answer."


def test_words_that_come_in_the_middle_are_heard(agent: Agent) -> None:
    agent.prompt(head("work", "work", DISCOUNT))
    agent.round()
    agent.prompt("Please mind the tests.")
    assert agent.round().text == "Heard: Please mind the tests."
    assert agent.round().text == ""


def test_a_request_that_is_not_streamed_gets_the_same_answer_whole(agent: Agent) -> None:
    agent.prompt(head("plan", "plan", DISCOUNT))
    whole = agent.post_whole().json()
    told = str(whole)
    assert "I read shop/cart.py and its tests first." in told
    assert "Take ten percent off inside Cart.total_cents." in told


def test_a_chat_is_answered_by_the_first_rule_that_fits(agent: Agent) -> None:
    card = "You are the planning assistant.\n\n# The card: Big baskets get a discount\n\nText."
    assert "how much" in agent.play(card)
    told = agent.play(f"{card}\n\nYou said:\nHow much?\n\ncarol said:\nTwenty percent off.")
    assert "## Ready for execution" in told
    assert "## Ready for execution" in agent.play(head("chat", "chat", f"{card}\n\nYou said:\nWhat?"))


def test_a_chat_without_tools_is_no_request_for_a_title(agent: Agent) -> None:
    agent.prompt("# The card: Big baskets get a discount\n\nYou said:\nHow much?\n\ncarol said:\nTen.")
    body = agent.body()
    del body["tools"]
    assert "## Ready for execution" in agent.parsed(agent.post(body).content).text


def test_requests_of_the_program_itself_are_answered_in_short(agent: Agent) -> None:
    agent.prompt("Generate a title for this conversation:")
    agent.prompt(head("plan", "plan", DISCOUNT))
    body = agent.body()
    del body["tools"]
    assert agent.parsed(agent.post(body).content).text == "A scripted title"


def test_tools_that_are_deferred_are_searched_first_and_once(model: ScriptedModel, tmp_path: Path) -> None:
    agent = born("claude", model, tmp_path)
    assert isinstance(agent, ClaudeLike)
    agent.defers = True
    agent.play(head("work", "work", DISCOUNT))
    assert tools(agent) == ["progress", "tick", "ask"]
    searches = [call for message in agent.said for call in message.calls if call.name == "ToolSearch"]
    assert len(searches) == 1


def test_every_scenario_ends_without_leaving_anything_uncommitted_in_any_agent(agent: Agent) -> None:
    agent.play(head("report-1", "report", DISCOUNT))
    assert tools(agent) == ["finish"]
    assert agent.play(head("report-1", "report", "Once more.")) == "That is all."


def test_the_command_says_where_it_listens_and_stops_when_told(tmp_path: Path) -> None:
    log = tmp_path / "requests"
    line = [sys.executable, "-m", "forge.model", "--scenarios", str(SCENARIOS), "--scenario", "shop"]
    with subprocess.Popen([*line, "--requests", str(log)], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        url = running.stdout.readline().split()[-1]
        sent = {"Authorization": "Bearer secret"}
        assert requests.get(f"{url}/v1/models", headers=sent, timeout=60).json()["object"] == "list"
        running.terminate()
        assert running.wait(60) == 0
    assert '"GET"' in log.read_text()
    assert "secret" not in log.read_text()


def test_the_command_says_what_is_wrong_with_a_scenario(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "forge.model", "--scenarios", str(tmp_path), "--scenario", "none"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "there is no such file" in done.stderr
