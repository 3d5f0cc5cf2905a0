"""The witness of a command in words: people read which runner counted and whether a planted test failed."""

from dataclasses import replace

from ledger.events.witness import Canary, CheckWitnessed, witness_text
from ledger.ids import RunId

SAID = CheckWitnessed(
    RunId("r1"),
    1,
    "full",
    "pytest -q",
    "a" * 40,
    "b" * 40,
    "pytest",
    "test",
    214,
    214,
    Canary.FAILED,
    True,
    "",
    1.0,
)


def test_a_witness_says_who_counted_and_whether_the_planted_test_failed() -> None:
    assert witness_text(SAID) == "pytest: 214 tests passed; a test that must fail was added and did fail"
    fewer = replace(SAID, passed=1, canary=Canary.ABSENT, why="nowhere to put one")
    assert witness_text(fewer) == (
        "pytest: 1 test passed, 214 on the default branch; no test that must fail was added:"
        " nowhere to put one"
    )
    alone = replace(SAID, runner="", canary=Canary.ABSENT)
    assert witness_text(alone) == "believed by its exit code alone"
    doubted = replace(SAID, canary=Canary.UNHEARD, believed=False, why="it passed a test that must fail")
    assert witness_text(doubted) == "not believed: it passed a test that must fail"
