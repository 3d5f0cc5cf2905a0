"""The tests that a change reaches, nearest first; for `scripts/test --changed`: `-m tests.changed SUITE...`.

A module reaches whoever imports it, names it in a string, or loads the folder that it is a part of. Any other
file reaches whole suites. What a process reads at run time is not seen: CI leaves nothing out.
"""

import re
import subprocess
import sys
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from pathlib import Path

PACKAGES = ("bot", "rules", "runner", "ledger", "forge", "tests")
IMPORTED = re.compile(r"^\s*from ([\w.]+) import (\([^)]*\)|.+)", re.MULTILINE)
DOTTED = re.compile(rf"(?:{'|'.join(PACKAGES)})(?:\.\w+)+")
LOADERS = ("import_module", "iter_modules", "Registry[")  # whoever has these loads the folders that it names
ALWAYS = "house"  # it reads the whole tree
MOST = 60  # files of tests that are played: each process of the suite imports what all of them want
READERS = {"bot": ("bot", "browser"), "forge": ("forge", "bot", "browser"), "docs": ()}  # of a folder's data


def changed(root: Path) -> list[str]:
    """Return the files that are not as where this branch left the main one, new ones too."""

    def git(*words: str) -> str:
        command = ("git", "-C", str(root), *words)
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout

    main = "origin/HEAD" if git("branch", "-r", "--list", "origin/HEAD") else "main"
    base = git("merge-base", "HEAD", main).strip()
    names = git("diff", "--name-only", "--no-renames", "-z", base)
    return (names + git("ls-files", "-zo", "--exclude-standard")).split("\0")[:-1]


def reached(root: Path, files: Iterable[str], suites: Iterable[str]) -> list[str]:
    """Return the test files of these suites that a change of the files reaches, those with the fewest imports
    between them first, and then whole suites.
    """
    paths = (path.relative_to(root) for package in PACKAGES for path in root.glob(f"{package}/**/*.py"))
    modules = {_name(path): path for path in paths}
    users: dict[str, set[str]] = defaultdict(set)
    for name, path in modules.items():
        for used in _used(name, path, (root / path).read_text(encoding="utf-8"), modules):
            users[used].add(name)
    whole, due, seen = {ALWAYS}, deque[str](), dict[str, None]()
    for file in map(Path, files):
        top, *below = file.parts
        if file.suffix == ".py" and top in PACKAGES and file.name != "conftest.py":
            name = _name(file)
            due.append(name if name in modules else name.rpartition(".")[0])
        else:
            whole |= {below[0]} if top == "tests" and len(below) > 1 else set(READERS.get(top, suites))
    while due:
        if (name := due.popleft()) not in seen:
            seen[name] = None
            due += sorted(users[name])
    tests = [
        str(modules[name]) for name in seen if name in modules and modules[name].name.startswith("test_")
    ]
    tests += [f"tests/{suite}" for suite in sorted(whole)]
    return [path for path in tests if path.split("/")[1] in suites]


def _name(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _used(name: str, path: Path, text: str, modules: Iterable[str]) -> Iterator[str]:
    """Yield the modules that this one uses, and the packages above them."""
    words = set(DOTTED.findall(text))
    for module, names in IMPORTED.findall(text):
        words |= {f"{module}.{word}" for word in re.findall(r"\w+", names)}
    if any(loader in text for loader in LOADERS):
        folders = words | ({name} if path.name == "__init__.py" else set())
        words |= {it for it in modules if any(it.startswith(f"{folder}.") for folder in folders)}
    if path.name.startswith("test_"):
        words |= {f"{name.rsplit('.', up)[0]}.conftest" for up in range(1, name.count(".") + 1)}
    for parts in (word.split(".") for word in (*words, name)):
        ends = range(1, len(parts) + 1)
        yield from (it for end in ends if (it := ".".join(parts[:end])) in modules and it != name)


if __name__ == "__main__":
    here = Path(__file__).parents[1]
    found = reached(here, changed(here), sys.argv[1:])
    files = [path for path in found if path.endswith(".py")]
    if left := len(files[MOST:]):
        print(f"scripts/test --changed: {left} files of tests further away are left to CI", file=sys.stderr)
    print(*files[:MOST], *(path for path in found if not path.endswith(".py")), sep="\n")
