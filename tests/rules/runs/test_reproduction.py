"""What is played in a browser: by policy, profile, flag and card, and what is said where nothing is."""

import pytest

from rules.errors import PolicyError
from rules.policy.model import parse_repository
from rules.policy.repository import RepositoryRules
from rules.runs.reproduction import Words, choose_reproduction

STEPS = Words('Steps:\n1. open /\n2. expect "Total 90"', counts=True)
OTHERS = Words(STEPS.text, counts=False)
PROSE = Words("It adds up wrongly.", counts=True)
SET = 'reproduction: {start: "make serve", address: "http://127.0.0.1:3000/"}'


def rules(lines: str = SET) -> RepositoryRules:
    return parse_repository(f"version: 1\nrepository:\n  {lines}\n", ())


def test_a_card_with_steps_is_played_where_the_repository_says_how() -> None:
    found = choose_reproduction(rules(), [PROSE, STEPS], requested=False)
    assert found is not None
    assert [step.text for step in found.steps] == ["open /", 'expect "Total 90"']
    assert (found.settings.start, found.settings.minutes, found.absent) == ("make serve", 5, "")


def test_nobody_hears_of_it_who_did_not_ask() -> None:
    nothing = RepositoryRules()
    assert choose_reproduction(nothing, [STEPS], requested=False) is None
    assert choose_reproduction(rules(), [PROSE], requested=False) is None


def test_who_asked_is_told_what_to_paste() -> None:
    found = choose_reproduction(RepositoryRules(), [STEPS], requested=True)
    assert found is not None
    assert 'reproduction: {start: "npm run dev", address: "http://127.0.0.1:3000/"}' in found.absent
    found = choose_reproduction(rules(), [PROSE], requested=True)
    assert found is not None
    assert "1. `open /cart`" in found.absent
    for one in ('start: "make serve"', 'address: "http://127.0.0.1:3000/"'):
        half = choose_reproduction(rules(f"reproduction: {{{one}}}"), [STEPS], requested=False)
        assert half is not None
        assert "reproduction: {start:" in half.absent


def test_a_profile_says_what_the_policy_does_not() -> None:
    found = choose_reproduction(rules("profile: node_app"), [STEPS], requested=True)
    assert found is not None
    assert (found.settings.start, found.settings.address) == ("npm run dev", "http://127.0.0.1:3000/")
    repository_rules = rules(
        'profile: node_app\n  reproduction: {start: "npm start", address: "http://127.0.0.1:9/"}'
    )
    found = choose_reproduction(repository_rules, [STEPS], requested=False)
    assert found is not None
    assert (found.settings.start, found.settings.address) == ("npm start", "http://127.0.0.1:9/")


def test_steps_by_somebody_without_write_access_are_not_played_and_that_is_said() -> None:
    found = choose_reproduction(rules(), [OTHERS, PROSE], requested=False)
    assert found is not None
    assert found.steps == ()
    assert "`/cardinal ok`" in found.absent


def test_the_first_steps_that_count_are_played() -> None:
    found = choose_reproduction(
        rules(), [OTHERS, Words("Steps:\n- open /newest", counts=True), STEPS], requested=False
    )
    assert found is not None
    assert [step.text for step in found.steps] == ["open /newest"]


def test_a_line_that_is_not_understood_is_said() -> None:
    mixed = Words("Steps:\n- open /\n- buy it", counts=True)
    found = choose_reproduction(rules(), [mixed, STEPS], requested=False)
    assert found is not None
    assert "Line 2 of the card's steps is not understood: `buy it`." in found.absent


@pytest.mark.parametrize("counts", [True, False])
def test_steps_in_prose_are_told_to_nobody_but_who_asked(counts: bool) -> None:
    prose = Words("### Steps to reproduce\n\n1. Go to the till\n2. Buy something\n", counts)
    assert choose_reproduction(rules(), [prose], requested=False) is None
    found = choose_reproduction(rules(), [prose, STEPS], requested=False)
    assert found is not None
    assert [step.text for step in found.steps] == ["open /", 'expect "Total 90"']
    told = choose_reproduction(rules(), [prose], requested=True)
    assert told is not None
    assert ("Line 1 of the card's steps is not understood" in told.absent) is counts
    assert ("without write access" in told.absent) is not counts


@pytest.mark.parametrize(
    "written",
    [
        'address: "http://example.org/"',
        'address: "http://0.0.0.0:3000/"',
        'address: "https://127.0.0.1:3000/"',
        'address: "http://127.0.0.1.example.org/"',
        'address: "http://127.0.0.1:3000@example.org/"',
        "ready_s: 0",
        "ready_s: 601",
        "minutes: 31",
        "minutes: 0",
        "minutes: true",
        "required: true",
        "start: [npm]",
        'image: ""',
    ],
)
def test_what_is_written_wrongly_is_a_problem_of_the_policy(written: str) -> None:
    with pytest.raises(PolicyError):
        rules(f"reproduction: {{{written}}}")
