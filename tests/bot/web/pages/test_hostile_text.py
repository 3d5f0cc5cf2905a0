"""What others wrote acts on no page, turns nothing around, and makes none long."""

import re

from ledger.events.artifact import ArtifactKept
from ledger.events.board import BoardSeen, CardSeen, Column
from ledger.events.run import Progressed, QuestionAsked, RunClaimed, RunParked, RunQueued, ToolUsed
from ledger.ids import CardId, QuestionId, RunId
from ledger.log import event_store
from ledger.queue import hosts
from ledger.states import CardState, RunKind
from ledger.views import boards
from tests.bot.web.pages.world import Pages

TURNS = "\u202e\u2066\u200b\x1b[31m\x07"
HOSTILE = f"=1+1<img src=x onerror=alert(1)>{TURNS}{'x' * 10_000}"
CARD, RUN = CardId("hostile"), RunId("r77")
BOARD, PAGE = "/boards/acme/1", "/cards/acme/shop/77"
PLACES = (
    *(
        "/",
        BOARD,
        "/policy/acme/1",
        "/policy/acme/1/edit?part=new",
        "/money",
        "/health",
        "/hosts",
        "/folders",
    ),
    *(PAGE, f"{PAGE}?zoom=activity", f"{PAGE}?zoom=debug", f"/live/runs/{RUN}"),
    *(f"/runs/{RUN}{part}" for part in ("", "/forms", "/changes", "/briefing", "/artifacts")),
)


def test_no_page_shows_what_nobody_sees_or_grows_with_what_others_wrote(pages: Pages) -> None:
    cardinal = pages.cardinal
    settings = cardinal.run(pages.run()).settings
    place = "acme/shop", 77, HOSTILE, HOSTILE, "ann", "In Progress", CardState.QUEUED
    with event_store.reading(cardinal.services.engine) as db:
        board = boards.get(db, cardinal.board_id)
    assert board is not None
    columns = (*board.columns, Column("x1", HOSTILE, HOSTILE))
    told = [
        BoardSeen(board.board_id, board.owner, board.number, HOSTILE, board.status_field_id, columns, ()),
        CardSeen(CARD, cardinal.board_id, "I77", *place, labels=(HOSTILE,), by=HOSTILE),
        RunQueued(
            RUN, CARD, 1, RunKind.FIRST, HOSTILE, "acme/shop", HOSTILE, HOSTILE, HOSTILE, "", settings, True
        ),
        RunClaimed(RUN, 1, "w", HOSTILE),
        ToolUsed(RUN, HOSTILE, HOSTILE, True),
        ToolUsed(RUN, HOSTILE, HOSTILE, True),
        Progressed(RUN, HOSTILE),
        ArtifactKept(RUN, HOSTILE, HOSTILE, "e" * 64, 1),
        QuestionAsked(RUN, QuestionId(f"{RUN}-q1"), "agent", HOSTILE, (HOSTILE, HOSTILE)),
        RunParked(RUN, "question"),
    ]
    with event_store.writing(cardinal.services.engine) as db:
        event_store.append(db, *told, at=cardinal.clock())
        hosts.beat(db, HOSTILE, slots=1, labels=(HOSTILE,), version=HOSTILE)
    cardinal.clock.forward(3 * 86_400)
    alice = pages.browser("alice")
    for path in PLACES:
        answer = alice.get(path)
        assert answer.status_code == 200, path
        assert not [char for char in (*TURNS[:4], "\x07", "<img") if char in answer.text], path
        assert max(map(len, re.findall("x{9,}", answer.text)), default=0) <= 4_000, path
    assert ",=" not in alice.get("/money.csv").text
