"""A host keeps its name for as long as its home is there, and no two homes have the same."""

from pathlib import Path

from bot.system import config as configuration
from bot.system.host_name import host_name


def config(home: Path, **settings: str) -> configuration.Config:
    home.mkdir(mode=0o700, exist_ok=True)
    return configuration.read({"CARDINAL_HOME": str(home), **settings}, home)


def test_the_name_stays_with_the_home_and_is_no_other_homes(tmp_path: Path) -> None:
    one, other = config(tmp_path / "a"), config(tmp_path / "b")
    assert host_name(one) == host_name(one) != host_name(other)
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["host"]


def test_the_operators_name_is_taken_and_nothing_is_kept(tmp_path: Path) -> None:
    assert host_name(config(tmp_path / "a", CARDINAL_HOST_NAME="worker-7.eu")) == "worker-7.eu"
    assert not (tmp_path / "a" / "host").exists()
