"""What is said about files that name the programs of a repository's work."""

import pytest

from rules.policy.projects.environment import describe_environment

PATH = ".devcontainer/devcontainer.json"


@pytest.mark.parametrize(
    ("names", "text", "said"),
    [
        (["mise.toml"], "", "`mise.toml`: Cardinal installs no tools from it; name an image"),
        ([".tool-versions"], "", "`.tool-versions`: Cardinal installs no tools"),
        (["flake.nix"], "", "`flake.nix`: Cardinal runs no Nix"),
        ([PATH], '{"image": "a:1", "mounts": []}', "made from the image a:1. Left out: mounts. It counts"),
        ([PATH], "{}", "must have either `image` or `build.dockerfile`. It does not count"),
        ([".devcontainer/a/devcontainer.json", ".devcontainer/b/devcontainer.json"], "", "none of them"),
    ],
)
def test_each_has_a_sentence_that_says_what_cardinal_does_with_it(
    names: list[str], text: str, said: str
) -> None:
    (sentence,) = describe_environment([*names, "README.md", "sub/flake.nix"], {PATH: text})
    assert said in sentence
