"""Commands that only read are carried out by the running Cardinal, and are as they are without it."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen
from types import MappingProxyType

import psutil
import pytest
from sqlalchemy import Engine

from bot.cli import COMMANDS, _socket
from bot.daemon.group import MAX_VISITS, ProcessGroup
from bot.system.config import Config
from tests.bot.cli.conftest import story
from tests.house.source import ROOT
from tests.waiting import until
from tests.warm import Warm

__all__ = ["story"]
MARK = "imported:"
SHOWS = f"""
import sys
from bot.cli.__main__ import run
try:
    run()
finally:
    print({MARK!r}, *sys.modules, file=sys.stderr)
"""
UNREAD = {  # each costs a read tens of milliseconds of the processor
    *("flask", "github", "opentelemetry", "redis", "requests", "rq", "starlette", "werkzeug"),
    *("bot.bootstrap", "bot.github.client", "runner.agents", "runner.run.run_spec"),
    "sqlalchemy.dialects.postgresql",
}
ALONE = ("board", "runs", "boards list", "hosts", "tokens list", "workspaces", "explain acme/shop#1")
SHOWS_ALL = f"""
import sys
from bot.cli import main
for words in {ALONE!r}:
    main(words.split(), standalone_mode=False)
print({MARK!r}, *sys.modules, file=sys.stderr)
"""
READS = ("runs --json", "board --json", "show acme/shop#99", "watch --once", "runs --bogus")


def serve(home: str) -> None:
    """Be the group of a home, without roles."""
    _socket.warm_up()
    with _socket.listening(Path(home)) as visitors:
        ProcessGroup((), print, visitors=visitors, receive=_socket.carry_out_for).run()


@pytest.fixture
def group(config: Config, story: Engine) -> Iterator[Warm]:
    process = Warm(serve, str(config.home))
    until(lambda: (config.home / "run" / _socket.NAME).exists(), "the socket is there")
    yield process
    process.kill()
    process.close()


@contextmanager
def typed(
    config: Config,
    *words: str,
    program: Sequence[str] = ("-m", "bot.cli"),
    stdout: int = PIPE,
    more: Mapping[str, str] = MappingProxyType({}),
) -> Iterator["Popen[str]"]:
    """Have somebody type a command, with `more` variables."""
    # A suite that was started in the background has Ctrl-C ignored, and so would all that it starts.
    command = ("env", "--default-signal=INT", sys.executable, "-P", *program, *words)
    environ = {"CARDINAL_HOME": str(config.home), "PATH": os.environ["PATH"], **more}
    with Popen(command, cwd=ROOT, env=environ, stdout=stdout, stderr=PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def result(config: Config, *words: str, program: Sequence[str] = ("-m", "bot.cli")) -> tuple[int, str, str]:
    """Return the exit code and what is printed, on both."""
    with typed(config, *words, program=program) as process:
        out, errors = process.communicate(timeout=60)
        return process.returncode, out, errors


def test_a_read_is_the_same_and_imports_nothing(config: Config, group: Warm, program: Path) -> None:
    carried_out = [result(config, *words.split(), program=("-c", SHOWS)) for words in READS]
    imported = {name for _, _, errors in carried_out for name in errors.partition(MARK)[2].split()}
    assert not {"sqlalchemy", "pydantic", "redis", "ledger.db"} & imported
    assert "bot.cli._socket" in imported
    (config.home / "run" / _socket.NAME).unlink()
    environ = {"CARDINAL_HOME": str(config.home), "PATH": os.environ["PATH"]}
    for words, (code, out, errors) in zip(READS, carried_out, strict=True):
        alone = subprocess.run(
            [program, *words.split()], env=environ, capture_output=True, text=True, timeout=60
        )
        assert (alone.returncode, alone.stdout, alone.stderr) == (code, out, errors.partition(MARK)[0])


def test_reads_alone_import_no_web_queue_or_agent(config: Config, story: Engine) -> None:
    code, _, errors = result(config, program=("-c", SHOWS_ALL))
    assert code == 0, errors
    imported = set(errors.partition(MARK)[2].split())
    assert "bot.web.api.in_process" in imported
    assert not UNREAD & imported


def test_a_command_that_cannot_write_ends_alone(config: Config, group: Warm) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    with typed(config, "runs", stdout=full) as process:
        _, errors = process.communicate(timeout=60)
    os.close(full)
    assert (process.returncode, "the disk is full" in errors, "Traceback" in errors) == (120, True, False)
    until(lambda: not psutil.Process(group.pid).children(), "it has ended")
    assert (config.home / "run" / _socket.NAME).exists()


def test_a_closed_file_is_not_taken_for_the_connection(config: Config, group: Warm) -> None:
    args = ("runs", "--bogus")
    closed = f"import os; os.close(1); {SHOWS.replace(MARK, '')}"
    with_group = result(config, *args, program=("-c", closed))
    assert "sqlalchemy" in with_group[2]  # it was not carried out elsewhere
    assert with_group[0] == 2


def test_variables_that_are_too_many_to_send_cost_nobody_the_command(config: Config, group: Warm) -> None:
    many = {f"V{number}": "é" * 60_000 for number in range(_socket.MAX_BYTES // 360_000 + 1)}
    with typed(config, "runs", "--json", more=many) as process:
        out, errors = process.communicate(timeout=60)
    assert (process.returncode, errors, len(json.loads(out)["runs"])) == (0, "", 1)


def test_a_socket_that_nobody_answers_holds_nobody_up(config: Config, group: Warm) -> None:
    os.kill(group.pid, signal.SIGSTOP)
    code, out, _ = result(config, "runs", "--json")
    assert (code, [run["run"] for run in json.loads(out)["runs"]]) == (0, ["r1"])
    os.kill(group.pid, signal.SIGCONT)


def test_another_version_and_a_command_that_acts_are_not_carried_out(
    config: Config, group: Warm, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _socket.hand_over(config.home, ["backup"]) is None
    monkeypatch.setattr(_socket, "running_code", lambda: "another")
    assert _socket.hand_over(config.home, ["runs"]) is None
    assert not (config.home / "backups").exists()


def test_no_command_that_reads_can_write_to_the_ledger() -> None:
    files = {name: Path(str(vars(part)["__file__"])) for name, part in COMMANDS.all() if part.READS}
    assert {"runs", "watch"} <= {*files}
    assert [name for name, file in files.items() if "writing(" in file.read_text()] == []


def test_a_command_ends_with_the_one_who_typed_it(config: Config, group: Warm) -> None:
    def visits() -> list[psutil.Process]:
        return psutil.Process(group.pid).children()

    for kind, code in ((signal.SIGINT, 0), (signal.SIGKILL, -signal.SIGKILL)):
        with typed(config, "watch", "--from", "0") as follows:
            assert follows.stdout is not None
            assert follows.stdout.readline()
            assert len(visits()) == 1
            follows.send_signal(kind)
            assert follows.wait(60) == code
        until(lambda: not visits(), "nothing of it is left")


def test_a_command_whose_cardinal_is_gone_says_so(config: Config, group: Warm) -> None:
    with typed(config, "watch", "--from", "0") as follows:
        assert follows.stdout is not None
        assert follows.stdout.readline()
        group.kill()
        _, errors = follows.communicate(timeout=60)
        assert (follows.returncode, "type it again" in errors) == (2, True)


def test_silent_connections_are_few_and_hold_no_other_up(config: Config, group: Warm) -> None:
    silent = [socket.socket(socket.AF_UNIX) for _ in range(MAX_VISITS + 3)]
    for each in silent:
        with _socket.short_address(config.home / "run") as place:
            each.connect(place)
    until(lambda: len(psutil.Process(group.pid).children()) == MAX_VISITS, "as many as may be")
    code, out, _ = result(config, "runs", "--json")
    assert (code, len(json.loads(out)["runs"])) == (0, 1)
    for each in silent:
        each.close()
    until(lambda: not psutil.Process(group.pid).children(), "all have left")
