"""What people write as a filter: read in any case, refused in one sentence where it names nothing."""

import pytest

from bot.state.card_filters import MAX_CHARS, MAX_WORDS, FilterError, read
from ledger.queries.card_filter import ALL, CardChoices, CardFilter
from ledger.states import CardState

KNOWN = CardChoices(("acme/shop", "acme/till"), ("Ann", "bob"), ("Bug", "bug", "größe"), ("claude", "prober"))


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, ALL),
        ({"state": "", "label": None, "search": "  "}, ALL),
        ({"state": "Needs input"}, CardFilter(state=CardState.NEEDS_INPUT)),
        ({"state": "needs-input"}, CardFilter(state=CardState.NEEDS_INPUT)),
        ({"state": "at rest"}, CardFilter(state=CardState.DRAFT)),
        ({"state": "draft"}, CardFilter(state=CardState.DRAFT)),
        ({"repository": "ACME/Shop", "person": "ann"}, CardFilter(None, ("acme/shop",), ("Ann",))),
        ({"label": "BUG"}, CardFilter(labels=("Bug", "bug"))),
        ({"label": "GRÖSSE "}, CardFilter(labels=("größe",))),
        ({"agent": "Prober"}, CardFilter(agents=("prober",))),
        ({"search": " big\tbasket #17 "}, CardFilter(words=("big", "basket", "#17"))),
    ],
)
def test_a_filter_is_read_whatever_its_case(given: dict[str, str | None], wanted: CardFilter) -> None:
    assert read(given, KNOWN) == wanted


@pytest.mark.parametrize(
    ("given", "field", "said"),
    [
        ({"label": "bgu"}, "label", "no card here has the label “bgu”: did you mean bug?"),
        ({"person": "zzz"}, "person", "no card here has the person “zzz”: correct it, or leave it out"),
        ({"repository": "acme"}, "repository", "no card here has the repository “acme”"),
        ({"state": "broken"}, "state", "no card here can have the state “broken”: choose failed or done"),
        ({"state": "queued"}, "state", "no card here can have the state “queued”"),
        ({"person": "\u202eevil\x1b[2J"}, "person", "the person “evil[2J”"),
        ({"label": "x" * (MAX_CHARS + 1)}, "label", "a label may have up to 200 characters: shorten it"),
        ({"search": "x " * (MAX_WORDS + 1)}, "search", "a search may have up to 8 words: remove some"),
    ],
)
def test_what_names_nothing_or_is_too_much_is_refused(given: dict[str, str], field: str, said: str) -> None:
    with pytest.raises(FilterError) as refused:
        read(given, KNOWN, (CardState.FAILED, CardState.DONE))
    assert refused.value.field == field
    assert said in str(refused.value)
