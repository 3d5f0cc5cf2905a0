"""An index with a condition holds only the rows that fit it, in both databases."""

import pytest
from sqlalchemy import Column, Index, Integer, MetaData, Table, text

from ledger.db.statements import WHERE, _making


@pytest.mark.parametrize("drivername", ["sqlite", "postgresql+psycopg"])
def test_an_index_is_made_with_its_condition(drivername: str) -> None:
    table = Table(
        "kept",
        MetaData(),
        Column("number", Integer, primary_key=True),
        Index("kept_small", "number", info={WHERE: text("number < 9")}),
    )
    [index] = [made for made in _making(table, ("kept_small",), drivername) if "kept_small" in made]
    assert index.strip().endswith("WHERE number < 9")
