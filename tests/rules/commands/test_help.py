"""`/cardinal help`: the table is made from the commands' files."""

from rules.registry import COMMANDS
from tests.rules.commands.cases import told
from tests.rules.scene import card


def test_every_command_is_in_the_table_with_what_it_does_and_who_may() -> None:
    rows = told("help", card()).splitlines()
    for name in COMMANDS.names():
        (row,) = (row for row in rows if row.startswith((f"| `/cardinal {name}`", f"| `/cardinal {name} ")))
        assert row.replace("\\|", "").count("|") == 4
    assert "| `/cardinal stop-all` | Stop every run on the board now. | `admin` |" in rows
