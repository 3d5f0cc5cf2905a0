"""`cardinal notify` keeps who gets notices, and shows no address to anybody."""

import os
from pathlib import Path

from click.testing import CliRunner, Result

from bot.cli import main
from bot.outbox import subscribers
from bot.system.config import Config
from tests.warm import Warm, cardinal

ADDRESS = "json://127.0.0.1:9/hook?token=s3cret"


def notify(config: Config, *words: str, given: str = "") -> Result:
    return CliRunner().invoke(main, ("notify", *words), input=given, env={"CARDINAL_HOME": str(config.home)})


def test_a_subscriber_is_added_listed_without_the_address_and_removed(config: Config) -> None:
    quiet = ("--quiet", "22:00-07:00", "--time-zone", "Europe/Berlin")
    said = [notify(config, "add", "alice", "--kind", "question", *quiet, given=f"{ADDRESS}\n")]
    assert said[0].exit_code == 0, said[0].output
    assert subscribers.read(config.home)["alice"].address == ADDRESS
    assert (config.home / subscribers.FILE).stat().st_mode & 0o077 == 0
    said += [notify(config, "list"), notify(config, "list", "--json"), notify(config, "test", "alice")]
    assert "22:00-07:00 Europe/Berlin" in said[1].output
    assert "did not accept it" in said[3].output
    assert [each.exit_code for each in said] == [0, 0, 0, 2]
    assert not any("s3cret" in each.output for each in said)
    assert notify(config, "remove", "alice").exit_code == 0
    assert "no subscribers" in notify(config, "list").output


def add_in(terminal: str, file: Path) -> None:
    """Add alice in this terminal, by an address in the file."""
    os.setsid()
    os.open(terminal, os.O_RDWR)  # it is this process's now
    os.dup2(os.open(file, os.O_RDONLY), 0)
    cardinal("notify", "add", "alice")


def test_in_a_terminal_the_address_of_a_file_is_read_from_the_file(config: Config, tmp_path: Path) -> None:
    (tmp_path / "address.txt").write_text(f"{ADDRESS}\n")
    screen, terminal = os.openpty()
    env = os.environ | {"CARDINAL_HOME": str(config.home)}
    process = Warm(add_in, os.ttyname(terminal), tmp_path / "address.txt", env=env)
    assert "Warning" not in process.finish()
    os.close(screen)
    os.close(terminal)
    assert subscribers.read(config.home)["alice"].address == ADDRESS


def test_no_address_is_said(config: Config) -> None:
    refused = notify(config, "add", "alice")
    assert (refused.exit_code, "no address" in refused.output) == (2, True)


def test_a_wrong_setting_and_a_wrong_file_are_named(config: Config) -> None:
    refused = notify(config, "add", "alice", "--time-zone", "Mars", given=f"{ADDRESS}\n")
    assert refused.exit_code == 2
    assert "`Mars` is not a time zone" in refused.output
    config.home.mkdir(exist_ok=True)
    (config.home / subscribers.FILE).write_text('{"alice": {"address": "s3cret", "kindz": []}}')
    broken = notify(config, "list")
    assert broken.exit_code == 2
    assert "alice.kindz" in broken.output
    assert "s3cret" not in broken.output
    (config.home / subscribers.FILE).unlink()
    (config.home / subscribers.FILE).mkdir()
    for words in (("list",), ("remove", "alice")):
        refused = notify(config, *words)
        assert (refused.exit_code, "cannot be read: Is a directory. Correct it, or" in refused.output) == (
            2,
            True,
        )


def test_who_gets_escalated_questions_is_a_subscriber(config: Config) -> None:
    refused = notify(config, "add", "alice", "--escalate-to", "bbo", given=f"{ADDRESS}\n")
    assert refused.exit_code == 2
    assert "bbo is not a subscriber" in refused.output
    assert subscribers.read(config.home) == {}
    assert notify(config, "add", "bob", given=f"{ADDRESS}\n").exit_code == 0
    assert notify(config, "add", "alice", "--escalate-to", "bob", given=f"{ADDRESS}\n").exit_code == 0
