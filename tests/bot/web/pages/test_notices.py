"""What a person is sent by chat or mail, on a page: their own settings, and no address."""

import json

from bot.outbox import subscribers
from bot.web.pages.notices import NOTHING, UNREADABLE
from rules.chatops.notices import Subscriber
from tests.bot.web.pages.world import Pages

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
    assert "<dt>the next comes at</dt>" in bob.text
    assert "after 4 h to alice, too" in bob.text
    assert "every 60 min, together" in alice.text
    assert "Questions to Bob that nobody answers in 4 h come to you, too." in alice.text
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
