"""A run's lines for whoever follows it: each once and in order, and never more than a page can show."""

from threading import Thread

import pytest
from sqlalchemy import Engine

from ledger.events.run import AgentSaid, CommandChecked, RunSteered, ToolUsed, UsageMetered
from ledger.ids import RunId
from ledger.log import event_store
from ledger.queries import run_lines
from ledger.queries.run_lines import RunLine
from tests.ledger.samples import NOW, board_seen, card_seen, run_queued

RUNS = (RunId("r1"), RunId("r2"))


@pytest.fixture
def begun(ledger: Engine) -> Engine:
    """Return a ledger with two runs."""
    with event_store.writing(ledger) as db:
        event_store.append(db, board_seen(), card_seen("c1", 1), card_seen("c2", 2), at=NOW)
        event_store.append(db, run_queued("r1", "c1"), run_queued("r2", "c2"), at=NOW)
    return ledger


def say(engine: Engine, run_id: RunId, *texts: str) -> None:
    with event_store.writing(engine) as db:
        event_store.append(db, *(AgentSaid(run_id, text) for text in texts), at=NOW)


def say_one_by_one(engine: Engine, run_id: RunId, count: int) -> None:
    for n in range(count):
        say(engine, run_id, f"{run_id} {n}")


def followed(engine: Engine, run_id: RunId, after: int, limit: int) -> tuple[list[RunLine], int]:
    """Return all lines after an event, asked for piece by piece, and the last event."""
    lines = list[RunLine]()
    while True:
        with event_store.reading(engine) as db:
            fresh = run_lines.later_lines(db, run_id, after, limit)
        lines += fresh.lines
        after = fresh.last
        if not fresh.more:
            return lines, after


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_each_line_comes_once_and_in_order_however_many_are_asked_for(begun: Engine, limit: int) -> None:
    for number in range(5):
        say(begun, RUNS[0], f"a{number}")
        say(begun, RUNS[1], f"b{number}")
    with event_store.writing(begun) as db:  # a line of nobody, the last event of the run
        event_store.append(db, UsageMetered(RUNS[0], 0.1, 1, 1, 1, 1.0), at=NOW)
    lines, last = followed(begun, RUNS[0], 0, limit)
    assert [line.text for line in lines[1:]] == [f"a{number}" for number in range(5)]
    assert followed(begun, RUNS[0], last, limit) == ([], last)
    say(begun, RUNS[0], "new")
    assert [line.text for line in followed(begun, RUNS[0], last, limit)[0]] == ["new"]
    between = lines[2].seq + 1  # an event of the other run
    assert [line.text for line in followed(begun, RUNS[0], between, limit)[0]] == ["a2", "a3", "a4", "new"]


def test_who_is_far_behind_gets_the_newest_and_the_count_of_the_rest(begun: Engine) -> None:
    say(begun, RUNS[0], *(str(number) for number in range(10)))
    with event_store.reading(begun) as db:
        first = run_lines.later_lines(db, RUNS[0], 0, 3, behind=4)
        lines = run_lines.later_lines(db, RUNS[0], first.last, 3, behind=4)
    assert (first.omitted, [line.text for line in first.lines], first.more) == (7, ["6", "7", "8"], True)
    assert (lines.omitted, [line.text for line in lines.lines], lines.more) == (0, ["9"], False)


def test_what_a_program_wrote_keeps_its_lines_and_colours(begun: Engine) -> None:
    checked = CommandChecked(RUNS[0], 1, "fast", "ruff", 1, 0.1, "", "\x1b[31mred\x1b[0m\nend")
    with event_store.writing(begun) as db:
        used = ToolUsed(RUNS[0], "Bash", "ls", False)
        event_store.append(
            db, checked, used, AgentSaid(RUNS[0], "two\nlines"), AgentSaid(RUNS[0], "one"), at=NOW
        )
        event_store.append(db, CommandChecked(RUNS[0], 1, "fast", "x", 0, 0.1, "", "y" * 5000), at=NOW)
    lines, _ = followed(begun, RUNS[0], 0, 100)
    assert [(line.text, line.output) for line in lines[1:5]] == [
        ("fast: ruff → exit code 1", "\x1b[31mred\x1b[0m\nend"),
        ("Bash: ls (failed)", ""),
        ("two lines", "two\nlines"),
        ("one", ""),
    ]
    assert len(lines[5].output) == run_lines.MAX_OUTPUT


def test_words_of_people_keep_their_lines(begun: Engine) -> None:
    with event_store.writing(begun) as db:
        event_store.append(db, RunSteered(RUNS[0], "ann", "one\ntwo", 1), at=NOW)
        event_store.append(db, RunSteered(RUNS[0], "ann", "one", 2), at=NOW)
    lines, _ = followed(begun, RUNS[0], 0, 100)
    assert [line.output for line in lines[-2:]] == ["one\ntwo", ""]


def test_each_event_says_once_which_stream_goes_on(begun: Engine) -> None:
    with event_store.reading(begun) as db:
        before = event_store.last_seq(db)
    for run_id in (RUNS[0], RUNS[1], RUNS[0]):
        say(begun, run_id, "x")
    first, second = map(run_lines.stream_of, RUNS)
    with event_store.reading(begun) as db:
        assert event_store.streams_after(db, before, limit=1) == (before + 1, frozenset((first,)))
        assert event_store.streams_after(db, before + 1, limit=5) == (before + 3, frozenset((first, second)))
        assert event_store.streams_after(db, before + 3, limit=5) == (before + 3, frozenset())


def test_a_follower_beside_several_writers_misses_nothing_and_gets_nothing_twice(begun: Engine) -> None:
    count = 30
    writers = [Thread(target=say_one_by_one, args=(begun, run_id, count)) for run_id in RUNS]
    for writer in writers:
        writer.start()
    texts, place = {run_id: list[str]() for run_id in RUNS}, dict.fromkeys(RUNS, 0)
    after, streams = 0, frozenset(map(run_lines.stream_of, RUNS))
    while any(len(said) <= count for said in texts.values()):
        with event_store.reading(begun) as db:
            after, changed = event_store.streams_after(db, after, limit=1)
        for run_id in RUNS:
            if run_lines.stream_of(run_id) in changed & streams:
                lines, place[run_id] = followed(begun, run_id, place[run_id], 3)
                texts[run_id] += [line.text for line in lines]
    for writer in writers:
        writer.join(60)
    for run_id, said in texts.items():
        assert said[1:] == [f"{run_id} {n}" for n in range(count)]
