"""`/cardinal allow <pattern>`: what the card's agents may do unasked."""

import pytest

from rules.command_line import Parsed, permit
from rules.intents import AllowTool
from tests.rules.commands.cases import obeyed, told
from tests.rules.scene import CARD, POLICY, card, run


@pytest.mark.parametrize(
    ("text", "pattern"),
    [("git push:*", "git push:*"), ("`npm  run build`", "npm run build"), ("docker *", "docker *")],
)
def test_a_pattern_is_remembered_for_the_card(text: str, pattern: str) -> None:
    assert obeyed("allow", card(run=run()), text) == (AllowTool(CARD, pattern, "bob"),)
    assert obeyed("allow", card(), text) == (AllowTool(CARD, pattern, "bob"),)


@pytest.mark.parametrize("text", ["*", "**", "`*`", ":*", "* *", "?"])
def test_everything_is_no_pattern(text: str) -> None:
    assert "would allow everything" in told("allow", card(), text)


@pytest.mark.parametrize("text", ["x" * 201, "git\x00push", "git\u202epush"])
def test_what_nobody_could_read_is_no_pattern(text: str) -> None:
    assert "Nothing was allowed" in told("allow", card(), text)


def test_without_a_pattern_it_says_how() -> None:
    assert "`/cardinal allow git push:*`" in told("allow", card())


@pytest.mark.parametrize(("role", "may"), [("write", False), ("maintain", True)])
def test_it_takes_the_role_maintain(role: str, *, may: bool) -> None:
    answer = permit(POLICY, Parsed("allow", "git push:*"), role=role, login="bob")
    assert (type(answer).__name__ == "Permitted") is may
