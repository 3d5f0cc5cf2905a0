"""What every suite shares: service addresses, a summary by suite, and no skipped test in CI."""

import gc
import os
from collections import defaultdict
from collections.abc import Generator, Iterator
from functools import cache
from itertools import cycle
from pathlib import Path
from uuid import uuid4

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from hypothesis import settings
from sqlalchemy import create_engine, make_url, text
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from bot.github.transport import Wire
from forge.server import Forge
from forge.store.apps import Apps, new_key
from ledger.lifecycle.open import open_ledger
from tests import near
from tests.published import coverage
from tests.published.court import Court

TESTS = Path(__file__).parent
# How long an example takes says nothing on a shared machine; a test that hangs ends by its own limit.
# Before a push the examples are the same every time: what is red is this change's. The soak draws new ones.
settings.register_profile("the same", deadline=None, derandomize=True)
settings.register_profile("new ones", deadline=None, max_examples=5000)
settings.load_profile("new ones" if os.environ.get("CARDINAL_TEST_NEW_EXAMPLES") else "the same")
COURT = Court()
Forge.judge = COURT
Wire.requester = staticmethod(near.requester)
# Suites, from scripts/test: those whose files, and those that as a whole, go to one process.
WHOLE_FILES = set(os.environ.get("CARDINAL_TEST_WHOLE_FILES", "").split())
WHOLE_SUITES = set(os.environ.get("CARDINAL_TEST_WHOLE_SUITES", "").split())
KEYS = 4  # more than one forge's Apps ever need at once: two of them never share a key


class WholeFiles(LoadScopeScheduling):
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
    """Tell whether the file's tests share a fixture, which each process would make anew."""
    return 'scope="module"' in file.read_text(encoding="utf-8")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> WholeFiles:
    """Take this scheduler whatever `--dist` says."""
    return WholeFiles(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while thousands of tests are collected, and later never look at what these are."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@cache
def _key(number: int) -> RSAPrivateKey:
    return new_key()


Apps.keys = map(_key, cycle(range(KEYS)))


@pytest.fixture(autouse=True)
def court() -> Iterator[Court]:
    """Fail a test whose forge or whose Cardinal spoke as GitHub does not; returns the judge."""
    yield COURT
    faults = COURT.take()
    assert not faults, "GitHub publishes it otherwise:\n" + "\n".join(faults)


@pytest.fixture(scope="session")
def postgresql_url() -> str:
    """Return the SQLAlchemy address of an empty PostgreSQL that scripts/services started."""
    address = os.environ.get("CARDINAL_TEST_POSTGRESQL")
    if address is None:
        pytest.skip("needs PostgreSQL: run scripts/test, or scripts/services pytest ...")
    return address


@pytest.fixture
def postgresql_schema(postgresql_url: str) -> Iterator[str]:
    """Return the address of a schema without any table in PostgreSQL."""
    server = make_url(postgresql_url)
    schema = f"test_{uuid4().hex}"
    admin = create_engine(server)
    with admin.begin() as db:
        db.execute(text(f"CREATE SCHEMA {schema}"))
    yield server.update_query_dict({"options": f"-csearch_path={schema}"}).render_as_string(False)
    with admin.begin() as db:
        db.execute(text(f"DROP SCHEMA {schema} CASCADE"))
    admin.dispose()


@pytest.fixture(scope="session")
def postgresql_template(postgresql_url: str) -> str:
    """Return the name of a database with an empty ledger, to be copied: migrations cost seven times more."""
    name = f"template_{uuid4().hex}"
    server = create_engine(postgresql_url, isolation_level="AUTOCOMMIT")
    with server.connect() as db:
        db.execute(text(f"CREATE DATABASE {name}"))
    server.dispose()
    open_ledger(make_url(postgresql_url).set(database=name).render_as_string(False)).dispose()
    return name


@pytest.fixture
def postgresql_ledger(postgresql_url: str, postgresql_template: str) -> Iterator[str]:
    """Return the address of a database in PostgreSQL with a ledger without events."""
    name = f"test_{uuid4().hex}"
    server = create_engine(postgresql_url, isolation_level="AUTOCOMMIT")
    with server.connect() as db:
        db.execute(text(f"CREATE DATABASE {name} TEMPLATE {postgresql_template} STRATEGY FILE_COPY"))
    yield make_url(postgresql_url).set(database=name).render_as_string(False)
    with server.connect() as db:
        db.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    server.dispose()


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


def pytest_sessionfinish() -> None:
    """Note what Cardinal sent in the tests of this process."""
    coverage.note(COURT)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print one line per suite: tests and seconds."""
    seconds: dict[str, float] = defaultdict(float)
    tests: dict[str, set[str]] = defaultdict(set)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                suite = report.nodeid.removeprefix("tests/").split("/")[0]
                seconds[suite] += report.duration
                tests[suite].add(report.nodeid)
    for suite, spent_s in seconds.items():
        terminalreporter.write_line(f"== {suite}: {len(tests[suite])} tests, {spent_s:.1f} s")
