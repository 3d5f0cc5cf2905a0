"""`cardinal replay`: try deliveries again that were put aside."""

import click

from bot.cli import _home
from bot.cli._show import ago, clean, json_option, show, table
from bot.scheduler import queues
from bot.state.hang_guard import delivery_name
from bot.system import redis as embedded_redis
from bot.system.clock import utc_now
from ledger.errors import CardinalError
from ledger.ids import DeliveryId
from ledger.log import event_store
from ledger.queue import hangs, inbox

HEADS = ("delivery", "event", "action", "received", "attempts", "error")


class NotQuarantinedError(CardinalError):
    """The delivery is not quarantined."""

    def __init__(self, delivery_id: str) -> None:
        self.delivery_id = delivery_id
        super().__init__(f"{clean(delivery_id)} is not quarantined: `cardinal replay` lists those that are")


@click.command("replay")
@click.argument("deliveries", nargs=-1, metavar="[DELIVERY]...")
@click.option("--all", "everything", is_flag=True, help="All that are quarantined.")
@json_option
def command(deliveries: tuple[str, ...], everything: bool, as_json: bool) -> None:
    """List quarantined deliveries, or try some again.

    \b
    Examples:
      cardinal replay
      cardinal replay --all
    """
    config, now = _home.settings(), utc_now()
    with _home.ledger_opened() as engine:
        with event_store.reading(engine) as db:
            aside = inbox.quarantined(db)
        if not deliveries and not everything:
            rows = (
                (row.delivery_id, row.event, row.action, ago(row.received_at, now), row.attempts, row.error)
                for row in aside
            )
            show(aside, as_json=as_json, text=lambda: table(HEADS, rows, empty="nothing is quarantined"))
            return
        chosen = tuple(row.delivery_id for row in aside) if everything else tuple(map(DeliveryId, deliveries))
        with event_store.writing(engine) as db:
            for delivery_id in chosen:
                if not inbox.replay(db, delivery_id):
                    raise NotQuarantinedError(delivery_id)
            hangs.forget_hangs(db, [delivery_name(delivery_id) for delivery_id in chosen])
    redis = embedded_redis.connect_redis(config)
    for delivery_id in chosen:  # where no Redis answers, the next tick finds them
        queues.request(redis, "ingest", delivery_id)
    show({"replayed": chosen}, as_json=as_json, text=lambda: (f"{len(chosen)} deliveries are tried again",))
