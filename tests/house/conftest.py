"""What the tests of the house leave to the tests that their process plays afterwards: nothing."""

from collections.abc import Iterator

import pytest

from tests.house import source


@pytest.fixture(scope="package", autouse=True)
def trees() -> Iterator[None]:
    yield
    source.forget()
