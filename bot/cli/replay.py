"""`cardinal replay`: try deliveries and acts again that were put aside.

Their list is not an operation of the API: they belong to no repository by which an account's rights could be
told, and the page *Health* has them for operators.
"""

import click

from bot.cli import _home
from bot.cli._show import answer_rows, clean, json_option, show
from bot.outbox import handlers
from bot.scheduler import queues
from bot.state.hang_guard import delivery_name
from bot.system import redis as embedded_redis
from bot.system.clock import utc_now
from ledger.errors import CardinalError
from ledger.ids import DeliveryId, EntryKey
from ledger.log import event_store
from ledger.queue import hangs, inbox, outbox
from ledger.views import remotes

COLUMNS = ("delivery_id", "event", "action", "received_at", "attempts", "error")
ACT_COLUMNS = ("act", "key", "at", "because")


class NotQuarantinedError(CardinalError):
    """The delivery is not quarantined."""

    def __init__(self, delivery_id: str) -> None:
        self.delivery_id = delivery_id
        super().__init__(f"{clean(delivery_id)} is not quarantined: `cardinal replay` lists those that are")


class NotGivenUpError(CardinalError):
    """The act was not given up, or its request was not kept."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(
            f"no such act: {clean(key)}; `cardinal replay --acts` lists those that were given up"
        )


@click.command("replay")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--all", "everything", is_flag=True, help="Try again all that are listed.")
@click.option("--acts", is_flag=True, help="Acts on GitHub that were given up, instead of deliveries.")
@json_option
def command(names: tuple[str, ...], everything: bool, acts: bool, as_json: bool) -> None:
    """List deliveries and acts that were set aside, or retry them.

    \b
    Examples:
      cardinal replay
      cardinal replay --all
      cardinal replay --acts
      cardinal replay --acts "say:PVTI_1:command:5"
    """
    (_replay_acts if acts else _replay_deliveries)(names, everything, as_json)


def _replay_acts(keys: tuple[str, ...], everything: bool, as_json: bool) -> None:
    _home.settings()
    now = utc_now()
    with _home.ledger_opened() as engine:
        with event_store.reading(engine) as db:
            rows = [row for row in remotes.list_given_up(db) if handlers.can_repeat(row)]
            kept = {row.key: row for row in rows if outbox.get(db, row.key) is None}  # else it is in line
        if not keys and not everything:
            listed = tuple(kept.values())
            lines = answer_rows(listed, ACT_COLUMNS, empty="nothing was given up")
            show(listed, as_json=as_json, text=lambda: lines)
            return
        chosen = tuple(kept) if everything else tuple(map(EntryKey, keys))
        with event_store.writing(engine) as db:
            for key in chosen:
                if key not in kept or not handlers.put_given_up(db, kept[key], now):
                    raise NotGivenUpError(key)
    show({"replayed": chosen}, as_json=as_json, text=lambda: (f"retrying {len(chosen)} acts",))


def _replay_deliveries(deliveries: tuple[str, ...], everything: bool, as_json: bool) -> None:
    config = _home.settings()
    with _home.ledger_opened() as engine:
        with event_store.reading(engine) as db:
            aside = inbox.list_quarantined(db)
        if not deliveries and not everything:
            rows = answer_rows(aside, COLUMNS, empty="nothing is quarantined")
            show(aside, as_json=as_json, text=lambda: rows)
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
    show({"replayed": chosen}, as_json=as_json, text=lambda: (f"retrying {len(chosen)} deliveries",))
