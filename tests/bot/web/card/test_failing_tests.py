"""The names of failing tests in outputs of usual runners."""

import pytest

from bot.web.card.failing_tests import MAX_NAME, MAX_NAMES, list_failing_tests


@pytest.mark.parametrize(
    ("output", "name"),
    [
        ("FAILED tests/test_a.py::test_b[1] - assert 1 == 2\n1 failed", "tests/test_a.py::test_b[1]"),
        (
            "=====\nFAIL: test_race (tests.test_stock.Stock.test_race)\n---",
            "test_race (tests.test_stock.Stock.test_race)",
        ),
        ("=== RUN TestSum\n    --- FAIL: TestSum/zero (0.00s)\n", "TestSum/zero"),
        ("test sums::zero ... FAILED\n", "sums::zero"),
        ("  ● cart › ships free\n", "cart › ships free"),
        ("ok 1 - adds\nnot ok 2 - subtracts\n", "subtracts"),
    ],
)
def test_a_failing_test_is_named_as_its_runner_names_it(output: str, name: str) -> None:
    assert list_failing_tests(output) == (name,)


def test_few_and_short_names_are_told_once_each_and_none_of_another_output() -> None:
    many = "".join(f"FAILED a::{number}{'x' * 500}\n" for number in range(50)) * 2
    names = list_failing_tests(many)
    assert len(names) == MAX_NAMES
    assert max(map(len, names)) <= MAX_NAME
    assert list_failing_tests("error: everything FAILED: see above") == ()
