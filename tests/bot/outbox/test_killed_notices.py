"""Notices whose sender is killed: at each moment, against a chat, a webhook and a mailbox on this machine."""

import os
import signal
import sys
from contextlib import suppress
from dataclasses import replace
from types import FrameType
from urllib.parse import quote

import pytest

from bot.frontends import NewsItem, Notice, mail
from bot.outbox import subscribers
from bot.outbox.handlers.send_notice import MAY_BE_SENT
from bot.outbox.publisher import CLAIM_S, LOST_S, publish_due
from ledger.events.access import AccessLost, AccessRegained
from ledger.events.publication import EntryGivenUp
from ledger.events.run import QuestionAsked
from ledger.ids import QuestionId
from ledger.lifecycle.open import open_ledger
from rules.chatops.notices import Subscriber
from tests.bot.frontends.post_office import open_office
from tests.bot.outbox.conftest import Stage
from tests.bot.outbox.test_send_notice import SECRET, Receiver, news, read_mail_at, receiver
from tests.bot.render.past import RUN
from tests.ledgers import set_clock

__all__ = ["receiver"]
# A moment of sending, and how many notices a chat, a webhook of one's own and a mailbox have in the end.
MOMENTS = [
    (("begin", "call"), (1, 1, 1)),  # before it is recorded that one is sent
    (("begin", "return"), (0, 1, 1)),
    (("send_notice", "return"), (1, 2, 2)),  # the service has it
]


@pytest.mark.parametrize(("moment", "arrived"), MOMENTS)
def test_a_notice_whose_sender_is_killed_comes_again_only_where_it_is_known_as_the_same(
    stage: Stage, receiver: Receiver, moment: tuple[str, str], arrived: tuple[int, int, int]
) -> None:
    hook = receiver.url.replace("json://", f"webhook+private+http://:{quote(SECRET)}@")
    with open_office() as office:
        read_mail_at(stage, office)
        named = {"chat": receiver.url, "hook": hook, "box": "mail:alice@example.com"}
        subscribers.write(
            stage.config.home, {name: Subscriber(address=it, channel=True) for name, it in named.items()}
        )
        news(stage)
        stage.happen(QuestionAsked(RUN, QuestionId("r1-q1"), "agent", "Cents or euros?", ()))
        news(stage)
        for _ in named:
            send_and_die(stage, moment)
        stage.happen(AccessLost(stage.board_id, "acme", "suspended", ""))
        stage.clock.forward(CLAIM_S["notice"] + 1)
        stage.publish("notice")  # holds them
        stage.happen(AccessRegained(stage.board_id, "acme"))
        stage.clock.forward(LOST_S + 1)
        stage.publish("notice")
    chats = [got for got in receiver.got if "message" in got]
    hooks = [got for got in receiver.got if "id" in got]
    assert (len(chats), len(hooks), len(office.mails)) == arrived
    assert {got["id"] for got in hooks} == {"notice:hook:question:r1-q1"}
    (message_id,) = {it["Message-ID"] for it in office.mails}
    assert message_id.endswith("@example.com>")
    said = [event.because for event in stage.events(EntryGivenUp) if isinstance(event, EntryGivenUp)]
    assert [MAY_BE_SENT in because for because in said] == [True] * (moment != ("begin", "call"))


def send_and_die(stage: Stage, moment: tuple[str, str]) -> None:
    """Send a notice in a process that is killed when it calls that function, or returns from it."""

    def die(frame: FrameType, event: str, _: object) -> None:
        if (frame.f_code.co_name, event) == moment and "/bot/" in frame.f_code.co_filename:
            os.kill(os.getpid(), signal.SIGKILL)

    pid = os.fork()
    if not pid:
        with suppress(BaseException):
            engine = open_ledger(stage.config.database_url)
            set_clock(engine, stage.clock)
            sys.setprofile(die)
            publish_due(replace(stage.context, engine=engine), "notice", within_s=60)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


def test_a_mail_is_the_same_only_when_it_is_the_same_notice_of_the_same_ledger(stage: Stage) -> None:
    notice = Notice(
        "notice:alice:question:r1-q1", stage.clock(), "Cardinal", "", (NewsItem("A question", {}),)
    )
    with open_office() as office:
        read_mail_at(stage, office)
        for sent in (notice, replace(notice, key="notice:alice:question:r1-q2")):
            assert mail.send_notice(stage.config, "mail:alice@example.com", sent)
        stage.clock.forward(1)
        assert mail.send_notice(
            stage.config, "mail:alice@example.com", replace(notice, made_at=stage.clock())
        )
    assert len({it["Message-ID"] for it in office.mails}) == 3
