"""`cardinal stats` prints money and flow, for people and for programs."""

import json

from bot.cli._show import answer_lines
from bot.system.clock import utc_now
from bot.system.config import Config
from ledger.events.board import BoardSeen
from ledger.events.run import RunEnded, UsageMetered
from ledger.ids import RunId
from ledger.log import event_store
from ledger.states import Ending
from tests.bot.cli.conftest import BOARD, Cardinal, card, queued
from tests.ledgers import new_ledger


def test_figures_are_printed_for_people_and_for_programs(cardinal: Cardinal, config: Config) -> None:
    with event_store.writing(new_ledger(config.database_url)) as db:
        used = UsageMetered(RunId("r1"), 1.25, 10, 10, 1, 60.0)
        ended = RunEnded(RunId("r1"), Ending.FAILED, "validation", "", "")
        board = BoardSeen(BOARD, "acme", 1, "Shop board", "F_1", (), ())
        event_store.append(db, board, card(1, "Sum"), queued("r1", 1), used, ended, at=utc_now())
        event_store.append(db, queued("r2", 1), at=utc_now())
    text = cardinal("stats").stdout
    assert "runs: 2\n" in text
    assert "cost: $1.25\n" in text
    assert "endings: not ended 1, failed 1\n" in text
    assert "needed a person: 0\n" in text
    assert "usd by repository: acme/shop $1.25\n" in text
    assert "$1.25 of $50.00 today" in text
    figures = json.loads(cardinal("stats", "--days", "7", "--json").stdout)
    assert (figures["runs"], figures["reasons"]) == (2, {"validation": 1})
    assert figures["usd_by"]["repository"] == {"acme/shop": 1.25}
    assert figures["limits"][0].startswith("$1.25 of $50.00 today")
    assert cardinal("stats", "--days", "0").exit_code == 2


def test_hours_are_told_as_every_other_length_of_time() -> None:
    told = list(answer_lines({"merged": 2, "hours_per_merge": 0.00418901, "people_s": 90.0}))
    assert told == ["merged: 2", "worked for each merge: 15 s", "waited for people: 90 s"]


def test_the_cost_alone_is_as_the_agent_reports_not_its_limit() -> None:
    facts = {"usd": 0.43, "cost_is_reported": True, "budget_usd": 2.0}
    assert {"cost: $0.43 as the agent reports", "budget usd: $2.00"} <= set(answer_lines(facts))
