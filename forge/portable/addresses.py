"""Ports of a board and of its Cardinal: the last ones again if they are free; links follow to new ones."""

import json
import socket
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from forge.demo import launch

KEPT = 20  # starts whose ports are known


@dataclass(slots=True)
class Addresses:
    """The ports of this start, `board` and `cardinal`, chosen from those of the starts before."""

    file: Path
    first: int  # the board's port at its first start; Cardinal's is the next
    last: tuple[str, str]  # the addresses that the board's state names
    board: int = 0
    cardinal: int = 0
    _before: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        known = json.loads(self.file.read_text()) if self.file.exists() else []
        last = [urlsplit(url).port for url in self.last]  # none at a first start
        self._before = [
            (int(board), int(cardinal)) for board, cardinal in (*known, last) if board and cardinal
        ]
        board, cardinal = self._before[-1] if self._before else (self.first, self.first and self.first + 1)
        self.board = _free(board)
        self.cardinal = _free(cardinal)

    def keep(self) -> None:
        """Write the ports down, once they are this board's."""
        kept = [pair for pair in self._before if pair != (self.board, self.cardinal)][1 - KEPT :]
        fresh = self.file.with_suffix(".new")
        fresh.write_text(json.dumps([*kept, (self.board, self.cardinal)]))
        fresh.replace(self.file)

    def former(self) -> dict[str, str]:
        """Return the ports that links may name, and those that they lead to now."""
        moved: dict[str, str] = {}
        for board, cardinal in self._before:
            moved |= {str(board): str(self.board), str(cardinal): str(self.cardinal)}
        return {port: now for port, now in moved.items() if port != now}


def _free(port: int) -> int:
    """Return that port if nobody listens there, else another."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return launch.free_port()
        return port or launch.free_port()
