"""How tests are handed out and what a skip is: alone here, so that tests of it import no Cardinal."""

import os
import re
import time
import zlib
from collections.abc import Generator
from functools import cache
from pathlib import Path

import pytest
from xdist.remote import Producer  # type: ignore[import-untyped]  # xdist publishes no types
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

SHARED = re.compile(r'scope="module"|\.after\(scene=[a-z]')  # a scene of Cardinal's own is in many files
# Suites, from scripts/test: those whose files, and those that as a whole, go to one process.
WHOLE_FILES = set(os.environ.get("CARDINAL_TEST_WHOLE_FILES", "").split())
WHOLE_SUITES = set(os.environ.get("CARDINAL_TEST_WHOLE_SUITES", "").split())
# For `scripts/test --changed`: files in the order in which they are played, and for how long tests begin.
NEAREST = {path: place for place, path in enumerate(os.environ.get("CARDINAL_TEST_NEAREST", "").split())}
BEGIN_WITHIN_S = float(os.environ.get("CARDINAL_TEST_BEGIN_WITHIN_S", "inf"))
_began = list[float]()


class WholeFiles(LoadScopeScheduling):  # type: ignore[misc]  # see above
    """One pool for all suites: hands out tests one by one, but together those that share what they start."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(self.config.rootpath, nodeid)


def group_of(root: Path, nodeid: str) -> str:
    """Return the key of what goes to one process together: a suite, a file, or the test alone."""
    path = nodeid.split("::")[0]
    suite = path.removeprefix("tests/").split("/")[0]
    if suite in WHOLE_SUITES:
        return suite
    return path if suite in WHOLE_FILES or _has_shared(root / path) else nodeid


@cache
def _has_shared(file: Path) -> bool:
    """Tell whether the file's tests share a fixture or scene of its own: each process would make it anew."""
    return SHARED.search(file.read_text(encoding="utf-8")) is not None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mix the groups, always alike: in the order of folders all processes would wait at once, and then all
    want the processor at once. What lasts begins early; within a group the order stays. What is nearest to
    a change comes first.
    """

    def place(item: pytest.Item) -> tuple[int, bool, int]:
        group = group_of(config.rootpath, item.nodeid)
        suite = item.nodeid.split("/")[1]
        mixed = zlib.crc32(group.encode())
        near = NEAREST.get(item.nodeid.split("::")[0], len(NEAREST))
        return near, suite not in WHOLE_SUITES | WHOLE_FILES, mixed if group == item.nodeid else mixed // 2

    if hasattr(config, "workerinput"):
        items.sort(key=place)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> WholeFiles:
    """Take this scheduler whatever `--dist` says, and leave the groups in their order."""
    config.option.loadscopereorder = False
    return WholeFiles(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Leave out what would begin too late for `scripts/test --changed`; CI plays it."""
    now = time.monotonic()
    if not _began:
        _began.append(now)
    if now - _began[0] > BEGIN_WITHIN_S:
        pytest.skip("left to CI: the answer to a change comes within a minute")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Refuse a test whose fixture is not there: one for the soak would fail at night only."""
    assert isinstance(item, pytest.Function)
    wanted = item._fixtureinfo  # there is no public way to ask
    lacking = {*wanted.names_closure} - {*wanted.name2fixturedefs, "request"}
    if lacking:
        raise pytest.UsageError(f"{item.nodeid}: no fixture {', '.join(sorted(lacking))}")


def fail_if_skipped_in_ci(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn a skip or an expected failure into a failure in CI, where everything a test needs is installed."""
    if report.skipped and os.environ.get("CI"):
        report.outcome = "failed"
        vars(report).pop("wasxfail", None)  # with it, pytest would not count the failure
        report.longrepr = f"skipped in CI: {report.longrepr}"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """See `fail_if_skipped_in_ci`."""
    report = yield
    fail_if_skipped_in_ci(report)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """See `fail_if_skipped_in_ci`; this one is for modules that skip themselves while they are collected."""
    report = yield
    fail_if_skipped_in_ci(report)
    return report
