"""What a person is sent by chat or mail, on a page: their own settings, and no address."""

import json
from urllib.parse import urlencode

import pytest

from bot.outbox import subscribers
from bot.web.pages.notices import A_MINUTE, NOTHING, UNREADABLE
from ledger.events.person import NoticesChosen
from ledger.log import event_store
from rules.chatops.notices import Subscriber
from tests.bot.web.pages.forms import HERE, TEXTUAL
from tests.bot.web.pages.world import PUBLIC, Browser, Pages

SECRET = "mailto://user:hunter2@example.com"


def subscriber(**settings: object) -> Subscriber:
    return Subscriber.model_validate({"address": SECRET, **settings})


def test_who_is_told_sees_of_what_and_when_and_nobody_sees_an_address(pages: Pages) -> None:
    home, now = pages.cardinal.services.config.home, pages.cardinal.clock()
    quiet = {"quiet_from": f"{now:%H}:00", "quiet_until": f"{(now.hour + 2) % 24:02}:00"}
    bobs = subscriber(
        kinds=["question"], boards=["ACME/1", "other/7"], mine=True, escalate_to="alice", **quiet
    )
    known = {"Bob": bobs, "carol": subscriber(channel=True), "alice": subscriber(digest_minutes=60)}
    subscribers.write(home, known)
    bob, alice, carol = (pages.browser(name).get("/notices") for name in ("bob", "alice", "carol"))
    assert "<bdi>question of runs that you started</bdi>" in bob.text
    assert "<bdi>acme/1, 1 board that you may not see</bdi>" in bob.text
    assert "<dt>quiet until</dt>" in bob.text
    assert "after 4 h to alice, too" in bob.text
    assert "<bdi>question, approval, failure, stopped</bdi>" in alice.text
    assert "<bdi>review, spend: every 60 min</bdi>" in alice.text
    assert "You also get Bob&#39;s questions when they go unanswered for 4 h." in alice.text
    assert NOTHING in carol.text  # a channel of her name is not she
    for page in (bob, alice, carol):
        assert page.status_code == 200
        assert "hunter2" not in page.text
        assert "mailto" not in page.text
    (home / subscribers.FILE).write_text(json.dumps({"bob": {"address": SECRET, "digest_minutes": -1}}))
    broken = pages.browser("bob").get("/notices").text
    assert UNREADABLE in broken
    assert "hunter2" not in broken
    assert pages.browser("bob", signed_in=False).get("/notices").status_code == 401


CHOICE = {"kinds": ["failure", "spend"], "digest_minutes": "60", "time_zone": "Europe/Berlin"}
CHOICE |= {"quiet_from": "22:00", "quiet_until": "07:30"}


def choose(browser: Browser, headers: dict[str, str] = HERE, **other: str) -> int:
    body = urlencode({**CHOICE, **other}, doseq=True)
    more = {"content_type": TEXTUAL, "base_url": PUBLIC, "headers": headers}
    return browser.here.post("/notices", data=body, **more).status_code


def test_a_person_narrows_their_own_notices_and_the_log_says_who_and_from_where(pages: Pages) -> None:
    engine, home = pages.cardinal.services.engine, pages.cardinal.services.config.home
    known = {"Bob": subscriber(kinds=["question", "failure"]), "alice": subscriber()}
    subscribers.write(home, known)
    bob = pages.browser("bob")
    assert 'name="kinds" value="failure" checked' in bob.get("/notices").text
    assert [choose(bob), choose(bob)] == [303, 303]
    (event,) = pages.cardinal.events(NoticesChosen)
    who = pages.cardinal.person("bob")
    assert (event.login, event.user_id, event.door, event.kinds) == (
        "bob",
        who.id,
        "pages",
        ("failure", "spend"),
    )
    with event_store.reading(engine) as db:
        now = subscribers.of_people(db, known)
    assert now["alice"] == known["alice"]
    assert (now["Bob"].kinds, now["Bob"].address) == (("failure",), SECRET)
    page = bob.get("/notices").text
    assert "22:00 to 07:30, Europe/Berlin" in page
    assert 'name="kinds" value="question">' in page
    assert 'value="spend"' not in page
    assert subscribers.read(home) == known


@pytest.mark.parametrize(
    ("other", "headers", "status"),
    [
        ({}, {"Origin": "https://evil.example"}, 403),
        ({}, {}, 403),
        ({"kinds": "everything"}, HERE, 400),
        ({"digest_minutes": "99999"}, HERE, 400),
        ({"quiet_from": "25:00"}, HERE, 400),
        ({"time_zone": "../../etc/passwd"}, HERE, 400),
        ({"time_zone": "x" * 5000}, HERE, 413),
    ],
)
def test_a_choice_that_is_forged_or_unfit_changes_nothing(
    pages: Pages, other: dict[str, str], headers: dict[str, str], status: int
) -> None:
    subscribers.write(pages.cardinal.services.config.home, {"bob": subscriber()})
    assert choose(pages.browser("bob"), headers, **other) == status
    assert pages.cardinal.events(NoticesChosen) == []


def test_nobody_chooses_for_others_or_without_end(pages: Pages) -> None:
    home = pages.cardinal.services.config.home
    subscribers.write(home, {"bob": subscriber(), "carol": subscriber(channel=True)})
    assert choose(pages.browser("carol")) == 409  # a channel of her name is not she
    assert choose(pages.browser("bob", signed_in=False)) == 401
    (home / subscribers.FILE).write_text("{")
    assert choose(pages.browser("bob")) == 409
    answers = [choose(pages.browser("bob"), digest_minutes=str(n)) for n in range(A_MINUTE)]
    assert answers[-1] == 503
    assert pages.cardinal.events(NoticesChosen) == []
