"""What every suite shares: service addresses, a judge of what is said to GitHub, a summary by suite."""

import gc
import logging
import os
from collections import defaultdict
from collections.abc import Generator, Iterator
from functools import cache
from itertools import cycle
from pathlib import Path
from types import CodeType
from uuid import uuid4

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from flask import Flask
from hypothesis import settings
from jinja2 import BytecodeCache
from jinja2.bccache import Bucket
from sqlalchemy import create_engine, make_url, text

from bot.github.transport import Wire
from forge.store.apps import Apps, new_key
from forge.web.server import Forge
from tests import kept, near
from tests.handing_out import (  # noqa: F401 - hooks
    pytest_collection_modifyitems,
    pytest_itemcollected,
    pytest_make_collect_report,
    pytest_runtest_makereport,
    pytest_runtest_setup,
    pytest_xdist_make_scheduler,
)
from tests.postgresql import Databases
from tests.published import coverage
from tests.published.court import Court

TESTS = Path(__file__).parent
# How long an example takes says nothing on a shared machine; a test that hangs ends by its own limit.
# Before a push the examples are the same few: what is red is this change's. The soak draws new ones.
settings.register_profile("the same", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("new ones", deadline=None, max_examples=1000)
settings.load_profile("new ones" if os.environ.get("CARDINAL_TEST_NEW_EXAMPLES") else "the same")
COURT = Court()
Forge.judge = COURT
Wire.requester = staticmethod(near.requester)


class Compiled(BytecodeCache):
    """Templates, each compiled once in a process: every test makes applications of its own."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], CodeType | None] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._kept.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._kept[bucket.key, bucket.checksum] = bucket.code


Flask.jinja_options = {"bytecode_cache": Compiled()}
KEYS = 4  # more than one forge's Apps ever need at once: two of them never share a key


def pytest_configure(config: pytest.Config) -> None:
    """Let the processes of a run share what one of them has opened."""
    if hasattr(config, "workerinput"):
        kept.share(Path(config.option.basetemp).parent)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while thousands of tests are collected; later never look at what these are, and
    seldom at the rest: each look walks through all that a test holds.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000, 10, 10)
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


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Leave the logging as the test found it: a command that a test calls sets it up for a server."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        return (yield)
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


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
def postgresql_databases(postgresql_url: str) -> Databases:
    """Return the server's databases with a ledger without events."""
    return Databases(postgresql_url)


@pytest.fixture
def postgresql_ledger(postgresql_databases: Databases) -> Iterator[str]:
    """Return the address of a database in PostgreSQL with a ledger without events."""
    name = postgresql_databases.take()
    yield postgresql_databases.address(name)
    postgresql_databases.give_back(name)


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
