"""Whatever hung its workers too often is set aside, and everything else goes on."""

import pytest
from rq.timeouts import JobTimeoutException

from bot.admin.doctor import DoctorContext
from bot.admin.doctor.backlog import hung
from bot.ingest import delivery as deliveries
from bot.scheduler import jobs
from bot.state.hang_guard import SetAsideError, delivery_name, guard_hangs
from ledger.events.publication import EntryGivenUp
from ledger.ids import CardId, DeliveryId
from ledger.log import event_store
from ledger.queue import hangs, inbox, refresh_requests
from tests.bot.flows.cardinal import Cardinal


def hang(cardinal: Cardinal, name: str, times: int = hangs.MAX_HANGS) -> None:
    for _ in range(times):
        with event_store.writing(cardinal.services.engine) as db:
            hangs.count_hang(db, (name,))


def counts(cardinal: Cardinal, *names: str) -> dict[str, int]:
    with event_store.reading(cardinal.services.engine) as db:
        return dict(hangs.hang_counts(db, names))


def test_a_delivery_that_hung_its_workers_is_quarantined_and_one_that_did_less_often_is_done(
    cardinal: Cardinal,
) -> None:
    cardinal.new(column="In Progress")
    first, second = list(cardinal.mail)[:2]
    for delivery in (first, second):
        cardinal.receive(delivery)
    cardinal.mail.clear()
    hang(cardinal, delivery_name(DeliveryId(first.guid)))
    hang(cardinal, delivery_name(DeliveryId(second.guid)), 1)
    requested, failed = jobs.ingest_together(
        cardinal.process, (DeliveryId(first.guid), DeliveryId(second.guid))
    )
    assert requested is not None
    assert [error.delivery_id for error in failed] == [first.guid]
    with event_store.reading(cardinal.services.engine) as db:
        (aside,) = inbox.list_quarantined(db)
    assert "it hung its worker 3 times" in aside.error
    assert counts(cardinal, delivery_name(DeliveryId(second.guid))) == {}


def test_an_act_that_hung_its_publishers_is_given_up_and_the_next_ones_go(cardinal: Cardinal) -> None:
    item = cardinal.new(column="In Progress")
    cardinal.catch_up(publish=False)
    face = f"face:{item.node_id}"
    hang(cardinal, f"entry:{face}")
    cardinal.catch_up()
    given_up = cardinal.events(EntryGivenUp)
    assert [event.key for event in given_up] == [face], [event.key for event in given_up]
    assert "hung its worker" in given_up[0].because
    assert cardinal.told(item)


def test_a_card_that_hung_its_workers_is_left_and_the_others_are_read(
    cardinal: Cardinal,
) -> None:
    items = [cardinal.new(column="In Progress") for _ in range(3)]
    cardinal.catch_up()
    ids = tuple(CardId(item.node_id) for item in items)
    hang(cardinal, f"card:{ids[0]}")
    hang(cardinal, f"card:{ids[1]}", 2)
    for item in items:
        cardinal.drag(item, "Done")
    with event_store.writing(cardinal.services.engine) as db:
        for card_id in ids:
            refresh_requests.add(db, card_id, cardinal.board_id)
    with pytest.raises(SetAsideError, match="report it with the workers' log"):
        jobs.sync_together(cardinal.process, ids)
    assert [cardinal.card(item).column for item in items] == ["In Progress", "Done", "Done"]
    assert counts(cardinal, *(f"card:{card_id}" for card_id in ids)) == {f"card:{ids[0]}": 3}


def test_a_job_that_runs_into_its_time_limit_counts_as_one_that_hung(cardinal: Cardinal) -> None:
    engine = cardinal.services.engine
    for _ in range(hangs.MAX_HANGS):
        with pytest.raises(JobTimeoutException), guard_hangs(engine, "job:sweep_board acme/1"):
            raise JobTimeoutException
    with pytest.raises(SetAsideError), guard_hangs(engine, "job:sweep_board acme/1"):
        pytest.fail("it is not begun")
    config, app = cardinal.services.config, cardinal.services.context.app
    (result,) = hung(DoctorContext(config, engine, app, cardinal.clock()))
    assert "job:sweep_board acme/1 hung its worker 3 times" in str(result)
    cardinal.clock.forward(hangs.KEPT_S + 1)
    with guard_hangs(engine, "job:sweep_board acme/1"):
        pass


def test_a_replayed_delivery_is_tried_again(cardinal: Cardinal) -> None:
    cardinal.new(column="In Progress")
    first = cardinal.mail[0]
    cardinal.receive(first)
    hang(cardinal, delivery_name(DeliveryId(first.guid)))
    with pytest.raises(deliveries.DeliveryError):
        deliveries.ingest(cardinal.process, DeliveryId(first.guid))
    with event_store.writing(cardinal.services.engine) as db:
        assert inbox.replay(db, DeliveryId(first.guid))
        hangs.forget_hangs(db, (delivery_name(DeliveryId(first.guid)),))
    deliveries.ingest(cardinal.process, DeliveryId(first.guid))
    with event_store.reading(cardinal.services.engine) as db:
        assert inbox.list_quarantined(db) == ()
