"""How a turn ends whose program says by its protocol that it is done."""

import json
import socket
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ledger.events.run import RunSteered
from runner.agents.contract import Phase, Task
from runner.exec.child import Child
from runner.gateway.control import messages
from runner.session import turn
from runner.session.context import RunContext
from runner.session.records import Transcript
from runner.session.turn import Turn, TurnResult
from tests.runner.agents import fake_acp
from tests.runner.agents.acp_partner import LAYOUT, agent
from tests.runner.world import RUN, World


class Line:
    """The gateway's end that says whether the program reached the board."""

    def __init__(self, *, listed: bool) -> None:
        self._ours, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if listed:
            self._theirs.send(json.dumps(messages.encode_event(messages.BoardListed())).encode())

    decode = staticmethod(messages.read)

    def fileno(self) -> int:
        return self._ours.fileno()

    def close(self) -> None:
        self._ours.close()
        self._theirs.close()

    def shut(self) -> None:
        self._theirs.send(json.dumps(messages.encode_event(messages.Drained())).encode())


def play(world: World, phase: Phase = Phase.WORK, *words: str, listed: bool = True) -> TurnResult:
    """Play one turn of the small program."""
    spec, log = world.claim(world.spec())
    line, fake, nothing = Line(listed=listed), agent(), cast(Any, None)
    place = cast(Any, SimpleNamespace(usage=lambda _files: SimpleNamespace(files=0, disk_bytes=0)))
    run = RunContext(spec, log, world.clock, fake, place, nothing, nothing, cast(Any, line))
    task = Task(phase, "work", "do it", spec.run_id, "", "test", False, 5, 1.0, Path("/"))
    dialogue = fake.begin(task, LAYOUT)
    child = Child(
        (sys.executable, fake_acp.__file__, *words),
        env={}, cwd=world.root, cap_bytes=1_000_000, side_channel=line.fileno(),
    )  # fmt: skip
    transcript = Transcript(spec.paths.logs, spec.run_id)
    try:
        child.write(dialogue.command.opening)
        return Turn(run, task, dialogue, child, transcript).play()
    finally:
        child.close()
        transcript.close()
        line.close()


def test_it_is_done_when_it_reached_the_board(world: World) -> None:
    assert play(world).outcome == "done"


def test_a_program_that_never_reached_the_board_has_failed(world: World) -> None:
    result = play(world, listed=False)
    assert result.outcome == "broken"
    assert "board" in result.problem


def test_a_program_that_is_done_and_does_not_leave_is_done(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn, "LEAVE_S", 0.3)
    result = play(world, Phase.WORK, "stay")
    assert (result.outcome, result.killed) == ("done", False)


def test_a_message_to_a_program_that_takes_none_while_it_answers_is_said_to_wait(world: World) -> None:
    world.write(RunSteered(RUN, "ann", "In blue, please.", 77))
    assert play(world).outcome == "done"
    assert "a message is waiting" in world.only("Progressed").text
