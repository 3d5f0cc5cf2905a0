"""The documentation is short and true: generated pages are fresh, links lead somewhere, commands exist."""

import ast
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from bot.system.config import FIELDS, TEST_PREFIX
from bot.system.env_file import PREFIX
from docs._make import pages, pictures, reference
from forge.demo.story import STEPS
from ledger import codec
from ledger.event import Zoom
from ledger.events.run import RunEvent
from ledger.states import CARD_STEPS, CardState
from rules.intents.outbound import Decision, Say
from rules.policy.model import Policy, parse
from rules.registry import ARCHETYPES, COMMANDS
from rules.snapshot import Snapshot
from runner import agents
from runner.agents.adapters.scripted import Scenario, ScenarioStep, parse_scenario
from runner.agents.board_tools import TOOLS
from runner.run.provider import SETTINGS
from runner.run.run_spec import FACTS
from tests.house.source import PACKAGES, ROOT, sources
from tests.rules.scene import NOW, POLICY, R1, card, given

PICTURE_BYTES = 250_000  # of two pixels for each of the page, with a palette
MAX_WORDS = 40_000  # of all pages that are written by hand
FENCE = re.compile(r"^ *```(?P<kind>\w*)\n(?P<text>.*?)^ *```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
OUTSIDE = re.compile(r"[a-z]+:")
TARGET = re.compile(r"r\d+|[\w.-]+/[\w.-]+(#\d+)?")  # of `cardinal command`
AS_USER = re.compile(r"^(sudo -iu [a-z]+ |ExecStart=/[a-z./]+/)")
PLACEHOLDER = re.compile(r"[<…]")
FILLED = re.compile(
    r"…|[0-9.]*[0-9]|make prepare| of \$|'x'|\b[xy]\b|anthropic"
    r"|CARDINAL_ANTHROPIC_KEY(?: or ANTHROPIC_API_KEY)?"
)


def texts() -> dict[str, str]:
    return {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in pages.pages()}


def fenced(text: str, kind: str) -> Iterator[str]:
    yield from (found["text"] for found in FENCE.finditer(text) if found["kind"] == kind)


def prose(text: str) -> Iterator[str]:
    """Yield what stands in backticks within the running text."""
    yield from re.findall(r"`([^`\n]+)`", FENCE.sub("", text))


def anchors(text: str) -> set[str]:
    """Return the anchors that GitHub gives to a page's headings."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def dead_links(path: str, text: str) -> Iterator[str]:
    for target in LINK.findall(FENCE.sub("", text)):
        if OUTSIDE.match(target):
            continue
        name, _, anchor = target.partition("#")
        file = (ROOT / path).parent / name if name else ROOT / path
        alive = file.exists() and (not anchor or anchor in anchors(file.read_text(encoding="utf-8")))
        if not alive:
            yield f"{path}: {target}"


def command_lines(text: str) -> Iterator[list[str]]:
    """Yield the shell commands of a page, in words: from its `sh` blocks, its units and its running text."""
    blocks = (line for kind in ("sh", "ini") for block in fenced(text, kind) for line in block.splitlines())
    for line in (*blocks, *prose(text)):
        command = AS_USER.sub("", line.strip())
        if command.startswith(("cardinal ", "scripts/")):
            yield shlex.split(command, comments=True)


def unknown_commands(path: str, text: str) -> Iterator[str]:
    known = dict(reference.names_of_cli())
    for words in command_lines(text):
        line = " ".join(words)
        if words[0].startswith("scripts/"):
            script = ROOT / words[0]
            said = script.read_text(encoding="utf-8") if script.is_file() else ""
            beside = (ROOT / "forge/demo/__main__.py").read_text() if words[0] == "scripts/demo" else ""
            options = [word for word in words if word.startswith("--")]
            if not said or any(option not in said + beside for option in options):
                yield f"{path}: {line}"
            continue
        command = max((one for one in known if f"{line} ".startswith(f"{one} ")), key=len)
        inside = [name for name in known if name.startswith(f"{command} ")]
        options = [word.partition("=")[0] for word in words if word.startswith("-")]
        incomplete = inside and words[1:] != options  # a group's own options, as --version, stand alone
        misplaced = command == "cardinal command" and not all(map(TARGET.fullmatch, words[2:3]))
        if incomplete or misplaced or any(option not in known[command] for option in options):
            yield f"{path}: {line}"


def missing_files(path: str, text: str) -> Iterator[str]:
    for word in prose(text):
        ours = "/" in word and word.split("/")[0] in (*PACKAGES, "docs", "tests", "scripts")
        if ours and not PLACEHOLDER.search(word) and not (ROOT / word.split()[0]).exists():
            yield f"{path}: {word}"


def unknown_settings(path: str, text: str) -> Iterator[str]:
    known = {*FACTS} | {PREFIX + name.upper() for name in FIELDS}
    for name in re.findall(rf"{PREFIX}[A-Z_]+", text):
        if name not in known and not name.startswith(TEST_PREFIX):
            yield f"{path}: {name}"


def unknown_slash_commands(path: str, text: str) -> Iterator[str]:
    for word in re.findall(r"(?<![\w.])/cardinal ([a-z-]+)", text):
        if word not in COMMANDS.names():
            yield f"{path}: /cardinal {word}"


def test_what_is_made_from_the_code_is_fresh() -> None:
    # In a process of its own, as scripts/docs does: what other tests load here may be named on a page.
    command = (sys.executable, "-m", "docs._make", "--check")
    check = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert check.returncode == 0, check.stdout + check.stderr


def test_one_pass_is_enough_since_programs_files_come_before_the_pages_made_from_them() -> None:
    kinds = [path.suffix for path in pages.FILES]
    assert kinds == sorted(kinds, key=(".json", ".md").index)


def test_every_page_of_the_reference_is_made() -> None:
    assert {path.stem for path in (ROOT / "docs/reference").iterdir()} == {*pages.REFERENCE}


def test_the_pages_that_are_written_by_hand_are_short() -> None:
    by_hand = {
        path: text for path, text in texts().items() if not path.startswith(("docs/reference/", "CHANGELOG"))
    }
    assert sum(len(text.split()) for text in by_hand.values()) <= MAX_WORDS


@pytest.mark.parametrize("check", [dead_links, unknown_commands, missing_files, unknown_settings])
def test_what_a_page_names_exists(check: Callable[[str, str], Iterator[str]]) -> None:
    assert [one for path, text in texts().items() for one in check(path, text)] == []


def test_every_slash_command_that_a_page_names_exists_but_the_example() -> None:
    found = {one for path, text in texts().items() for one in unknown_slash_commands(path, text)}
    assert found <= {"docs/adding-a-part.md: /cardinal ping"}  # whoever follows the page has it


def test_the_readme_begins_with_the_demo_and_the_tests() -> None:
    first = next(fenced((ROOT / "README.md").read_text(encoding="utf-8"), "sh"))
    assert [shlex.split(line, comments=True) for line in first.splitlines()] == [
        ["scripts/demo"],
        ["scripts/test"],
    ]


def test_every_policy_in_the_pages_is_valid() -> None:
    examples = [block for text in texts().values() for block in fenced(text, "yaml")]
    whole = [block for block in examples if block.startswith("version:")]
    assert len(whole) >= 3
    for block in whole:
        parse(block, home=None)


def test_the_example_of_a_command_is_one() -> None:
    source = next(fenced((ROOT / "docs/adding-a-part.md").read_text(encoding="utf-8"), "python"))
    lint = [sys.executable, "-m", "ruff", "check", "--stdin-filename", "rules/commands/ping.py", "-"]
    linted = subprocess.run(lint, cwd=ROOT, input=source, capture_output=True, text=True, timeout=60)
    assert linted.returncode == 0, linted.stdout
    example: dict[str, object] = {}
    exec(compile(source, "ping.py", "exec"), example)
    required = {name for name, is_required in COMMANDS.members().items() if is_required}
    assert required | {"TAKES", "INSTEAD"} <= set(example)
    decided = example["handle"](POLICY, card(), given("ping"), NOW)  # type: ignore[operator]
    assert isinstance(decided, Decision)


def test_the_example_of_an_event_and_its_rule_is_one_and_no_kind_that_exists() -> None:
    page = (ROOT / "docs/adding-a-part.md").read_text(encoding="utf-8")
    event, rule = fenced(page.partition("## An event and its rule")[2], "python")
    given_names = (dataclass, datetime, Zoom, RunEvent, Policy, Snapshot, Decision, Say)
    example: dict[str, Any] = {it.__name__: it for it in given_names}
    exec(event, example)
    (name,) = re.findall(r"class (\w+)", event)
    assert name not in codec.kinds()
    happened = example[name](R1, 7.0)
    assert "7" in happened.describe()
    exec(rule, example | {"answers": lambda _kind: lambda decide: example.update(decide=decide)})
    assert [type(it) for it in example["decide"](POLICY, card(), happened, NOW).intents] == [Say]


def test_the_scripted_agents_page_has_every_phase_and_step_and_a_scenario_that_is_valid() -> None:
    text = (ROOT / "docs/agents.md").read_text(encoding="utf-8").partition("## The scripted agent")[2]
    assert {*Scenario.model_fields, *ScenarioStep.model_fields} <= set(prose(text))
    assert parse_scenario("example", next(fenced(text, "yaml")).encode())["work"]


def test_the_agents_page_compares_every_real_agent_and_names_every_key() -> None:
    text = (ROOT / "docs/agents.md").read_text(encoding="utf-8")
    real = [name for name in agents.names() if agents.load(name).secrets and not agents.load(name).image]
    assert f"| | {' | '.join(f'`{name}`' for name in real)} |" in text
    reference = (ROOT / "docs/reference/agents.md").read_text(encoding="utf-8")
    assert {f"`{tool}`" for tool in TOOLS} <= set(re.findall(r"`[^`\n]+`", reference))
    assert [setting for setting in SETTINGS.values() if setting not in text] == []


def written() -> str:
    """Return every text that the code holds, a zero byte where something is filled in."""
    said = [
        path.read_text(encoding="utf-8") for path in sorted((ROOT / "runner/exec/in_container").glob("*.sh"))
    ]
    for source in sources("runner", "rules"):
        for node in source.nodes():
            if isinstance(node, ast.JoinedStr):
                parts = (part.value if isinstance(part, ast.Constant) else "\0" for part in node.values)
                said.append("".join(map(str, parts)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                said.append(node.value)
    return "\n".join(said)


def unsaid(text: str, code: str) -> Iterator[str]:
    """Yield the pieces of the sentences in a table's second column that nothing in the code says."""
    for sentence in re.findall(r"^\| [^|]+ \| \*([^|]+)\* \|", text, re.MULTILINE):
        yield from (piece for piece in FILLED.split(sentence) if piece.strip() and piece not in code)


def test_what_the_page_of_troubles_quotes_is_what_the_code_says() -> None:
    text, code = (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8"), written()
    assert list(unsaid(text, code)) == []
    assert list(unsaid("| a | *the run's gateway slept: 7* |", code)) == ["the run's gateway slept: "]


def test_every_picture_is_shown_and_small() -> None:
    pictures = sorted((ROOT / "docs/pictures").iterdir())
    shown = {Path(target).name for text in texts().values() for target in LINK.findall(text)}
    assert {picture.name for picture in pictures} <= shown
    sizes = {picture.name: picture.stat().st_size for picture in pictures}
    assert {name: size for name, size in sizes.items() if size >= PICTURE_BYTES} == {}


def test_pictures_are_taken_at_steps_that_the_story_has() -> None:
    assert set(pictures.WHEN) <= {step.name for step in STEPS}


def test_what_the_diagrams_leave_out_is_as_they_say() -> None:
    for _, archetype in ARCHETYPES.all():
        legal = archetype.STATES
        for one in legal:
            if one is not CardState.BLOCKED:
                assert CardState.BLOCKED in CARD_STEPS[one]
                assert one in CARD_STEPS[CardState.BLOCKED]
                assert legal[0] in CARD_STEPS[one] or one is legal[0]


def test_the_documentation_tests_bite() -> None:
    assert list(dead_links("README.md", "[a](nowhere.md) [b](docs/api.md#nowhere) [c](https://x.y)")) == [
        "README.md: nowhere.md",
        "README.md: docs/api.md#nowhere",
    ]
    bad = "`cardinal fly`, `cardinal --fly`, `cardinal up --high`, `scripts/nothing`, `scripts/demo --loud`"
    assert len(list(unknown_commands("a.md", bad))) == 5
    unit = "```ini\nExecStart=/home/x/.local/bin/cardinal fly\n```\n`sudo -iu x cardinal rehearse --high`"
    assert len(list(unknown_commands("a.md", unit))) == 2
    assert len(list(unknown_commands("a.md", "```sh\ncardinal command answer acme/docs#1 1\n```"))) == 1
    good = "`cardinal command r12 answer 1`, `cardinal audit verify --json`, `scripts/demo --auto`"
    assert list(unknown_commands("a.md", good)) == []
    assert list(
        missing_files("a.md", "`bot/nothing.py`, `bot/web/app.py`, `rules/columns/<archetype>.py`")
    ) == ["a.md: bot/nothing.py"]
    assert list(unknown_settings("a.md", "CARDINAL_PORT CARDINAL_PROT")) == ["a.md: CARDINAL_PROT"]
    assert list(unknown_slash_commands("a.md", "/cardinal approve /cardinal fly")) == ["a.md: /cardinal fly"]
