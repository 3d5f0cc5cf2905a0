"""Criteria of a planned card: what shows them, and what an agent only claims."""

import time
from datetime import UTC, datetime

import pytest

from bot.render.run.criteria import MAX_CRITERIA, MAX_TESTS, Outcome, criteria_table, list_criteria
from ledger.events.run import CriterionTest
from ledger.ids import RunId
from ledger.views.checks import CheckRow
from ledger.views.reports import ReportRow

NOW, RUN = datetime(2026, 3, 1, tzinfo=UTC), RunId("r1")
BRIEF = "- [ ] It adds"


def report(*named: tuple[str, str]) -> ReportRow:
    return ReportRow(RUN, "Done.", (), (), (), NOW, tuple(CriterionTest(*it) for it in named))


def check(tail: str, exit_code: int = 0, *, believed: bool = True) -> CheckRow:
    return CheckRow(
        1, RUN, 1, "full", "check", exit_code, 1.0, "d" * 64, tail, "b", "a", "", NOW, believed=believed
    )


def outcome(test: str, *checks: CheckRow) -> Outcome:
    (criterion,) = list_criteria(BRIEF, (report(("It adds", test)),), checks)
    ((_name, found),) = criterion.tests
    return found


def test_the_criteria_are_the_task_list_of_the_brief_and_nothing_else() -> None:
    tasks = "- [ ] One\n* [x] Two\n  1. [ ] Three"
    brief = f"Goal\n\n{tasks}\n- Four\n```\n- [ ] Five\n```\n- [ ] One\n- [ ]\n[ ] Six"
    assert [it.text for it in list_criteria(brief, (), ())] == ["One", "Two", "Three"]
    assert criteria_table(list_criteria("Goal\n- One", (report(("One", "test_one")),), ())) == ""


@pytest.mark.parametrize(
    ("output", "test"),
    [
        ("tests/test_a.py::Sums::test_adds PASSED  [ 50%]", "Sums::test_adds"),
        ("PASSED tests/test_a.py::test_adds[1-2]", "tests/test_a.py::test_adds"),
        ("test_adds (tests.test_a.Sums.test_adds) ... ok", "tests/test_a.py::Sums::test_adds"),
        ("--- PASS: TestAdds (0.00s)", "TestAdds"),
        ("test sums::adds ... ok", "adds"),
        ("  ✓ adds the tax (3 ms)", ["Cart", "adds the tax"][1]),
        ("  ✓ adds the tax (3 ms)", "adds the tax"),
        ("ok 3 - adds the tax", "adds the tax"),
    ],
)
def test_a_test_passed_where_the_output_of_a_check_says_so(output: str, test: str) -> None:
    assert outcome(test, check(output)) is Outcome.PASSED
    assert outcome(f"{test}_too", check(output)) is Outcome.ABSENT
    assert outcome(test, check(output, believed=False)) is Outcome.UNKNOWN


def test_a_claim_alone_is_never_a_result() -> None:
    assert outcome("test_adds") is Outcome.UNKNOWN
    assert outcome("test_adds", check("12 passed in 0.1s")) is Outcome.UNKNOWN
    assert outcome("::", check("--- PASS: TestAdds")) is Outcome.ABSENT
    both = check("--- PASS: TestAdds\n--- FAIL: TestAdds", 1)
    assert outcome("TestAdds", both) is Outcome.FAILED
    table = criteria_table(list_criteria(BRIEF, (report(("It adds", "test_adds")),), ()))
    assert "✅" not in table


def test_the_newest_check_counts() -> None:
    failed, passed = check("--- FAIL: TestAdds", 1), check("--- PASS: TestAdds")
    assert outcome("TestAdds", failed, passed) is Outcome.PASSED
    assert outcome("TestAdds", passed, failed) is Outcome.FAILED


def test_an_agent_may_write_a_criterion_with_its_box_and_other_marks() -> None:
    (it,) = list_criteria(
        "- [ ] It `adds` **up**.",
        (
            report(
                ("- [x] it adds up", "t"),
            ),
        ),
        (),
    )
    assert [name for name, _ in it.tests] == ["t"]


def test_a_later_report_that_names_a_criterion_replaces_what_an_earlier_one_named() -> None:
    earlier, later = report(("One", "test_old"), ("Two", "test_two")), report(("One", "test_new"))
    one, two = list_criteria("- [ ] One\n- [ ] Two", (earlier, later), ())
    assert [name for name, _ in (*one.tests, *two.tests)] == ["test_new", "test_two"]


def test_the_table_is_bounded_and_read_fast_whatever_stands_in_it() -> None:
    brief = "\n".join(f"- [ ] {number} {'x|@alice <b>' * 900}" for number in range(MAX_CRITERIA + 9))
    named = [(f"{0} {'x|@alice <b>' * 900}", f"test|{number}`@alice") for number in range(MAX_TESTS + 9)]
    output = "\n".join(("a.py::" * 1_500, "\u2713 " + " " * 8_000 + "x", "(" * 8_000))
    begun = time.process_time()
    table = criteria_table(list_criteria(brief, (report(*named),), (check(output),)))
    assert time.process_time() - begun < 1
    assert table.count("\n| ") == MAX_CRITERIA + 2
    assert table.count("test¦") == MAX_TESTS
    assert len(table) < 30_000
