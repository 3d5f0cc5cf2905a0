"""GitHub's addresses follow from a setting: no other module names the host of github.com."""

import ast
from collections.abc import Iterable, Iterator

from tests.house.source import Source, sources, with_words

ADDRESSES = "bot/system/github_address.py"
NOBODYS = "@users.noreply."  # in front: an author of commits, no address to call


def named(files: Iterable[Source]) -> Iterator[str]:
    """Yield every text of the code, docstrings left out, that names the host."""
    for source in with_words(files, [r"github\.com"]):
        sentences = {id(node.value) for node in source.nodes() if isinstance(node, ast.Expr)}
        for node in source.nodes():
            text = node.value if isinstance(node, ast.Constant) and id(node) not in sentences else ""
            if isinstance(text, str) and "github.com" in text.replace(f"{NOBODYS}github.com", ""):
                yield f"{source.path}:{getattr(node, 'lineno', 0)} {text}"


def test_only_one_module_names_the_host_of_github() -> None:
    files = sources("bot", "rules", "runner", "ledger")
    assert list(named(file for file in files if file.path != ADDRESSES)) == []


def test_the_test_bites() -> None:
    bad = 'a = "https://api.github.com"\nb = f"https://github.com/{a}"\n'
    good = '"""docs.github.com"""\nc = "x@users.noreply.github.com"\n'
    found = list(named([Source("a.py", bad + good), Source("b.py", good)]))
    assert [line.partition(" ")[0] for line in found] == ["a.py:1", "a.py:2"]
