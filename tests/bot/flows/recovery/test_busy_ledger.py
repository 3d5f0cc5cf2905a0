"""A delivery for which the ledger had no turn is refused, so GitHub keeps it; a sweep requests it again."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from bot.github.app_manifest import WEBHOOK_PATH
from bot.sync import sweep
from forge.store.registration import Delivery
from ledger.db import transactions
from ledger.db.transactions import writing
from ledger.ids import DeliveryId
from ledger.log import event_store
from ledger.queue import inbox
from tests.bot.flows.cardinal import Cardinal
from tests.bot.web.serving import web_client
from tests.bot.web.test_webhook import Woken, sign


def test_deliveries_that_got_no_turn_are_refused_and_requested_again(
    cardinal: Cardinal, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, config = cardinal.services.engine, cardinal.services.config
    web = web_client(config, engine, Woken(), cardinal.clock)

    def send(delivery: Delivery) -> int:
        headers = {
            **delivery.headers,
            "X-Hub-Signature-256": sign(delivery.body, config.webhook_secret.reveal()),
        }
        answer = web.post(WEBHOOK_PATH, content=delivery.body, headers=headers)
        delivery.status_code, delivery.delivered_at = answer.status_code, cardinal.clock()
        delivery.status = "OK" if answer.status_code == 202 else answer.reason_phrase
        return answer.status_code

    def known(deliveries: list[Delivery]) -> list[bool]:
        with event_store.reading(engine) as db:
            return [inbox.is_known(db, DeliveryId(delivery.guid)) for delivery in deliveries]

    cardinal.mail.clear()
    cardinal.forge.store.deliveries.trim(0)
    item = cardinal.new()
    for text in ("one", "two", "three"):
        cardinal.say(item, text)
    lost = list(cardinal.mail)
    cardinal.mail.clear()
    monkeypatch.setattr(transactions, "WAIT_S", 0.1)
    with writing(engine), ThreadPoolExecutor(len(lost)) as pool:
        assert set(pool.map(send, lost)) == {503}
    monkeypatch.undo()
    assert known(lost) == [False] * len(lost)

    sweep.recover_deliveries(cardinal.process)
    again = list(cardinal.mail)
    assert sorted(delivery.guid for delivery in again) == sorted(delivery.guid for delivery in lost)
    assert [send(delivery) for delivery in again] == [202] * len(lost)
    assert known(lost) == [True] * len(lost)
    cardinal.mail.clear()
    cardinal.clock.forward(3600)
    sweep.recover_deliveries(cardinal.process)
    assert list(cardinal.mail) == []  # each came
