"""Errors of the edges that are not GitHub's own."""

from ledger.errors import CardinalError
from ledger.ids import DeliveryId


class DeliveryError(CardinalError):
    """A delivery could not be turned into events; it is kept and tried again, then quarantined."""

    def __init__(self, delivery_id: DeliveryId, error: Exception) -> None:
        self.delivery_id = delivery_id
        super().__init__(
            f"delivery {delivery_id} failed: {error}; `cardinal replay {delivery_id}` tries it again"
        )
