"""How far a drag walks through the code until its comment stands: modules, and transactions that write."""

import sys
from pathlib import Path
from types import CodeType, FrameType

from bot.scheduler import jobs
from ledger.db.transactions import writing
from ledger.queue import inbox
from rules.card.state import derive
from rules.decide import decide
from tests.bot.flows.cardinal import Cardinal

ROOT = Path(__file__).parents[3]
PACKAGES = tuple(f"{ROOT}/{name}/" for name in ("bot", "rules", "runner", "ledger"))
# Of a drag that writes a comment, a face and the ticker. They may fall; the goal is 90 modules.
MAX_MODULES, MAX_WRITES = 158, 11


def test_a_drag_becomes_a_comment_by_few_modules_and_transactions(cardinal: Cardinal) -> None:
    first, second, item = (cardinal.new(f"Card {number}") for number in (1, 2, 3))
    for before in (first, second):  # so that what is read once for a process or a board is read
        cardinal.drag(before, "In Progress")
        cardinal.catch_up()
    cardinal.drag(item, "In Progress")
    called: list[CodeType] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGES):
            called.append(frame.f_code)

    sys.setprofile(note)
    try:
        while cardinal.mail:
            cardinal.receive(cardinal.mail.popleft())
        due = inbox.due_deliveries(cardinal.services.engine, limit=100)
        card_ids, _ = jobs.ingest_together(cardinal.process, due)
        jobs.sync_together(cardinal.process, card_ids or ())
        cardinal.publish()
        cardinal.wait_for_the_next_act()  # a face waits for more changes
        cardinal.publish()
    finally:
        sys.setprofile(None)
    assert cardinal.comment(item, "r3")
    modules = sorted({code.co_filename.removeprefix(f"{ROOT}/") for code in called})
    assert len(modules) <= MAX_MODULES, "\n".join(modules)
    assert called.count(writing.__code__) <= MAX_WRITES
    assert called.count(derive.__code__) <= called.count(decide.__code__)  # a state is explained once
