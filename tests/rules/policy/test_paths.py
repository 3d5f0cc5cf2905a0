"""Paths of a monorepo in a policy: folders below the root, each once, each with checks."""

import pytest

from rules.errors import PolicyError
from rules.policy.model import parse_repository

TEXT = """\
version: 1
repository:
  validation: {{full: [make test]}}
  paths:
    "web": {{validation: {{full: [npm test]}}}}
    "{name}": {{working_directory: "{where}", validation: {{fast: [{check}]}}}}
"""


def policy(name: str, where: str = "", check: str = "ls") -> str:
    return TEXT.format(name=name, where=where, check=check)


@pytest.mark.parametrize("name", ["services/api", "services/api/", "web/ä b", "webs", "a.b/..c"])
def test_folders_below_the_root_are_paths(name: str) -> None:
    rules = parse_repository(policy(name, where="."))
    assert list(rules.paths) == ["web", name]
    assert parse_repository(policy("other")).definition != rules.definition


@pytest.mark.parametrize(
    ("name", "where", "said"),
    [
        ("../shop", "", "paths.../shop: contains `..`"),
        ("a/../../b", "", "contains `..`"),
        ("/srv/shop", "", "paths./srv/shop: is absolute"),
        ("~/shop", "", "is absolute"),
        ("C:/shop", "", "is absolute"),
        (".", "", "is not a folder below the root"),
        ("", "", "is not a folder below the root"),
        ("./a", "", "is not a folder below the root"),
        ("a//b", "", "is not a folder below the root"),
        ("a\\\\b", "", "is not a folder below the root"),
        ("a\\nb", "", "is not a folder below the root"),
        (" a", "", "is not a folder below the root"),
        (".git/hooks", "", "is git's own folder"),
        ("services/*", "", "is a pattern: list each folder"),
        ("web/", "", "differs from `web` only in case or a trailing slash"),
        ("WEB", "", "differs from `web` only in case or a trailing slash"),
        ("api", "../api", "paths.api.working_directory: contains `..`"),
        ("api", "/api", "paths.api.working_directory: is absolute"),
    ],
)
def test_what_is_no_folder_below_the_root_is_refused_with_line_and_sentence(
    name: str, where: str, said: str
) -> None:
    with pytest.raises(PolicyError) as refused:
        parse_repository(policy(name, where))
    (problem,) = refused.value.problems
    assert problem.startswith("line 6: repository.paths")
    assert said in problem


def test_no_file_is_left_without_checks_by_mistake() -> None:
    with pytest.raises(PolicyError, match=r"line 6: .* has no checks, so its files would not be checked"):
        parse_repository(policy("api", check=""))
    outside = policy("api").replace("  validation: {full: [make test]}\n", "")
    with pytest.raises(PolicyError, match=r"line 3: .* files outside these paths have no checks"):
        parse_repository(outside)
    many = "".join(f"    p{number}: {{validation: {{full: [x]}}}}\n" for number in range(50))
    with pytest.raises(PolicyError, match=r"repository.paths: Dictionary should have at most 50 items"):
        parse_repository(policy("api") + many)
