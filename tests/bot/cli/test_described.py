"""Help, completion and reads cost little: they import nothing that they do not need."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from click import Command, Context, Group
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from bot.cli import load_command, main
from tests.house.source import ROOT

HELP_NAMES = ["-h", "--help"]
HEAVY = frozenset(
    {"sqlalchemy", "github", "gidgethub", "redis", "rq", "flask", "requests", "docker", "cryptography"}
)
THIN = HEAVY | {"pydantic", "httpx2", "anyio", "asyncio", "mcp", "ledger.events.run", "rules.policy.model"}


def real(group: Group | None = None, context: Context | None = None) -> Iterator[tuple[Command, Context]]:
    """Yield every command as it runs, with its context."""
    top = context or Context(main, info_name="cardinal", help_option_names=HELP_NAMES, terminal_width=80)
    for name in (group or main).list_commands(top):
        found = group.get_command(top, name) if group else load_command(name)
        assert found is not None
        own = Context(found, parent=top, info_name=name)
        found._help_option = None  # click keeps that of a test before
        yield found, own
        if isinstance(found, Group):
            yield from real(found, own)


def test_what_is_described_is_what_runs() -> None:
    completes = ShellComplete(main, {}, "cardinal", "_CARDINAL_COMPLETE")
    for command, own in real():
        path = own.command_path.split()[1:]
        page = CliRunner().invoke(main, [*path, "--help"], prog_name="cardinal", terminal_width=80).stdout
        assert page == command.get_help(own) + "\n"
        words = "" if isinstance(command, Group) else "--"
        described = [item.value for item in completes.get_completions(path, words)]
        assert described == [item.value for item in command.shell_complete(own, words)], path


def modules_after(*words: tuple[str, ...]) -> set[str]:
    """Return what one process has imported after these commands."""
    runs = "".join(
        f"with contextlib.suppress(SystemExit): main({list(it)!r}, prog_name='cardinal')\n" for it in words
    )
    code = f"import contextlib, sys\nfrom bot.cli import main\n{runs}print('\\0', *sys.modules, sep='\\n')"
    done = subprocess.run(
        (sys.executable, "-P", "-c", code),
        cwd=ROOT,
        env={"CARDINAL_URL": "http://127.0.0.1:9", "CARDINAL_TOKEN": "t", "CARDINAL_HOME": "/nowhere"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(done.stdout.partition("\0\n")[2].split())


def test_help_and_reads_of_the_api_import_no_server() -> None:
    reads = ("list", "boards", "show acme/shop#1", "explain acme/shop#1", "inbox", "stats", "whoami")
    helps = ((*name.split(), "--help") for name in ("", "board", "job list", "audit verify", "up", "mcp"))
    assert modules_after(*helps, *(("job", *it.split()) for it in reads)) & THIN == set()


@pytest.mark.parametrize("words", [("boards", "list", "--bogus"), ("borad",)])
def test_a_wrong_word_gets_help_and_does_nothing(words: tuple[str, ...]) -> None:
    refused = CliRunner().invoke(main, words)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert ("Did you mean" in refused.stderr) is (words == ("borad",)), refused.stderr
