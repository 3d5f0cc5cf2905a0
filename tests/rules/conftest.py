"""The coverage of rules/ is measured while its tests are imported and played, and not in between."""

import sys
from collections.abc import Generator
from typing import Any

import pytest

_TRACE = pytest.StashKey[Any]()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Pause: between tests there is nothing to measure, and it doubles what pytest costs."""
    session.config.stash[_TRACE] = sys.gettrace()
    sys.settrace(None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Measure the test, unless its examples are drawn: the drawing would cost more than all the rest."""
    if not item.get_closest_marker("hypothesis"):
        sys.settrace(item.config.stash[_TRACE])
    try:
        return (yield)
    finally:
        sys.settrace(None)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Leave it as coverage expects to find it."""
    sys.settrace(session.config.stash.get(_TRACE, sys.gettrace()))
