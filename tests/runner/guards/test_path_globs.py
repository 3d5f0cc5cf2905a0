"""Patterns of paths: they never go back, and mean the same as before."""

import pytest

from runner.guards.path_patterns import find_protected, outside


@pytest.mark.parametrize(
    ("pattern", "fits", "not_these"),
    [
        ("infra/**", ("infra/a/b.tf", "infra"), ("infrastructure/a", "x/infra/a")),
        ("*.tf", ("main.tf", "a/b/main.tf", "main.tf/x"), ("main.tfvars",)),
        ("**/auth/**", ("auth/a", "a/b/auth/c"), ("author/a", "a/bauth/c")),
        ("a/*/c", ("a/b/c", "a/b/c/d", "a"), ("a/b/d/c", "b/c")),
        ("a**c", ("abc", "x/a/b/c"), ("ab",)),
        ("secret?.txt", ("secret1.txt", "x/secret2.txt"), ("secret.txt", "secret/.txt")),
    ],
)
def test_stars_mean_names_and_folders(
    pattern: str, fits: tuple[str, ...], not_these: tuple[str, ...]
) -> None:
    assert [path for path, _ in find_protected((*fits, *not_these), [pattern])] == [*fits]


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "pattern", ["*a*a*a*a*a*a*b", "**a**a**a**a**a**b", "**/a/**/a/**/a/**/a/**/a/**/b", "?" * 200 + "b"]
)
def test_no_pattern_and_path_take_long(pattern: str) -> None:
    for path in ("a" * 4000, "a/" * 2000, "a/b" * 1300):
        find_protected([path], [pattern])
        outside([path], [pattern])
