"""A run without a secret that its column names fails at once, and says what to set."""

from pathlib import Path

import pytest

from ledger.model.policy_settings import HostSecret
from ledger.states import Ending
from tests.runner.world import make_world


@pytest.mark.parametrize("value", [None, " ", "t\u00e4glich", "two\nlines"])
def test_the_card_says_what_to_set_and_never_the_value(tmp_path: Path, value: str | None) -> None:
    world = make_world(tmp_path, files={"README.md": "# Shop\n"})
    world.tool_secrets = {} if value is None else {"NPM_TOKEN": value}
    secret = HostSecret(name="NPM_TOKEN", host="npm.example.com", header="Authorization", format="Bearer {}")
    world.run(world.spec(plan_required=False, secrets=(secret,)))
    ended = world.ended()
    assert ended.ending is Ending.FAILED
    assert "the column lacks NPM_TOKEN: an operator puts `NAME=value` into tool-secrets/" in ended.detail
    assert not value or not value.strip() or value not in ended.detail
    world.engine.dispose()
