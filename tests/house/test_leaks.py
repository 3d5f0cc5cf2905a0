"""Nothing in the repository names the machine it was written on or a host that packages come from."""

import re
from collections.abc import Iterable, Iterator

from tests.house.source import ROOT, tracked

# Written in pieces, so that this file does not contain what it looks for.
HOSTS = [
    "pypi" + ".org",
    "pythonhosted" + ".org",
    "registry.npmjs" + ".org",
    "registry.yarnpkg" + ".com",
    "proxy.golang" + ".org",
    "registry-1.docker" + ".io",
    "index.crates" + ".io",
]
OTHER_FOLDERS = [r"\.\./" + "shared"]
# Not after a letter, a brace or a dot: `{base}/work/` and `https://host/work/` are other places.
PLACES = [r"(?<![\w}.\-])/" + "work/", r"(?<![\w}.\-])/" + "root/"]
WORDS = [*HOSTS, "/" + "shared", "/" + "work/", "/" + "root/"]  # one of them is in every leak
LEAK = re.compile("|".join([*map(re.escape, HOSTS), *OTHER_FOLDERS, *PLACES]))


def leaks(files: Iterable[tuple[str, str]]) -> Iterator[str]:
    for path, text in files:
        if not any(word in text for word in WORDS):
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            found = LEAK.search(line)
            if found:
                yield f"{path}:{number} {found.group()}"


def texts() -> Iterator[tuple[str, str]]:
    """Yield path and text of every tracked file; of pictures and the like only what reads as text."""
    for path in tracked():
        yield path, (ROOT / path).read_bytes().decode("utf-8", errors="replace")


def test_no_file_names_this_machine_or_a_registry() -> None:
    assert list(leaks(texts())) == []


def test_the_leak_test_bites() -> None:
    bad = [
        "see https://" + HOSTS[0] + "/simple",
        "../" + "shared/DESIGN.md",
        'open("/' + 'work/main/a")',
        "/" + "root/x",
    ]
    assert len(list(leaks(("a.md", line) for line in bad))) == len(bad)
    assert (
        list(leaks([("a.md", "https://example.org/work/1 {base}/work/ network"), ("b.md", "homework/root/")]))
        == []
    )
