"""Notices arrive at real servers on this machine: once, when they are wanted, for who may read them."""

import hashlib
import hmac
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.header import decode_header, make_header
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from socket import create_server, socket
from threading import Event, Thread
from time import monotonic
from typing import Any
from urllib.parse import quote

import pytest

from bot.admin.doctor import DoctorContext
from bot.admin.doctor.notices import readable
from bot.bootstrap import services_over
from bot.frontends import NewsItem, Notice, chat, front_end_of, webhook
from bot.outbox import notices, subscribers
from bot.system.config import read
from forge.store.models import Role
from ledger.events.board import CardDescribed, CardStateChanged, StopOrdered
from ledger.events.person import NoticesChosen
from ledger.events.policy import PolicyLoaded
from ledger.events.publication import EntryGivenUp
from ledger.events.run import QuestionAnswered, QuestionAsked, UsageMetered
from ledger.events.subscription import CardSubscribed, CardUnsubscribed
from ledger.ids import CardId, QuestionId, RunId
from ledger.states import CardState
from ledger.views import subscriptions
from rules.chatops.notices import Subscriber
from rules.intents.outbound import NoticeKind
from rules.policy.model import DEFAULT_TEXT
from tests.bot.frontends.post_office import PostOffice, open_office, text_of
from tests.bot.outbox.conftest import Stage
from tests.bot.render.past import RUN

HOUR = 3600
SECRET = "a secret of 20 chars"
NOW = datetime(2026, 11, 30, tzinfo=UTC)


