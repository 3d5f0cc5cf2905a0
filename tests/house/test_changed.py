"""`scripts/test --changed` runs what a change reaches by imports, and no less."""

import subprocess
from pathlib import Path

import pytest

from tests.changed import changed, reached

SUITES = ("bot", "browser", "house", "rules")
FILES = {
    "bot/cli/__init__.py": "",
    "bot/cli/up.py": "from rules import queue",
    "rules/__init__.py": "",
    "rules/commands/__init__.py": "",
    "rules/commands/stop.py": "",
    "rules/queue.py": "",
    "rules/registry.py": 'COMMANDS = Registry[Command]("command", "rules.commands")',
    "tests/bot/conftest.py": "from tests import ledgers",
    "tests/bot/test_page.py": "",
    "tests/bot/test_process.py": 'up = ("-m", "bot.cli.up")',
    "tests/browser/test_board.py": "",
    "tests/ledgers.py": "",
    "tests/rules/test_commands.py": "import rules.registry",
    "tests/rules/test_queue.py": "def test_it():\n    from rules.queue import head",
    "tests/story/test_all.py": "import rules.queue",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("file", "tests"),
    [
        ("rules/queue.py", {"tests/bot/test_process.py", "tests/rules/test_queue.py"}),
        ("rules/commands/stop.py", {"tests/rules/test_commands.py"}),
        ("rules/commands/gone.py", {"tests/rules/test_commands.py"}),
        ("rules/commands/__init__.py", {"tests/rules/test_commands.py"}),
        ("bot/cli/__init__.py", {"tests/bot/test_process.py"}),
        ("tests/ledgers.py", {"tests/bot/test_page.py", "tests/bot/test_process.py"}),
        ("tests/rules/test_queue.py", {"tests/rules/test_queue.py"}),
        ("tests/bot/conftest.py", {"tests/bot"}),
        ("tests/rules/samples/a.json", {"tests/rules"}),
        ("bot/web/look.css", {"tests/bot", "tests/browser"}),
        ("docs/try.md", set()),
        ("pyproject.toml", {"tests/bot", "tests/browser", "tests/rules"}),
    ],
)
def test_a_change_reaches_who_imports_names_or_loads_it_and_whole_suites_else(
    tree: Path, file: str, tests: set[str]
) -> None:
    assert {*reached(tree, [file], SUITES)} == tests | {"tests/house"}


def test_the_tests_with_the_fewest_imports_between_come_first_and_whole_suites_last(tree: Path) -> None:
    found = reached(tree, ["rules/queue.py"], SUITES)
    assert found == ["tests/rules/test_queue.py", "tests/bot/test_process.py", "tests/house"]


def test_changes_are_those_since_the_branch_left_main_and_what_is_not_committed(tree: Path) -> None:
    def git(*words: str) -> None:
        who = ("-c", "user.name=A", "-c", "user.email=a@example.com")
        subprocess.run(("git", "-C", tree, *who, *words), check=True, capture_output=True, timeout=60)

    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-qm", "Start")
    git("checkout", "-qb", "work")
    (tree / "rules/queue.py").write_text("A = 1\n")
    git("commit", "-qam", "Change")
    (tree / "rules/registry.py").unlink()
    (tree / "new file.txt").touch()
    assert set(changed(tree)) == {"rules/queue.py", "rules/registry.py", "new file.txt"}
