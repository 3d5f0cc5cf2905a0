"""Who a work order's containers belong to."""

from ledger.ids import CardId
from runner.run.run_spec import RunSpec
from runner.workspaces.contract import Tenancy

LOOK = "look-"  # begins the id of the place in which a card is investigated


def tenancy(order: RunSpec) -> Tenancy:
    """Return the labels and limits of everything that is started for `order`.

    An investigation has a place of its own: what another run left in the card's is neither seen nor touched.
    """
    place = CardId(f"{LOOK}{order.card_id}") if order.investigates else order.card_id
    return Tenancy(place, order.run_id, order.generation, order.image, order.resources)
