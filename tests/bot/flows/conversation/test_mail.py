"""A run asks, a mail arrives, its reader replies, and the run goes on: with the rights of a comment."""

from collections import Counter
from collections.abc import Iterator
from email.message import Message
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bot.cli import main
from bot.frontends import PersonReply, UnreadMessageError, mail
from bot.outbox import notices, publisher, subscribers
from bot.outbox.subscribers import SubscribersError
from bot.web.acting.reply import take_reply
from forge.store.board import Item
from forge.store.models import Role
from ledger.events.conversation import CommandGiven, CommandRefused
from ledger.events.publication import EntryGivenUp
from ledger.events.run import PlanApproved, QuestionAnswered
from ledger.ids import QuestionId
from ledger.states import RunState
from rules.chatops.notices import Subscriber
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.settings import with_column
from tests.bot.frontends.post_office import PostOffice, open_office, text_of

CHOICES = ("Cents", "Euros")


@pytest.fixture
def office(cardinal: Cardinal) -> Iterator[PostOffice]:
    """Return a mail server at which alice and bob get notices."""
    with open_office() as opened:
        cardinal.configure(**opened.settings)
        people = {it: Subscriber(address=f"mail:{it}@example.org") for it in ("alice", "bob")}
        subscribers.write(cardinal.services.config.home, people)
        send(cardinal)  # what was before is no news
        yield opened
        assert cardinal.events(EntryGivenUp) == []


def send(cardinal: Cardinal) -> None:
    """Let the news go out, and everything else happen."""
    cardinal.catch_up()
    for _ in range(2):
        notices.request_new(cardinal.process)
    publisher.publish_due(cardinal.process.context, "notice", within_s=60)


def receive(cardinal: Cardinal, raw: bytes) -> None:
    """Take a mail, and let everything happen."""
    services = cardinal.process
    people = subscribers.read_admitted(services.config)
    take_reply(services, mail.read(services.config, people, raw, services.now()), "mail")
    send(cardinal)


def receive_on_standard_input(cardinal: Cardinal, office: PostOffice, raw: bytes) -> Result:
    """Take a mail as a mail server hands it over, by the machine's own clock."""
    config = cardinal.services.config
    environ = {
        "CARDINAL_HOME": str(config.home),
        "CARDINAL_GITHUB_URL": config.github_url,
        "CARDINAL_APP_ID": str(config.app_id),
        "CARDINAL_PRIVATE_KEY": config.private_key.reveal(),
        "CARDINAL_BOARD": "acme/1",
        "CARDINAL_DATABASE_URL": config.database_url,
        **{f"CARDINAL_{name.upper()}": value for name, value in office.settings.items()},
    }
    return CliRunner().invoke(main, ("receive", "mail"), input=raw, env=environ)


@pytest.fixture
def asked(cardinal: Cardinal, office: PostOffice) -> tuple[Item, QuestionId]:
    item = cardinal.at_work()
    question_id = cardinal.ask(cardinal.run_of(item).run_id, "Cents or euros?", *CHOICES)
    send(cardinal)
    return item, question_id


def mail_to(office: PostOffice, name: str, *words: str) -> list[str]:
    """Return the texts of the person's mails with all of these words."""
    texts = [text_of(it) for it in office.mails if it["To"] == f"{name}@example.org"]
    return [text for text in texts if all(word in text for word in words)]


def newest_to(office: PostOffice, name: str) -> Message:
    return [it for it in office.mails if it["To"] == f"{name}@example.org"][-1]


def test_a_reply_answers_the_question_and_the_run_goes_on(
    cardinal: Cardinal, office: PostOffice, asked: tuple[Item, QuestionId]
) -> None:
    item, question_id = asked
    (text,) = mail_to(office, "alice", "Cents or euros?")
    assert "1. Cents\n2. Euros\n\nReply with the number of your choice" in text
    to_alice = newest_to(office, "alice")
    reply = office.reply("2\n\nThanks\nAlice", to=to_alice)
    for _ in range(2):
        receive(cardinal, reply)
    (given,) = cardinal.events(CommandGiven)
    assert (given.by, given.place, given.via, given.source) == (
        "alice",
        "reply",
        "mail",
        f"reply:answer:{question_id}",
    )
    (answered,) = cardinal.events(QuestionAnswered)
    assert (answered.by, answered.text) == ("alice", "Euros")
    assert cardinal.run_of(item).state is RunState.QUEUED
    assert cardinal.comment(item, "`alice` gave `/cardinal answer` by mail: “2")
    assert mail_to(office, "alice", "About your reply") == []


