"""`cardinal log` prints a run at three depths, follows it, and lets nothing steer a terminal."""

import json
import threading

from click.testing import Result
from sqlalchemy import Engine

from ledger.events import run as of_run
from ledger.ids import RunId
from ledger.log import event_store
from ledger.states import Ending
from tests.bot.cli.conftest import AT, Cardinal, queued


def test_log_prints_a_run_from_its_beginning_and_nothing_can_steer_a_terminal(
    cardinal: Cardinal, story: Engine
) -> None:
    with event_store.writing(story) as db:
        event_store.append(db, of_run.AgentSaid(RunId("r1"), "One\n\x1b[2JTwo \u202edesrever"), at=AT)
    output = cardinal("log", "r1", "--zoom", "debug").stdout
    assert "ruff check ." in output
    assert "  bad" in output
    assert "  [2JTwo desrever" in output
    assert "\x1b" not in output
    lines = [json.loads(line) for line in cardinal("log", "r1", "--json").stdout.splitlines()]
    assert [line["seq"] for line in lines] == sorted(line["seq"] for line in lines)
    assert lines[-1]["output"].endswith("desrever")
    assert cardinal("log", "r999").exit_code == 2


def test_log_has_the_three_depths_of_the_cards_page_and_folds_at_the_middle_one(
    cardinal: Cardinal, story: Engine
) -> None:
    run = RunId("r1")
    steps = (of_run.ToolUsed(run, "Bash", f"make {number}", True) for number in range(600))
    run_events = (*steps, of_run.AgentSaid(run, "Words"), of_run.ToolUsed(run, "Read", "a.py", True))
    with event_store.writing(story) as db:
        event_store.append(db, *run_events, at=AT)
    short, middle, deep = (
        [row.split("  ", 1)[1] for row in cardinal("log", run, *zoom).stdout.splitlines() if "UTC" in row]
        for zoom in (("--zoom", "conversation"), (), ("--zoom", "debug"))
    )
    assert short[1:] == ["plan 1: Two steps", "run r1 failed: agent error: it crashed"]
    assert middle[-2:] == [short[-1], "ran 600 commands · read 1 file"]
    assert "fast: ruff check . → exit code 1" in middle
    assert deep[-3:] == ["Bash: make 599", "Words", "Read: a.py"]
    assert len(deep) == len(middle) + 601
    shown = printed_lines(cardinal("log", run, "--json", "--zoom", "activity"))
    assert {line["zoom"] for line in shown} == {"conversation", "activity"}


def printed_lines(result: Result) -> list[dict[str, str]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_log_that_is_followed_ends_with_its_run(cardinal: Cardinal, story: Engine) -> None:
    run = RunId("r2")
    with event_store.writing(story) as db:
        event_store.append(db, queued(run, 2), of_run.RunClaimed(run, 1, "w1"), at=AT)
    assert "r2" in cardinal("log", run).stdout
    results: list[Result] = []
    following = threading.Thread(target=lambda: results.append(cardinal("log", "-f", run)))
    following.start()
    following.join(1)
    assert following.is_alive()
    with event_store.writing(story) as db:
        event_store.append(db, of_run.RunEnded(run, Ending.FAILED, "stopped", "enough", "claimed"), at=AT)
    following.join(60)
    assert not following.is_alive()
    assert "enough" in results[0].stdout.splitlines()[-1]
