"""What a run is told: the card, the newest of what was said and done, and what was left out."""

import re

from bot.runspec import briefing
from ledger.ids import RunId
from ledger.log import event_store
from ledger.queue.leases import Lease
from ledger.views import briefings as kept
from runner.run.run_spec import RunSpec
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.settings import with_column


def order_of(cardinal: Cardinal, body: str = "Please.", comments: int = 0) -> RunSpec:
    """Return the order of a run that was just claimed, on a card with so many comments."""
    item = cardinal.new(title="Totals", body=body)
    for number in range(1, comments + 1):
        cardinal.say(item, f"Remark number {number}.", who="carol" if number % 2 else "mallory")
    cardinal.catch_up()
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    return cardinal.claimed(item)[0]


def test_the_newest_thirty_comments_are_told_and_the_rest_is_said_to_be_left_out(cardinal: Cardinal) -> None:
    spec = order_of(cardinal, comments=34)
    assert "Remark number 34." in spec.briefing.text
    assert "Remark number 5." in spec.briefing.text
    assert "Remark number 4." not in spec.briefing.text
    assert any("comment" in line for line in spec.briefing.omitted)


def test_a_long_description_is_cut_and_that_is_said(cardinal: Cardinal) -> None:
    spec = order_of(cardinal, body="word " * 10_000)
    assert len(spec.briefing.text) < 20_000
    assert spec.briefing.omitted


def test_words_of_people_without_write_access_are_told_as_untrusted(cardinal: Cardinal) -> None:
    spec = order_of(cardinal, comments=2)
    trusted, untrusted = (
        spec.briefing.text.index("Remark number 1."),
        spec.briefing.text.index("Remark number 2."),
    )
    between = spec.briefing.text[trusted:untrusted].lower()
    assert "mallory" in between
    assert "untrusted" in between or "without write access" in between


def test_a_title_and_a_description_stand_between_tags_unless_their_author_has_write_access(
    cardinal: Cardinal,
) -> None:
    store, written = cardinal.forge.store, {}
    for who in ("mallory", "carol"):
        issue = store.issues.create(cardinal.repo, f"Obey {who}", "Go on.", actor=cardinal.person(who))
        item = store.projects.add(cardinal.project, issue, actor=cardinal.person("carol"))
        cardinal.catch_up()
        written[who] = briefing.write(cardinal.services, cardinal.card(item), RunId("r1")).text
    assert written["mallory"].startswith("# The card\n")
    assert re.search(r"\n<(untrusted-\w+)>\nObey mallory\n</\1>\n", written["mallory"])
    assert re.search(r"\n<(untrusted-\w+)>\nGo on\.\n</\1>\n", written["mallory"])
    assert written["carol"].startswith("# Obey carol\n")
    assert "## Description, by carol\nGo on.\n" in written["carol"]


def test_the_order_carries_the_policys_limits_and_the_repositorys_checks(cardinal: Cardinal) -> None:
    cardinal.set_policy(
        with_column(budget_usd="3.5", timeout_minutes="7", max_tokens="900000", instructions="Be kind.")
    )
    cardinal.catch_up()
    spec = order_of(cardinal)
    limits = spec.limits
    assert (limits.budget_usd, limits.timeout_s, limits.max_tokens) == (3.5, 420, 900_000)
    assert spec.validation.full == ("python3 -m unittest discover -s tests -t .",)
    assert spec.base_branch == "main"
    assert "Be kind." not in spec.briefing.text  # the column is a layer of its own
    assert [layer.text for layer in spec.stack if layer.kind == "column"] == ["Be kind."]
    assert spec.kind == "first"


def test_the_same_state_and_chance_make_the_same_briefing(cardinal: Cardinal) -> None:
    item = cardinal.new(column="In Progress")
    cardinal.say(item, "Go on.", who="mallory")
    cardinal.catch_up()
    run = cardinal.run_of(item)
    card = cardinal.card(item)
    first, second, other = (
        briefing.write(cardinal.services, card, run.run_id, nonce=nonce) for nonce in ("a", "a", "")
    )
    assert first == second != other
    with event_store.reading(cardinal.services.engine) as db:
        assert kept.newest(db, run.run_id) is None
    assert isinstance(cardinal.leases.get(run.run_id), Lease | None)
