"""The oracle is not blind: with one repair of the product taken out, a cell fails that is sound with it."""

from typing import Any

import pytest

from tests.faults import record, repairs
from tests.faults.cells import Cell
from tests.faults.repairs import REPAIRS, Repair

OFTEN = 3  # repairs that every change takes out; the others are for the soak
pytestmark = pytest.mark.timeout(900)


def rows() -> list[Any]:
    return [
        pytest.param(repair, id=repair.what, marks=() if place < OFTEN else pytest.mark.soak)
        for place, repair in enumerate(REPAIRS)
    ]


def test_the_record_has_each_repair() -> None:
    told = {what for what, cell in record.read()["repairs"].items() if cell}
    assert told == {repair.what for repair in REPAIRS}, "run scripts/faults --sweep"


@pytest.mark.parametrize("repair", rows())
def test_a_cell_fails_once_a_repair_is_taken_out(repair: Repair) -> None:
    told = record.read()["repairs"][repair.what]
    assert repairs.is_red(repair, Cell.of(told))
