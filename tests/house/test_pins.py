"""What is installed is pinned exactly, and where it is downloaded from is the machine's business."""

import tomllib
from collections.abc import Iterable, Iterator

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.house.source import ROOT


def loose_lines(constraints: str) -> Iterator[str]:
    """Yield every line that is not `name==version`: ranges, addresses, options, hashes."""
    for line in constraints.splitlines():
        if line and not line.startswith("#"):
            name, equals, version = line.partition("==")
            plain = all(
                part.replace(".", "").replace("_", "").replace("-", "").isalnum() for part in (name, version)
            )
            if not equals or not plain:
                yield line


def unpinned(requirements: Iterable[str], constraints: str) -> Iterator[str]:
    """Yield the requirements that have no pin, or a pin that they do not allow."""
    lines = [line.partition("==") for line in constraints.splitlines() if "==" in line]
    pins = {canonicalize_name(name): version for name, _, version in lines}
    for text in requirements:
        wanted = Requirement(text)
        version = pins.get(canonicalize_name(wanted.name))
        if version is None or not wanted.specifier.contains(version, prereleases=True):
            yield text


def test_every_constraint_is_an_exact_version_without_an_address() -> None:
    assert list(loose_lines((ROOT / "constraints.txt").read_text(encoding="utf-8"))) == []


def test_everything_that_the_project_names_is_pinned() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = settings["project"]
    groups = [
        settings["build-system"]["requires"],
        project["dependencies"],
        *project["optional-dependencies"].values(),
    ]
    named = [text for group in groups for text in group if Requirement(text).name != project["name"]]
    assert list(unpinned(named, (ROOT / "constraints.txt").read_text(encoding="utf-8"))) == []


def test_the_pin_tests_bite() -> None:
    assert list(loose_lines("a==1.0\n# why\nb_c==2.0rc1\n")) == []
    bad = ["a>=1", "a @ file:///a.whl", "--index-url x", "a==1 --hash=sha256:0", "-e .", "a==1,<2"]
    assert list(loose_lines("\n".join(bad))) == bad
    assert list(unpinned(["Flask>=3", "rq>=2", "redis"], "flask==3.1\nrq==1.0\n")) == ["rq>=2", "redis"]
