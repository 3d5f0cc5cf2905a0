"""The first minute: nothing is decided by a policy that nobody wrote, and a drag is a drag."""

from pathlib import Path

import pytest

from bot.github.errors import UnavailableError
from forge.store.board import Item
from ledger.events.board import BoardSeen, CardSeen
from ledger.events.policy import PolicyLoaded
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.opening import opened
from tests.bot.flows.settings import POLICY


def receive_all(cardinal: Cardinal) -> None:
    while cardinal.mail:
        cardinal.receive(cardinal.mail.popleft())


def away(cardinal: Cardinal, path: str, count: int = 1) -> None:
    cardinal.forge.store.faults.load({"api": [{"path": path, "status": 503, "count": count}]})


def test_a_drag_waits_for_the_boards_own_file_and_starts_by_it(tmp_path: Path) -> None:
    dragged: list[Item] = []

    def first_minute(cardinal: Cardinal) -> None:
        dragged.append(cardinal.new(column="In Progress"))
        receive_all(cardinal)
        away(cardinal, "/commits/HEAD$", count=2)
        with pytest.raises(UnavailableError):
            cardinal.ingest()  # the board is seen, its file is not
        assert len(cardinal.events(BoardSeen)) == 1
        assert cardinal.events(CardSeen) == []
        cardinal.clock.forward(60)
        cardinal.catch_up(publish=False)
        assert [one.text for one in cardinal.events(PolicyLoaded)] == [POLICY]

    with opened(tmp_path, before=first_minute) as cardinal:
        run = cardinal.run_of(dragged[0])
        assert (run.agent, run.plan_required) == ("scripted", False)


def test_a_first_file_that_is_no_policy_starts_nothing_until_it_is_mended(tmp_path: Path) -> None:
    def spoil(cardinal: Cardinal) -> None:
        cardinal.set_policy("nonsense: true")

    with opened(tmp_path, before=spoil) as cardinal:
        item = cardinal.new(column="In Progress")
        cardinal.catch_up()
        assert cardinal.ready() == ()
        assert cardinal.events(CardSeen) == []
        headers = {option.description for option in cardinal.project.status.options}
        assert not any("agent" in one for one in headers)
        cardinal.set_policy(POLICY)
        cardinal.catch_up()
        assert cardinal.run_of(item).agent == "scripted"
        cardinal.assert_nothing_is_stuck()


def test_a_drag_that_a_delivery_told_is_one_however_late_the_board_is_seen(tmp_path: Path) -> None:
    dragged: list[Item] = []

    def first_minute(cardinal: Cardinal) -> None:
        stood = cardinal.new("Old", column="In Progress")
        cardinal.mail.clear()
        dragged.extend([stood, cardinal.new("New", column="In Progress")])
        receive_all(cardinal)
        cardinal.clock.forward(60)
        cardinal.catch_up(publish=False)

    with opened(tmp_path, before=first_minute) as cardinal:
        assert cardinal.run_of(dragged[1]).state == "queued"
        assert cardinal.card(dragged[0]).run_id is None
