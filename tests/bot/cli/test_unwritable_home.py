"""A home in which nothing can be kept ends every command with one line that says what to do."""

import errno
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.cli import main
from bot.daemon.up import UnwritableHomeError

GIVEN = {
    "CARDINAL_APP_ID": "1",
    "CARDINAL_PRIVATE_KEY": "-----BEGIN x",
    "CARDINAL_WEBHOOK_SECRET": "s",
    "CARDINAL_BOARD": "acme/1",
}


@pytest.mark.parametrize("words", [("up",), ("serve",), ("work",), ("capture", "--for", "1")])
@pytest.mark.parametrize("where", ["/proc/cardinal", "/sys/cardinal"])
def test_it_is_one_line_and_no_traceback(tmp_path: Path, words: tuple[str, ...], where: str) -> None:
    home = str(tmp_path / where)  # root may write everywhere but there
    result = CliRunner().invoke(main, words, env={**GIVEN, "CARDINAL_HOME": home})
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert home in line
    assert "write" in line
    assert words[0] == "capture" or "CARDINAL_HOME" in line


def test_the_doctor_finds_it_and_looks_at_all_else() -> None:
    words = {**GIVEN, "CARDINAL_HOME": "/proc/cardinal", "CARDINAL_GITHUB_URL": "http://127.0.0.1:9"}
    said = CliRunner().invoke(main, ("doctor", "--json"), env=words).stdout
    found = {one["name"]: one for one in json.loads(said)}
    assert "/proc/cardinal" in found["app"]["found"]
    assert found["app"]["next_step"] == "give this user write access"
    assert "settings" in found


def test_a_full_disk_and_a_home_that_is_read_only_have_steps_of_their_own() -> None:
    home = Path("/srv/home")
    full = UnwritableHomeError(home, OSError(errno.ENOSPC, "No space left on device"))
    assert "free some space" in str(full)
    read_only = str(UnwritableHomeError(home, OSError(errno.EROFS, "Read-only file system")))
    assert "Read-only file system" in read_only
    assert "CARDINAL_HOME" in read_only
