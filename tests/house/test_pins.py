"""What is installed is pinned with its hashes, and where it is downloaded from is the machine's business."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib import metadata

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.house.source import PACKAGES, ROOT, Source, sources, tracked

LISTS = ("app", "extras", "dev")  # what one environment takes; the lists of the images stand alone
IMAGES = ("browser", "node")
BUILD = "build"  # installs the others, before them
PROVIDERS = metadata.packages_distributions()  # of a package that is imported
INSIDE = "/in_container/"  # what a container's image has, and neighbours
PIN = re.compile(r"(?P<name>[\w.-]+)==(?P<version>[\w.]+)(?: ; [^\\#@]+)?(?: --hash=sha256:[0-9a-f]{64})+")
INSTALL = re.compile(r"\b(?:pip|pip\[@\]\}\"|uv)\"? (?:--?[\w-]+ )*install (?P<rest>[^\n]*)")


def written(name: str) -> str:
    return (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")


def loose_lines(text: str) -> Iterator[str]:
    """Yield every line that is not `name==version` with hashes: ranges, addresses, options."""
    for line in re.sub(r" *\\\n *", " ", text).splitlines():
        if not PIN.fullmatch(line):
            yield line


def pins(*texts: str) -> dict[str, str]:
    found = (PIN.match(line) for text in texts for line in re.sub(r" *\\\n *", " ", text).splitlines())
    return {canonicalize_name(one["name"]): one["version"] for one in found if one}


def unpinned(requirements: Iterable[str], versions: dict[str, str]) -> Iterator[str]:
    """Yield the requirements that have no pin, or a pin that they do not allow."""
    for text in requirements:
        wanted = Requirement(text)
        version = versions.get(canonicalize_name(wanted.name))
        if version is None or not wanted.specifier.contains(version, prereleases=True):
            yield text


def unhashed(text: str) -> Iterator[str]:
    """Yield the installs of a script or Dockerfile that take packages without hashes."""
    for found in INSTALL.finditer(re.sub(r"\\\n\s*", " ", text)):
        arguments = found["rest"].split(" &&")[0]
        own = "--no-deps" in arguments and arguments.rstrip().endswith(" .")  # Cardinal itself
        if "--require-hashes" not in arguments and not own:
            yield found[0]


@pytest.mark.parametrize("name", [*LISTS, *IMAGES, BUILD])
def test_every_pin_is_an_exact_version_with_hashes_and_without_an_address(name: str) -> None:
    assert list(loose_lines(written(name))) == []
    assert pins(written(name))


def test_what_the_images_take_is_what_the_tests_have() -> None:
    versions = pins(*map(written, LISTS))
    assert {name: versions.get(name) for name in pins(written("browser"))} == pins(written("browser"))
    assert pins(written(BUILD)) == {name: metadata.version(name) for name in ("pip", "setuptools")}


def test_no_package_is_in_two_lists_of_one_environment() -> None:
    assert sum(len(pins(written(name))) for name in LISTS) == len(pins(*map(written, LISTS)))


def undeclared(sources: Iterable[Source], groups: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the imports of packages that only another package's needs bring along."""
    declared = {canonicalize_name(Requirement(text).name) for group in groups for text in group}
    own = {*sys.stdlib_module_names, *PACKAGES, "docs", "tests"}
    for source in sources:
        if INSIDE in source.path:
            continue
        for top in {full.split(".")[0] for _, full in source.imported_names()} - own:
            names = {canonicalize_name(name) for name in PROVIDERS.get(top, ())}
            if not names & declared and not top.startswith("_"):
                yield f"{source.path} imports {top}"


def test_everything_that_is_imported_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: texts for name, texts in project["optional-dependencies"].items() if name != "dev"}
    shipped = [project["dependencies"], *extras.values()]
    assert list(undeclared(sources(*PACKAGES), shipped)) == []
    every = [*shipped, project["optional-dependencies"]["dev"]]
    assert list(undeclared(sources("docs", "tests"), every)) == []
    assert "runner/gateway/control/mcp_server.py imports starlette" in list(
        undeclared(sources("runner"), [["mcp"]])
    )


def test_everything_that_the_project_names_is_pinned() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = settings["project"]
    groups = [
        settings["build-system"]["requires"],
        project["dependencies"],
        *project["optional-dependencies"].values(),
    ]
    named = [text for group in groups for text in group if Requirement(text).name != project["name"]]
    assert list(unpinned(named, pins(*map(written, (BUILD, *LISTS))))) == []


def test_the_lists_are_whole() -> None:
    checked = subprocess.run(
        [sys.executable, "-m", "pip", "check"], capture_output=True, text=True, check=False, timeout=120
    )
    assert checked.returncode == 0, checked.stdout


def test_everything_is_installed_by_its_hashes() -> None:
    files = [path for path in tracked() if path.startswith(("scripts/", "docker/", ".ci/", ".github/"))]
    texts = {path: (ROOT / path).read_text(encoding="utf-8") for path in files}
    assert sum(len(INSTALL.findall(text)) for text in texts.values()) >= 7
    bad = {path: list(unhashed(text)) for path, text in texts.items()}
    # uv, which writes the lists, runs nothing of Cardinal's; an operator names the package of an agent of
    # their own by its exact version.
    free = {"scripts/pin", "docker/program/install"}
    assert {path for path, found in bad.items() if found} == free


def test_the_pin_tests_bite() -> None:
    digest = "--hash=sha256:" + "0" * 64
    assert (
        list(loose_lines(f"a==1.0 \\\n    {digest}\nb_c==2.0rc1 ; os_name == 'nt' \\\n    {digest}\n")) == []
    )
    bad = [f"a>=1 {digest}", "a @ file:///a.whl", "--index-url x", "a==1", "-e .", f"a==1,<2 {digest}"]
    assert list(loose_lines("\n".join(bad))) == bad
    known = pins(f"flask==3.1 {digest}\nrq==1.0 {digest}\n")
    assert list(unpinned(["Flask>=3", "rq>=2", "redis"], known)) == ["rq>=2", "redis"]
    assert list(unhashed("x/pip install --quiet \\\n  -r a.txt && echo")) != []
    assert list(unhashed("x/pip install --no-deps flask")) != []
    assert list(unhashed('"${pip[@]}" install -c constraints.txt setuptools')) != []
    assert list(unhashed("x/pip install --require-hashes -r a && y/pip install --no-deps -e .")) == []
