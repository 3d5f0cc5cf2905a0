"""A container gets Cardinal's own programs, and those of each agent's folder."""

from pathlib import Path

from runner.workspaces.backends.docker import programs


def test_an_agents_programs_lie_beside_cardinals_own(tmp_path: Path) -> None:
    player = programs(tmp_path, 1000, 1000) / "player"
    names = {path.name for path in player.iterdir()}
    assert {"opencode_bridge.py", "opencode_facts.py", "opencode_server.py"} <= names
    assert {"board.py", "enter.sh", "lock.py", "player.py", "gitconfig"} <= names
    assert "__init__.py" not in names
