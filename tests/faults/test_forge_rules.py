"""The forge becomes no kinder than GitHub unnoticed: without a rule of it, a test fails."""

import subprocess
import sys

import pytest

from tests.faults import forge_rules, record
from tests.faults.test_sites import list_tests
from tests.house.source import ROOT

LIMIT_S = 3600


def test_the_record_has_each_rule_of_the_forge_and_the_test_that_tells_of_it() -> None:
    told: dict[str, str] = record.read()["forge"]
    assert {*told} == {*forge_rules.every()}, "run scripts/faults --forge tests/forge"
    assert [rule for rule, test in told.items() if not test] == []
    named = {test.partition("[")[0] for test in told.values()}
    there = {test for path in {it.partition("::")[0] for it in named} for test in list_tests(path)}
    assert named - there == set()


@pytest.mark.timeout(LIMIT_S)
@pytest.mark.soak(
    instead="tests/faults/test_forge_rules.py::test_the_record_has_each_rule_of_the_forge_and_the_test_that_tells_of_it"
)
def test_a_test_fails_once_a_rule_of_the_forge_is_taken_out() -> None:
    command = [sys.executable, "-m", "tests.faults.forge_rules"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stdout
