"""Who a work order's containers belong to."""

from runner.order import WorkOrder
from runner.workspace import Tenancy


def tenancy(order: WorkOrder) -> Tenancy:
    """Return the labels and limits of everything that is started for `order`."""
    return Tenancy(order.card_id, order.run_id, order.generation, order.image, order.resources)
