"""The summaries of runners are read as their programs print them."""

import pytest

from runner.checks.summary import Summary, find_runners, read_summary

TEST_UNIT = (
    "8 tests, 16 assertions, 2 failures, 0 errors, 1 pendings, 0 omissions, 0 notifications\n75% passed\n"
)
PROVE = """\
t/basic.t (Wstat: 256 (exited 1) Tests: 25 Failed: 1)
  Failed test:  10
Files=11, Tests=104,  2 wallclock secs ( 0.03 usr  0.03 sys +  0.40 cusr  0.13 csys =  0.59 CPU)
Result: FAIL
"""


@pytest.mark.parametrize(
    ("command", "output", "summary"),
    [
        ("bundle exec rake test", TEST_UNIT, Summary("minitest", 5, 2)),
        ("rails test", "5 runs, 9 assertions, 0 failures, 1 errors, 1 skips\n", Summary("minitest", 3, 1)),
        ("prove -lr t", PROVE, Summary("prove", 103, 1)),
        ("ctest -V", "95% tests passed, 1 tests failed out of 22\n", Summary("ctest", 21, 1)),
        ("perl Makefile.PL && make test", "Files=1, Tests=4,  0 wallclock secs", Summary("prove", 4, 0)),
    ],
)
def test_a_summary_counts_what_passed_and_failed(command: str, output: str, summary: Summary) -> None:
    assert read_summary(output, find_runners(command)) == summary
