"""What of the network is left where column, stage and persona each allow some of it."""

import pytest

from rules.policy.network import FULL, beyond, narrowest, word


@pytest.mark.parametrize(
    ("host", "most", "fits"),
    [
        ("a.org", FULL, True),
        ("*", FULL, True),
        ("*", ("a.org",), False),
        ("a.org", (), False),
        ("A.org ", ("a.ORG",), True),
        ("b.a.org", ("*.a.org",), True),
        ("*.b.a.org", ("*.a.org",), True),
        ("*.a.org", ("*.a.org",), True),
        ("*.a.org", ("b.a.org",), False),
        ("a.org", ("*.a.org",), False),  # only names below it
        ("evila.org", ("*.a.org",), False),
        ("a.org:8443", ("a.org",), False),
        ("a.org", ("a.org:8443",), False),
        ("b.a.org:8443", ("*.a.org:8443",), True),
        ("b.a.org:8443", ("*.a.org",), False),
    ],
)
def test_a_pattern_is_within_another_only_if_all_that_it_allows_is(
    host: str, most: tuple[str, ...], fits: bool
) -> None:
    assert beyond((host,), most) == (() if fits else (host,))


@pytest.mark.parametrize(
    ("wanted", "left"),
    [
        ((FULL, None, None), FULL),
        ((FULL, ("a.org",), None), ("a.org",)),
        ((("a.org", "b.org"), ("b.org", "c.org"), None), ("b.org",)),
        ((("*.a.org",), ("x.a.org", "y.org"), None), ("x.a.org",)),
        ((("x.a.org",), ("*.a.org",), ()), ()),
        ((("a.org",), None, FULL), ("a.org",)),
        (((), FULL, FULL), ()),
    ],
)
def test_what_is_left_is_what_all_of_them_allow(
    wanted: tuple[tuple[str, ...] | None, ...], left: tuple[str, ...]
) -> None:
    assert narrowest(*wanted) == left


def test_the_words_for_it() -> None:
    assert [word(hosts) for hosts in ((), ("a.org",), FULL)] == ["none", "list", "full"]
