"""A policy names images as Docker writes them: no ids, none of Cardinal's own, one spelling for each."""

import pytest

from rules.errors import PolicyError
from rules.policy.images import BROWSER_IMAGE, IMAGE, is_listed, why_unfit
from rules.policy.model import parse

DIGEST = "sha256:" + "a1" * 32
IDS = (
    "8",
    "87",
    "sha256:87",
    DIGEST,
    "a1" * 32,
    "a1" * 6,
    "cafe",
    "deadbeef",
    "sha256",
    f"@{DIGEST}",
    "sha256@" + DIGEST,
)
CARDINALS = (
    *("cardinal", "cardinal:latest", "cardinal/setup", "cardinal/setup:0123", "cardinal/base:bookworm"),
    *(f"cardinal/setup@{DIGEST}", "cardinal/agent:old", f"cardinal/agent@{DIGEST}", "cardinal/x/y:1"),
)
SPELLED = (
    *("docker.io/library/ruby", "docker.io/acme/ci:1", "index.docker.io/acme/ci", "library/ruby:3"),
    *(
        "localhost/acme/ci",
        "Acme/ci",
        "GHCR.io/acme/ci",
        f"acme/ci:1@{DIGEST}",
        "acme/ci@sha256:abc",
        "acme/ci:",
    ),
    *("acme//ci", "/acme/ci", "acme/ci/", "acme/ci\n", "acme/ci:1\0", "./acme/ci", "../acme/ci", "acme/../x"),
    *("https://ghcr.io/acme/ci", "acme/ci:1:2", "acme/ci@1", "ac me/ci", "acme/çi", "acme/ci:" + "x" * 129),
    *("docker.io/cardinal/setup:1", "localhost/cardinal/setup:1", "CARDINAL/setup:1", "acme/ci?x", "a" * 301),
)
FIT = (
    *(
        "acme/ci",
        "acme/ci:1",
        "acme/ci:Build_1.2-x",
        f"acme/ci@{DIGEST}",
        "ruby:3.3",
        "node",
        "cafe:1",
        "8:1",
    ),
    *("ghcr.io/acme/ci:1", "registry.example.com:5000/a/b/c:1", "localhost:5000/ci:1", IMAGE, BROWSER_IMAGE),
    *("cardinal/agent", "a.b-c__d/e---f", "127.0.0.1:5000/x"),
)
KEYS = {
    "image": "repository:\n  image: {}\n",
    "a tool server's": "repository:\n  mcp:\n    docs: {{command: [x], tools: [y], image: {}}}\n",
    "a browser's": "repository:\n  reproduction:\n    image: {}\n",
}


@pytest.mark.parametrize("image", [*IDS, *CARDINALS, *SPELLED], ids=ascii)
def test_an_unfit_name_is_refused_and_never_listed(image: str) -> None:
    assert why_unfit(image)
    assert not is_listed(image, (image, image.partition(":")[0]))


@pytest.mark.parametrize("image", FIT)
def test_a_plain_name_fits(image: str) -> None:
    assert why_unfit(image) == ""
    assert is_listed(image, (image,))


@pytest.mark.parametrize("text", KEYS.values(), ids=KEYS)
def test_every_key_for_an_image_refuses_it_with_the_line_and_the_reason(text: str) -> None:
    for image in ("'8'", "sha256:87", "cardinal/setup:0123", "docker.io/library/ruby", "Acme/ci"):
        with pytest.raises(PolicyError, match=r"line \d: .*image") as refused:
            parse("version: 1\n" + text.format(image), home=None)
        assert image.strip("'") in str(refused.value)
    assert parse("version: 1\n" + text.format("acme/ci:1"), home=None).repository.images


def test_a_listed_name_stands_for_its_tags_and_a_listed_tag_for_itself() -> None:
    assert all(is_listed(one, ("acme/ci",)) for one in ("acme/ci", "acme/ci:1", f"acme/ci@{DIGEST}"))
    assert is_listed("acme/ci", ("acme/ci:latest",))
    assert is_listed("acme/ci:1", ("acme/ci:1",))
    assert is_listed(f"acme/ci@{DIGEST}", (f"acme/ci@{DIGEST}",))
    for other in (
        "acme/ci",
        "acme/ci:2",
        "acme/ci:11",
        f"acme/ci@{DIGEST}",
        "acme/ci2:1",
        "ghcr.io/acme/ci:1",
    ):
        assert not is_listed(other, ("acme/ci:1",))
    assert is_listed(IMAGE, ())
    assert is_listed(BROWSER_IMAGE, ())