@dataclass
class Receiver:
    """A chat's webhook on this machine."""

    url: str = ""
    status: int = 200
    got: list[dict[str, Any]] = field(default_factory=list)
    signed: list[bool] = field(default_factory=list)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    state = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            digest = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
            state.signed.append(self.headers.get("X-Cardinal-Signature-256") == f"sha256={digest}")
            if state.status == 200:
                state.got.append(json.loads(body))
            self.send_response(state.status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    state.url = f"json://127.0.0.1:{server.server_port}/hook"
    yield state
    server.shutdown()
    server.server_close()
    thread.join(60)


def subscribe(stage: Stage, **named: Subscriber) -> None:
    subscribers.write(stage.config.home, named)
    send_news(stage)  # what was before is no news


def send_news(stage: Stage) -> None:
    """Let two processes look for news, and send what is due."""
    for _ in range(2):
        news(stage)
    stage.publish("notice")


def news(stage: Stage) -> None:
    with services_over(stage.config, stage.context.engine, stage.hub, stage.clock) as services:
        notices.request_new(services)


def ask(stage: Stage, number: int = 1) -> None:
    stage.happen(QuestionAsked(RUN, QuestionId(f"r1-q{number}"), "agent", "Cents or euros?", ()))
    send_news(stage)


def test_who_chose_to_hear_of_no_question_gets_none(stage: Stage, receiver: Receiver) -> None:
    subscribe(stage, Alice=Subscriber(address=receiver.url))
    chosen = NoticesChosen(7, "alice", "pages", ("failure",), 0, "00:00", "00:00", "UTC")
    stage.happen(chosen)
    ask(stage)
    assert receiver.got == []
    stage.happen(replace(chosen, kinds=("question",)))
    ask(stage, 2)
    assert len(receiver.got) == 1


def test_a_question_arrives_once_with_card_and_address(stage: Stage, receiver: Receiver) -> None:
    subscribe(stage, alice=Subscriber(address=receiver.url))
    ask(stage)
    send_news(stage)
    (got,) = receiver.got
    assert got["title"] == "Cardinal, board acme/1: 1 notice"
    assert got["message"].startswith(f"A question is waiting for an answer: acme/shop#{stage.issue.number} ")
    assert got["message"].endswith(f"/acme/shop/issues/{stage.issue.number}")


def test_a_webhook_of_ones_own_gets_signed_data_and_knows_a_repeated_notice(
    stage: Stage, receiver: Receiver
) -> None:
    address = receiver.url.replace("json://", f"webhook+private+http://:{quote(SECRET)}@")
    subscribe(stage, alice=Subscriber(address=address))
    receiver.status = 503
    ask(stage)
    receiver.status = 200
    stage.clock.forward(HOUR / 2)
    send_news(stage)
    (got,) = receiver.got
    assert receiver.signed == [True, True]
    assert (got["id"], got["news"]) == (
        "notice:alice:question:r1-q1",
        [
            {
                "kind": "question",
                "repository": "acme/shop",
                "number": stage.issue.number,
                "run": RUN,
                "question": "r1-q1",
            }
        ],
    )


@pytest.mark.parametrize(
    ("address", "because"),
    [
        ("webhook+https://:{secret}@127.0.0.1:{port}/hook", "private network"),
        ("webhook+https://:{secret}@[::ffff:127.0.0.1]:{port}/hook", "private network"),
        ("webhook+https://:{secret}@localhost:{port}/hook", "private network"),
        ("webhook+http://:{secret}@127.0.0.1:{port}/hook", "webhook+https://"),
        ("webhook+private+http://:short@127.0.0.1:{port}/hook", "less than 16"),
        ("webhook+https://:{secret}@[64:ff9b::7f00:1]:{port}/hook", "private network"),
        ("webhook+https://:{secret}@[2002:7f00:1::]:{port}/hook", "private network"),
        ("webhook+https://:{secret}@[fec0::1]:{port}/hook", "private network"),
        ("webhook+private+http://:{secret}@169.254.169.254/latest", "no host's"),
        ("webhook+https://:{secret}@[::1", "webhook+https://"),
        ("webhook+https://:{secret}@a:99999/hook", "webhook+https://"),
        ("webhook+https://:{secret}@a..b/hook", "webhook+https://"),
    ],
)
def test_a_webhook_at_a_private_address_or_without_a_secret_gets_nothing(
    stage: Stage, receiver: Receiver, address: str, because: str
) -> None:
    port = receiver.url.rpartition(":")[2].partition("/")[0]
    subscribe(stage, alice=Subscriber(address=address.format(secret=quote(SECRET), port=port)))
    ask(stage)
    assert receiver.signed == []
    assert because in [it.because for it in stage.events(EntryGivenUp) if isinstance(it, EntryGivenUp)][-1]


BEGUN = b"HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n"
OWN = f"webhook+private+http://:{quote(SECRET)}@127.0.0.1:PORT/hook"
CHAT = "json://127.0.0.1:PORT/hook"


@pytest.mark.parametrize(
    ("address", "after", "is_accepted"),
    [(OWN, b"", False), (OWN, BEGUN, True), (CHAT, BEGUN, False)],
    ids=["own", "own begun", "chat"],
)
def test_a_service_that_answers_drop_by_drop_holds_up_nothing(
    address: str, after: bytes, *, is_accepted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part in (webhook, chat):
        monkeypatch.setattr(part, "TIMEOUT_S", 1.0)
    ends = Event()

    def drip(server: socket) -> None:
        connection, _ = server.accept()
        connection.sendall(after)
        with connection, suppress(OSError):
            while not ends.wait(0.2):
                connection.sendall(b"H")

    with create_server(("127.0.0.1", 0)) as server:
        thread = Thread(target=drip, args=(server,))
        thread.start()
        began = monotonic()
        notice = Notice("k", NOW, "t", "ops", (NewsItem("news", {}),))
        here = address.replace("PORT", str(server.getsockname()[1]))
        accepted = front_end_of(here).send_notice(read({}, Path()), here, notice)
        took_s = monotonic() - began
        ends.set()
        thread.join(60)
    assert accepted is is_accepted
    assert took_s < 30


def test_who_may_not_read_the_repository_learns_nothing(stage: Stage, receiver: Receiver) -> None:
    stage.shop.private = True
    subscribe(stage, stranger=Subscriber(address=receiver.url))
    ask(stage)
    assert receiver.got == []


FOLLOWED = CardSubscribed(CardId(""), "alice", RunId(""))


def test_who_follows_a_card_hears_of_it_whatever_they_left_out_in_general(
    stage: Stage, receiver: Receiver
) -> None:
    narrow = Subscriber(address=receiver.url, kinds=(NoticeKind.FAILURE,), boards=("acme/9",), mine=True)
    subscribe(stage, Alice=narrow, bob=narrow, alice=narrow.model_copy(update={"channel": True}))
    stage.happen(NoticesChosen(7, "alice", "pages", (), 0, "00:00", "00:00", "UTC"))
    stage.happen(replace(FOLLOWED, card_id=stage.card_id))
    ask(stage)
    stage.happen(CardUnsubscribed(stage.card_id, "alice", ""))
    ask(stage, 2)
    stage.happen(replace(FOLLOWED, card_id=CardId("another")))
    ask(stage, 3)
    (got,) = receiver.got
    assert got["message"].startswith(f"A question is waiting for an answer: acme/shop#{stage.issue.number} ")


def test_who_may_not_read_a_card_any_more_follows_it_no_more(stage: Stage, receiver: Receiver) -> None:
    subscribe(stage, stranger=Subscriber(address=receiver.url), alice=Subscriber(address=receiver.url))
    for login in ("Stranger", "alice"):
        stage.happen(replace(FOLLOWED, card_id=stage.card_id, login=login))
    stage.shop.private = True
    ask(stage)
    assert len(receiver.got) == 1
    with stage.context.reading() as db:
        assert subscriptions.subscribers_of(db, stage.card_id) == {"alice"}
    (ended,) = stage.events(CardUnsubscribed)
    assert ended == CardUnsubscribed(stage.card_id, "stranger", "may no longer read it")


def test_a_channel_names_no_card_where_private_issues_are_hidden(stage: Stage, receiver: Receiver) -> None:
    subscribe(stage, ops=Subscriber(address=receiver.url, channel=True))
    ask(stage)
    (got,) = receiver.got
    assert got["message"] == "A question is waiting for an answer: a card of this board"


def at_night(receiver: Receiver, stage: Stage, **settings: object) -> Subscriber:
    """Return a subscriber who is in quiet hours for a day less a minute."""
    begin, end = stage.clock().time(), (stage.clock() - timedelta(minutes=1)).time()
    quiet = {"quiet_from": begin, "quiet_until": end}
    return Subscriber.model_validate({"address": receiver.url, **quiet, **settings})


def test_finished_work_waits_for_the_digest_and_a_question_and_a_stop_do_not(
    stage: Stage, receiver: Receiver
) -> None:
    subscribe(stage, alice=Subscriber(address=receiver.url, digest_minutes=1440))
    done = CardStateChanged(stage.card_id, CardState.WORKING, CardState.WORK_COMPLETE, "done")
    stage.happen(done)
    ask(stage)
    stage.happen(StopOrdered(stage.board_id, "board", "", "bob"))
    send_news(stage)
    said = [got["message"].partition(":")[0] for got in receiver.got]
    assert said == ["A question is waiting for an answer", "Stopped"]
    stage.clock.forward(24 * HOUR)
    send_news(stage)
    assert receiver.got[2]["message"].startswith("Work is ready for review: ")


def test_finished_work_that_went_on_before_the_digest_is_not_told(stage: Stage, receiver: Receiver) -> None:
    subscribe(stage, alice=Subscriber(address=receiver.url))
    done = CardStateChanged(stage.card_id, CardState.WORKING, CardState.WORK_COMPLETE, "done")
    stage.happen(done, CardStateChanged(stage.card_id, CardState.WORK_COMPLETE, CardState.QUEUED, "again"))
    send_news(stage)
    stage.clock.forward(HOUR)
    send_news(stage)
    assert receiver.got == []


def test_what_waits_for_the_end_of_quiet_hours_is_one_notice_without_what_was_answered(
    stage: Stage, receiver: Receiver
) -> None:
    subscribe(stage, alice=at_night(receiver, stage))
    for number in (1, 2):
        ask(stage, number)
    stage.happen(StopOrdered(stage.board_id, "board", "", "bob"))
    stage.happen(QuestionAnswered(RUN, QuestionId("r1-q1"), "alice", "Cents"))
    send_news(stage)
    assert receiver.got == []
    stage.clock.forward(24 * HOUR)
    send_news(stage)
    (got,) = receiver.got
    assert len(got["message"].splitlines()) == 2
    assert "Stopped: bob stopped the runs of the board" in got["message"]


def test_a_digest_keeps_so_many_lines_and_says_that_there_is_more(
    stage: Stage, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices, "MAX_KEPT", 3)
    subscribe(stage, ops=at_night(receiver, stage, channel=True))
    stops = (StopOrdered(stage.board_id, "board", "", name) for name in ("ann", "ben", "cas", "dan", "eve"))
    for stop in stops:
        stage.happen(stop)
    send_news(stage)
    stage.clock.forward(24 * HOUR)
    send_news(stage)
    (got,) = receiver.got
    assert got["title"].endswith(": 3+ notices")
    first, *_, last = got["message"].splitlines()
    assert "ann stopped" in first
    assert "more than a digest keeps" in last


def test_a_question_that_nobody_answers_goes_to_somebody_else(stage: Stage, receiver: Receiver) -> None:
    first = Subscriber(address="json://127.0.0.1:9/closed", escalate_to="bob", escalate_hours=2)
    early, late = (stage.clock() + timedelta(hours=hours) for hours in (1, 4))
    bob = Subscriber(
        address=receiver.url, kinds=(NoticeKind.SPEND,), quiet_from=early.time(), quiet_until=late.time()
    )
    subscribe(stage, alice=first)
    (missing,) = readable(DoctorContext(stage.config, None, stage.hub, stage.clock()))
    assert "escalate to `bob`, who is not a subscriber" in missing.message
    subscribe(stage, alice=first, bob=bob)
    stage.happen(QuestionAsked(RUN, QuestionId("r1-q1"), "agent", "Cents?", ()))
    send_news(stage)
    assert receiver.got == []
    stage.forge.store.repos.set_role(stage.shop, stage.forge.store.users.get("bob"), Role.READ)
    stage.clock.forward(2 * HOUR)
    send_news(stage)
    assert receiver.got == []  # Bob's quiet hours
    stage.clock.forward(2 * HOUR)
    send_news(stage)
    assert len(receiver.got) == 1


def test_a_limit_is_told_once_for_each_step(stage: Stage, receiver: Receiver) -> None:
    at_once = Subscriber(address=receiver.url, channel=True, kinds=(NoticeKind.SPEND,), digest_minutes=0)
    subscribe(stage, ops=at_once)
    for usd in (20, 6, 1, 14):  # of 50 a day
        stage.happen(UsageMetered(RUN, usd, 0, 0, 0, 0))
        send_news(stage)
    said = [got["message"] for got in receiver.got]
    assert [line.split(" %")[0] for line in said] == ["Spending: 50", "Spending: 80"]


def test_a_service_that_is_away_is_tried_again_and_given_up_with_the_next_step(
    stage: Stage, receiver: Receiver
) -> None:
    subscribe(stage, alice=Subscriber(address=receiver.url))
    receiver.status = 500
    ask(stage)
    for _ in range(20):
        stage.clock.forward(61)
        stage.publish("notice")
    (lost,) = stage.events(EntryGivenUp)
    assert isinstance(lost, EntryGivenUp)
    assert "cardinal notify test" in lost.because
    assert receiver.url not in lost.because


def test_a_file_that_cannot_be_read_holds_up_nothing_and_the_notice_goes_once_it_can(
    stage: Stage, receiver: Receiver
) -> None:
    subscribe(stage, alice=Subscriber(address=receiver.url))
    stage.happen(QuestionAsked(RUN, QuestionId("r1-q1"), "agent", "Cents or euros?", ()))
    news(stage)
    file = stage.config.home / subscribers.FILE
    whole = file.read_text()
    file.write_text("{")
    stage.publish("notice")
    assert receiver.got == []
    file.write_text(whole)
    stage.clock.forward(HOUR)
    stage.publish("notice")
    assert len(receiver.got) == 1


def read_mail_at(stage: Stage, office: PostOffice) -> None:
    """Let the stage's Cardinal send its mail there."""
    stage.config = replace(stage.config, **office.settings)
    stage.context = replace(stage.context, config=stage.config)


def test_mail_has_the_question_and_a_hostile_title_is_no_header(stage: Stage) -> None:
    with open_office() as office:
        read_mail_at(stage, office)
        ops = Subscriber(address="mail:ops@example.com", channel=True)
        subscribe(stage, alice=Subscriber(address="mail:alice@example.com"), ops=ops)
        named = DEFAULT_TEXT.replace("board:\n", "board:\n  private_issues: named\n", 1)
        stage.happen(PolicyLoaded(stage.board_id, "named", named, ""))
        title = "Totals\r\nBcc: eve@example.com\r\n\r\n<b>@everyone</b>"
        stage.happen(CardDescribed(stage.card_id, title, "", ()))
        ask(stage)
    mail, to_channel = sorted(office.mails, key=lambda it: str(it["To"]))
    assert mail["Bcc"] is None
    assert (mail["X-RcptTo"], to_channel["X-RcptTo"]) == ("alice@example.com", "ops@example.com")
    assert "acme/shop" in text_of(to_channel)
    assert (to_channel["Reply-To"], "Cents" in text_of(to_channel)) == (None, False)
    assert "Totals Bcc: eve@\u200bexample.com" in str(make_header(decode_header(mail["Subject"])))
    assert "Cents or euros?\n\nReply with your answer" in text_of(mail)
    assert "board acme/1" in text_of(mail)
