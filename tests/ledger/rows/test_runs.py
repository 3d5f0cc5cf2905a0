"""What a run's row says of itself."""

import pytest

from ledger.model.run_modes import FIX, FOLDER, INVESTIGATE, SCRATCH
from tests.rules.scene import run


@pytest.mark.parametrize(
    ("mode", "agent", "pushed", "has_one"),
    [
        (FIX, "claude", "", True),
        (FIX, "own", "", False),
        (FIX, "own", "a" * 40, True),
        (INVESTIGATE, "claude", "", False),
        (SCRATCH, "claude", "", False),
        (FOLDER, "claude", "", False),
    ],
)
def test_a_branch_is_named_only_where_the_run_has_one(
    mode: str, agent: str, pushed: str, *, has_one: bool
) -> None:
    row = run(mode=mode, agent=agent, pushed_head=pushed)
    assert row.own_branch == (row.branch if has_one else "")
