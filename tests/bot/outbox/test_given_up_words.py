"""Every act that a person may wait for says so on the card when it is held or given up."""

import pytest

from bot.outbox.handlers import ACTS
from ledger.events.publication import EntryGivenUp, EntryHeld
from ledger.ids import EntryKey
from rules.intents.outbound import Say
from tests.rules.scene import CARD, asks, card, ended, kinds, only, pull

# Nobody waits for these: they only decorate, come again with the next change, or edit what is there.
SILENT = {"react", "untick_boxes", "update_face"}
# These are about a board, not a card: Health and `cardinal doctor` list them.
OF_A_BOARD = {
    *("create_job", "create_scheduled_card", "describe_columns", "preview_policy", "report_policy"),
    *("send_notice", "update_ticker"),
}
KEYS = {
    "link_card": "link:r1:blocks:acme/shop#7",
    "create_card": "card:r1:1",
    "move_card": "move:c1:command:7",
}
# A card that has it already would not need the act any more.
NEEDED = {
    "open_pull": card(run=ended()),
    "convert_draft": card(run=ended(), repository=None, number=None),
    "mark_ready": card(run=ended(), pull=pull(draft=True)),
}
WAITED_FOR = sorted({name for name, _ in ACTS.all()} - SILENT - OF_A_BOARD)


@pytest.mark.parametrize("act", WAITED_FOR)
def test_an_act_that_is_given_up_leaves_a_sentence(act: str) -> None:
    key = EntryKey(KEYS.get(act, "report:r1" if act == "post_report" else "k"))
    needed = NEEDED.get(act) or card(run=ended(), pull=pull())
    intents = asks(needed, EntryGivenUp(CARD, key, act, "the moon is full"))
    if act == "post_report":  # the run's own comment has the reason
        assert kinds(intents) == ["WriteRunComment"]
    elif act == "say":  # a comment about it would fail, too
        assert "the moon is full" in intents[0].because  # type: ignore[union-attr]
        assert kinds(intents) == ["CardExplained", "UpdateFace"]
    else:
        assert "the moon is full" in only(intents, Say).text


@pytest.mark.parametrize("act", WAITED_FOR)
def test_an_act_that_is_held_is_told_once_and_changes_no_state(act: str) -> None:
    event = EntryHeld(CARD, EntryKey(KEYS.get(act, "k")), act, "the moon is full")
    intents = asks(card(run=ended(), pull=pull()), event)
    assert kinds(intents) == ["CardExplained", "UpdateFace", *(["Say"] if act != "say" else [])]
    assert "so far" in intents[0].because.lower()  # type: ignore[union-attr]
    if act != "say":
        assert only(intents, Say).about == f"held:{event.key}"
