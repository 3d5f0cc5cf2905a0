"""What a run cost, in words: a cost that nothing but the agent counted is said to be one."""

from ledger.events.turn import OWN_LOGIN
from ledger.model.spend_limits import AS_REPORTED
from rules.text import usd


def cost_words(amount: float, payer: str | None) -> str:
    """Return the cost of a run that `payer` paid for."""
    return f"{usd(amount)}{AS_REPORTED if payer == OWN_LOGIN else ''}"
