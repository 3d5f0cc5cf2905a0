"""Sentences name the program that serves the board of this home."""

from pathlib import Path

from bot.daemon.up import NoRedisError
from bot.state.standstill import way_out
from bot.system import program
from bot.system.lock_file import AlreadyUpError
from bot.system.program import TRIAL
from ledger.queries.standstill import StandstillKind


def sentences(home: Path) -> str:
    ways = (way_out(kind, home) for kind in StandstillKind)
    return "\n".join((*ways, program.of_workers(home), str(AlreadyUpError(home)), str(NoRedisError(home))))


def test_a_board_of_try_is_started_by_try(tmp_path: Path) -> None:
    assert sentences(tmp_path).count("`cardinal up` or `cardinal work`") == 2
    assert sentences(tmp_path).count("cardinal up") == 4
    (tmp_path / TRIAL).touch()
    assert sentences(tmp_path).count("cardinal try") == 4
    assert "cardinal up" not in sentences(tmp_path)