def test_who_is_late_is_told_once_who_was_first(
    cardinal: Cardinal, office: PostOffice, asked: tuple[Item, QuestionId]
) -> None:
    item, _ = asked
    to_bob, to_alice = newest_to(office, "bob"), newest_to(office, "alice")
    cardinal.forge.store.repos.set_role(cardinal.repo, cardinal.person("bob"), Role.WRITE)
    receive(cardinal, office.reply("1", to=to_alice))
    late = office.reply("2", to=to_bob)
    for _ in range(2):
        receive(cardinal, late)
    assert [it.text for it in cardinal.events(QuestionAnswered)] == ["Cents"]
    (said,) = mail_to(office, "bob", "About your reply")
    assert "`alice` answered that question first" in said
    assert item


def test_the_role_on_github_decides_also_by_mail(
    cardinal: Cardinal, office: PostOffice, asked: tuple[Item, QuestionId]
) -> None:
    item, question_id = asked
    cardinal.forge.store.repos.set_role(cardinal.repo, cardinal.person("bob"), Role.READ)
    to_bob = newest_to(office, "bob")
    receive(cardinal, office.reply("1", to=to_bob))
    receive(cardinal, office.reply("/cardinal stop-all", to=to_bob, Message_ID="<2@b>"))
    assert [it.command for it in cardinal.events(CommandRefused)] == [
        f"reply:answer:{question_id}",
        "reply:stop-all",
    ]
    assert cardinal.events(QuestionAnswered) == []
    assert len(mail_to(office, "bob", "About your reply", "has the role `read` here")) == 2
    to_alice = newest_to(office, "alice")
    receive(cardinal, office.reply("/cardinal cancle", to=to_alice))
    assert mail_to(office, "alice", "Did you mean `/cardinal cancel`?")
    assert item


def test_a_plan_is_approved_by_a_command_and_not_by_other_words(
    cardinal: Cardinal, office: PostOffice
) -> None:
    cardinal.set_policy(with_column(plan_approval="required"))
    item = cardinal.new(column="In Progress")
    send(cardinal)
    run_id = cardinal.run_of(item).run_id
    cardinal.plan(run_id)
    send(cardinal)
    to_alice = newest_to(office, "alice")
    assert "Reply `/cardinal approve`" in text_of(to_alice)
    receive(cardinal, office.reply("Looks good", to=to_alice))
    assert mail_to(office, "alice", "About your reply", "The plan is still waiting")
    receive(cardinal, office.reply("/cardinal approve", to=to_alice, Message_ID="<2@b>"))
    assert [(it.run_id, it.by) for it in cardinal.events(PlanApproved)] == [(run_id, "alice")]


def test_a_forged_mail_does_nothing_and_one_that_github_cannot_judge_comes_again(
    cardinal: Cardinal, office: PostOffice, asked: tuple[Item, QuestionId]
) -> None:
    count, to_alice = cardinal.count(), newest_to(office, "alice")
    address = "cardinal+r1-q1.739999.aaaaaaaaaaaaaaaaaaaa@example.com"
    forged = receive_on_standard_input(cardinal, office, office.reply("1", to=to_alice, To=address))
    assert (forged.exit_code, "ignored" in forged.stderr, cardinal.count()) == (0, True, count), forged.output
    reply = office.reply("/cardinal status", to=to_alice)
    cardinal.forge.store.faults.load({"api": [{"path": "/permission", "status": 502, "count": 1}]})
    exits = [receive_on_standard_input(cardinal, office, reply).exit_code for _ in range(3)]
    assert exits == [75, 0, 0]
    assert [(it.command, it.by) for it in cardinal.events(CommandGiven)] == [("status", "alice")]
    send(cardinal)
    assert len(mail_to(office, "alice", "About your reply", "needs input")) == 1
    assert newest_to(office, "alice")["Reply-To"] is None  # so that no program answers it, and is answered
    assert asked


def test_who_is_taken_off_the_list_of_people_is_neither_told_nor_heard(
    cardinal: Cardinal, office: PostOffice, asked: tuple[Item, QuestionId], tmp_path: Path
) -> None:
    people = tmp_path / "people"
    cardinal.configure(sign_in_logins=people)
    people.write_text("bob = bob\n", encoding="utf-8")
    to_alice, to_bob = newest_to(office, "alice"), newest_to(office, "bob")
    with pytest.raises(UnreadMessageError):
        receive(cardinal, office.reply("1", to=to_alice))
    told = Counter(mail["To"] for mail in office.mails)
    other = cardinal.at_work()
    cardinal.ask(cardinal.run_of(other).run_id, "And who?")
    send(cardinal)
    assert Counter(mail["To"] for mail in office.mails) - told == {"bob@example.org": 1}
    held = PersonReply("alice", asked[1], "1", "a front-end that did not look")
    assert "not on the operator's list" in take_reply(cardinal.process, held, "mail")
    assert cardinal.events(QuestionAnswered) == []
    people.write_text("bob\n", encoding="utf-8")  # which cannot be read: nobody is lost, all wait
    with pytest.raises(SubscribersError):
        receive(cardinal, office.reply("1", to=to_bob))
