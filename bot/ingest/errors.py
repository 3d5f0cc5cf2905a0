"""Errors of the edges that are not GitHub's own."""

from ledger.errors import CardinalError
from ledger.ids import CardId, DeliveryId


class DeliveryError(CardinalError):
    """A delivery could not be turned into events; it is kept and tried again, then quarantined."""

    def __init__(self, delivery_id: DeliveryId, error: Exception) -> None:
        self.delivery_id = delivery_id
        super().__init__(
            f"delivery {delivery_id} failed: {error}; `cardinal replay {delivery_id}` tries it again"
        )


class CardBusyError(CardinalError):
    """Another process is reading a card that a delivery is about, and what it reads is not recorded yet."""

    def __init__(self, card_id: CardId) -> None:
        self.card_id = card_id
        super().__init__(f"card {card_id} is being read: the delivery waits for it")
