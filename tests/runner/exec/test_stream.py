"""What a child writes is framed into lines within fixed bounds, whatever it is."""

import sys
import time
from pathlib import Path

import pytest

from runner.errors import CommandTimeoutError, SpawnError
from runner.exec.child import FLOODED, Child, StopGrace, finish
from runner.exec.stream import LINE_BYTES, Closed, Framer, Line

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


def child(program: str, cap_bytes: int = 100_000_000) -> Child:
    return Child((sys.executable, "-c", program), env=ENVIRONMENT, cwd=Path("/"), cap_bytes=cap_bytes)


def nothing() -> None:
    """The beat of a command that nobody watches."""


def test_lines_are_found_across_chunks() -> None:
    framer = Framer(error=False)
    assert list(framer.feed(b"a\nb")) == [Line("a", False, False)]
    assert list(framer.feed(b"c\r\n\n")) == [Line("bc", False, False), Line("", False, False)]
    assert list(framer.finish()) == []


def test_a_long_line_is_cut_and_the_next_one_is_whole() -> None:
    framer = Framer(error=True, cap_bytes=4)
    lines = [*framer.feed(b"123"), *framer.feed(b"456"), *framer.feed(b"789\nab\n")]
    assert lines == [Line("1234", True, True), Line("ab", True, False)]


def test_invalid_utf8_is_replaced() -> None:
    assert list(Framer(error=False).feed(b"\xff\xc3\x28\n")) == [Line("��(", False, False)]


def test_200_mb_without_a_newline_are_one_cut_line() -> None:
    ran = finish(
        child("import os\nfor _ in range(200): os.write(1, b'x' * 1000000)", 300_000_000),
        what="flood", timeout_s=60, beat=nothing, out_bytes=2 * LINE_BYTES,
    )  # fmt: skip
    assert (ran.exit_code, len(ran.out), ran.flooded) == (0, LINE_BYTES + 1, False)


def test_what_writes_more_than_it_may_is_killed() -> None:
    ran = finish(
        child("import os\nwhile True: os.write(1, (b'y' * 199 + b'\\n') * 10)", 1_000_000),
        what="yes", timeout_s=30, beat=nothing,
    )  # fmt: skip
    assert (ran.flooded, ran.exit_code) == (True, FLOODED)


def test_a_flood_at_the_very_end_of_a_program_that_ended_well_is_no_success() -> None:
    ran = finish(
        child("print('a\\n' * 600, flush=True)", 1_000),
        what="list", timeout_s=60, beat=nothing,
    )  # fmt: skip
    assert (ran.flooded, ran.exit_code) == (True, FLOODED)


def test_lines_that_there_was_no_room_for_are_told() -> None:
    told = [
        finish(child("print('abc\\n' * 3, end='')"), what="list", timeout_s=60, beat=nothing, out_bytes=room)
        for room in (13, 12, 11)
    ]
    assert [(ran.out.count("abc"), ran.cut) for ran in told] == [(3, False), (3, False), (2, True)]


def test_a_command_that_takes_too_long_is_killed() -> None:
    with pytest.raises(CommandTimeoutError, match="nap was stopped after 0 s"):
        finish(child("import time; time.sleep(60)"), what="nap", timeout_s=0.3, beat=nothing)


def test_a_last_line_without_an_end_is_output_and_no_silence() -> None:
    ended = child("print('half', end='')")
    try:
        ended.exit_code(20)
        assert ended.hear(5) == (Line("half", error=False, cut=False), Closed())
    finally:
        ended.close()


def test_a_closed_child_is_heard_no_more() -> None:
    closed = child("import time; time.sleep(60)")
    closed.close()
    assert closed.hear(0) == ()


def test_a_child_that_never_reads_does_not_block_its_writer() -> None:
    deaf = child("import time; time.sleep(60)")
    began = time.monotonic()
    try:
        while deaf.write(b"x" * 1_000_000):
            deaf.hear(0)
        assert time.monotonic() - began < 45
    finally:
        deaf.close()


def test_a_large_message_reaches_a_slow_reader_whole() -> None:
    slow = child("import sys; print(len(sys.stdin.buffer.readline()))")
    assert slow.write(b"x" * 3_000_000 + b"\n")
    ran = finish(slow, what="read", timeout_s=20, beat=nothing)
    assert ran.out == "3000001\n"


def test_a_program_that_is_not_there_did_not_start() -> None:
    with pytest.raises(SpawnError, match="/nowhere/agent did not start"):
        Child(("/nowhere/agent",), env={}, cwd=Path("/"), cap_bytes=1)


PATIENCE = {
    "interrupt": StopGrace(ask_s=20),
    "close": StopGrace(ask_s=0.2, close_s=20),
    "term": StopGrace(ask_s=0.2, close_s=0.2, term_s=20),
    "kill": StopGrace(ask_s=0.2, close_s=0.2, term_s=0.2),
    "gone": StopGrace(),
}


@pytest.mark.parametrize(
    ("program", "rung"),
    [
        ("import sys; sys.stdin.readline()", "interrupt"),
        ("import sys\nfor line in sys.stdin: pass", "close"),
        ("import time\ntime.sleep(60)", "term"),
        (
            "import signal, time\nsignal.signal(15, signal.SIG_IGN)\nprint(1, flush=True)\ntime.sleep(60)",
            "kill",
        ),
        ("", "gone"),
    ],
)
def test_stopping_climbs_only_as_far_as_it_must(program: str, rung: str) -> None:
    started = child(program)
    try:
        if rung == "kill":
            assert started.hear(5)
        if rung == "gone":
            started.exit_code()
        # what obeys has time enough for it; what does not is waited for in vain
        stopped = started.stop(b"stop\n", grace=PATIENCE[rung])
    finally:
        started.close()
    assert stopped.rung == rung
    assert stopped.took_s < 45


def test_in_a_hurry_nobody_is_asked() -> None:
    started = child("import time; time.sleep(60)")
    try:
        stopped = started.stop(b"stop\n", hurry=True)
    finally:
        started.close()
    assert stopped.rung == "kill"
