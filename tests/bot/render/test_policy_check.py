"""The check on a branch's policy file says how much would change, also beyond what it names."""

from bot.render.pull.policy_check import preview, preview_title
from ledger.events.policy import SettingChange
from ledger.ids import BoardId
from ledger.views.policies import ProposalRow


def test_settings_that_are_not_named_are_counted() -> None:
    change = SettingChange("", "board.limits.runs", "6", "<b>7</b>")
    proposal = ProposalRow(BoardId("B"), "c0ffee", "digest", (), (), (change,), 3)
    assert preview_title(proposal) == "Once merged, it changes 4 settings"
    assert preview(proposal).splitlines()[2:] == [
        "| `board.limits.runs` | `6` | `<b>7</b>` |",
        "",
        "3 more settings would change. Active runs keep the rules they started with.",
    ]
