"""Writes the tests that must fail, one beside each folder's own: the second witness. Pure.

A program of the checkout that tells them from its own tests can behave while they run. So they have ordinary
names that nobody can guess, stand where the repository's own tests stand, in their style, and are committed.
"""

import re
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from posixpath import basename, dirname, join, splitext

from runner.checks.summary import Language, Runner

MAX_FOLDERS = 40
_MAX_LOADED = 30  # modules of one folder, or of one file of Python
_WORDS = [
    "amount", "archive", "balance", "basket", "batch", "border", "branch", "budget", "bundle",
    "button", "cache", "calendar", "carrier", "catalog", "channel", "charge", "client", "column",
    "comment", "config", "counter", "country", "coupon", "credit", "currency", "customer", "deadline",
    "delivery", "discount", "document", "domain", "draft", "entry", "event", "export", "feature",
    "filter", "folder", "format", "gateway", "header", "history", "import", "index", "invoice", "item",
    "journal", "label", "layout", "ledger", "limit", "margin", "market", "member", "message", "metric",
    "number", "offset", "option", "order", "origin", "package", "parcel", "parser", "payment",
    "period", "person", "picture", "planner", "policy", "price", "product", "profile", "quantity",
    "query", "quote", "range", "rating", "receipt", "record", "refund", "region", "report", "request",
    "result", "return", "review", "rounding", "route", "sample", "schedule", "section", "session",
    "setting", "shipment", "signal", "source", "status", "stock", "storage", "summary", "supplier",
    "ticket", "total", "tracker", "transfer", "update", "value", "vendor", "version", "voucher",
]  # fmt: skip
_TEST_FILES = {
    Language.PYTHON: re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test|tests?)\.py$"),
    Language.JAVASCRIPT: re.compile(
        r"(?:[._-](?:test|spec)|(?:^|/)(?:tests?|__tests__)/[^/]{1,200})\.[cm]?[jt]sx?$"
    ),
    Language.GO: re.compile(r"_test\.go$"),
    Language.RUST: re.compile(r"(?:^|/)Cargo\.toml$"),
    Language.RUBY: re.compile(r"_spec\.rb$"),
    Language.ELIXIR: re.compile(r"_test\.exs$"),
}
_ENDING = re.compile(r"[._-](?:test|spec)\.[cm]?[jt]sx?$|\.[cm]?[jt]sx?$")
_LOADED = re.compile(r"(?:\bfrom|\brequire\(|\bimport\(?)\s{0,4}[\"'](\.{1,2}/[^\"'\n]{1,200})[\"']")
# Of Python: what the neighbour has from other modules, in one line or in brackets.
_FROM = re.compile(
    r"^from[ \t]+([\w.]{1,200})[ \t]+import[ \t]+(\([^()]{1,5000}\)|[^\n#(]{1,1000})", re.MULTILINE
)
_IMPORT = re.compile(r"^import[ \t]++([\w.][\w., \t]{0,999}+)$", re.MULTILINE)
_NAMED = re.compile(r"\s*([\w.]{1,200})(?:\s+as\s+(\w{1,200}))?\s*")


@dataclass(frozen=True, slots=True)
class PlantedFile:
    """A file with tests that must fail, each of these names once; it stands beside the repository's own."""

    path: str
    content: str
    names: tuple[str, ...]


def neighbours(language: Language, files: Iterable[str], known: Collection[str]) -> tuple[str, ...]:
    """Return a file for each folder in which a test of Cardinal's is put, the uppermost folders first.

    Those that the default branch has, too, come before others: `known` are its files.
    """
    shape = _TEST_FILES.get(language)
    if shape is None:
        return ()
    tests = sorted(file for file in files if shape.search(file) and "node_modules/" not in file)
    of_folder: dict[str, str] = {}
    for file in sorted(tests, key=lambda file: (file not in known, file.count("/"), file)):
        of_folder.setdefault(dirname(file), file)
    return tuple(of_folder.values())[:MAX_FOLDERS]


def write_canary(runner: Runner, beside: str, texts: Sequence[str]) -> PlantedFile:
    """Return the tests for the folder of `beside`; `texts` are its tests' contents, that of `beside` first.

    They fail in the usual ways, since a program may have spoilt only one.
    """

    text, folder, file = texts[0] if texts else "", dirname(beside), basename(beside)
    name, word, value = _name(), secrets.choice(_WORDS), str(11 + secrets.randbelow(88))
    names: tuple[str, ...] = (name,)
    match runner.language:
        case Language.PYTHON:
            path = f"{name}_test.py" if file.endswith("_test.py") else f"test_{name}.py"
            names = tuple(_name() for _ in (*_CASES, *_FUNCTIONS))
            content = _python(word, names, value, texts[0] if texts else "")
        case Language.JAVASCRIPT:
            ending = _ENDING.search(file)
            path = f"{name}{ending[0] if ending else splitext(file)[1]}"
            fails = _EXPECTS if runner.name in _EXPECTING else _ASSERTS
            names = tuple(_name() for _ in range(2 * len(fails)))
            content = _javascript(runner.name, texts, names, [each.format(word, value) for each in fails])
        case Language.GO:
            package = re.search(r"^package\s+(\w+)", text, re.MULTILINE)
            path = f"{name}_test.go"
            content = (
                f"package {package[1] if package else 'main'}\n\n"
                'import "testing"\n\n'
                f"func Test_{name}(t *testing.T) {{\n"
                f'\tif got := len("{word}"); got != {value} {{\n'
                f'\t\tt.Fatalf("got %d, want {value}", got)\n\t}}\n}}\n'
            )
        case Language.RUST:
            path = f"tests/{name}.rs"
            content = f'#[test]\nfn {name}() {{\n    assert_eq!("{word}".len(), {value});\n}}\n'
        case Language.RUBY:
            path = f"{name}_spec.rb"
            content = (
                f'RSpec.describe "{word}" do\n'
                f'  it "{_title(name)}" do\n    expect("{word}".length).to eq({value})\n  end\nend\n'
            )
        case _:
            path = f"{name}_test.exs"
            content = (
                f"defmodule {_kind(name)}Test do\n  use ExUnit.Case\n\n"
                f'  test "{_title(name)}" do\n    assert String.length("{word}") == {value}\n  end\nend\n'
            )
    return PlantedFile(join(folder, path), content, names)


_CASES = (
    'self.assertEqual(len("{0}"), {1})',
    'self.assertTrue({1} < len("{0}"))',
    'self.assertFalse(len("{0}") < {1})',
    'self.assertIn("{0}", [str({1})])',
    'self.assertIsNone("{0}")',
    "self.assertRaises(ValueError, str, {1})",
)
_FUNCTIONS = ('assert len("{0}") == {1}',)
_ASSERTS = (
    'if ("{0}".length !== {1}) {{ throw new Error("{0}"); }}',
    'assert.equal("{0}".length, {1});',
    'assert.strictEqual("{0}".length, {1});',
    'assert.deepEqual(["{0}".length], [{1}]);',
    'assert.deepStrictEqual(["{0}".length], [{1}]);',
    'assert.ok("{0}".length === {1});',
)
_EXPECTS = (
    _ASSERTS[0],
    'expect("{0}".length).toBe({1});',
    'expect(["{0}".length]).toEqual([{1}]);',
    'expect("{0}").toContain("{1}");',
    'expect("{0}".length === {1}).toBeTruthy();',
)
_EXPECTING = ("jest", "vitest", "bun test")


def _name() -> str:
    return "_".join(secrets.choice(_WORDS) for _ in range(3))


def _title(name: str) -> str:
    return name.replace("_", " ")


def _kind(name: str) -> str:
    return "".join(map(str.capitalize, name.split("_")))


def _python(word: str, names: Sequence[str], value: str, neighbour: str) -> str:
    """Return the tests in a module that loads the same as its neighbour: a program of the product could hide
    failures in the modules alone that load it.
    """
    of_case = [
        f'    def test_{name}(self) -> None:\n        """Look at the {word}."""\n'
        f"        {fails.format(word, value)}\n"
        for name, fails in zip(names, _CASES, strict=False)
    ]
    alone = [
        f'def test_{name}() -> None:\n    """Look at the {word}."""\n    {fails.format(word, value)}\n'
        for name, fails in zip(names[len(_CASES) :], _FUNCTIONS, strict=True)
    ]
    kind = f'class {_kind(names[0])}Test(unittest.TestCase):\n    """The {word}."""\n\n'
    body = "\n\n".join((kind + "\n".join(of_case), *alone))
    loaded = _statements_of(neighbour)
    used = ["import importlib", "import unittest", "from contextlib import suppress", ""]
    head = "\n".join(used if loaded else used[1:2])
    return f'"""The {word}."""\n\n{head}\n{loaded}\n\n{body}'


def _statements_of(text: str) -> str:
    """Return lines that load the same as a module of Python; a module that cannot be loaded is no failure."""
    rows = [(module, *names) for module, some in _FROM.findall(text) for names in _names(some)]
    rows += [
        (name, "", own.partition(".")[0]) for some in _IMPORT.findall(text) for name, own in _names(some)
    ]
    shown = [f'    ("{module}", "{name}", "{own}"),' for module, name, own in rows if module != "__future__"]
    if not shown:
        return ""
    listed = "\n".join(shown[:_MAX_LOADED])
    return (
        f"for module, name, own in (\n{listed}\n):\n"
        "    with suppress(BaseException):\n"
        "        loaded = importlib.import_module(module, __package__)\n"
        "        globals()[own] = getattr(loaded, name) if name else loaded\n"
    )


def _names(some: str) -> Iterator[tuple[str, str]]:
    """Yield the names in an import, each with its name in the importing module."""
    for part in re.sub(r"#[^\n]*", "", some).strip("() \t\n").split(","):
        if named := _NAMED.fullmatch(part):
            yield named[1], named[2] or named[1]


def _javascript(runner: str, texts: Sequence[str], names: Sequence[str], fails: Sequence[str]) -> str:
    """Return tests by `test` and by `it` in a `describe`, where the runner has both."""
    text = texts[0] if texts else ""
    old = "require(" in text and runner != "vitest"
    loaded = dict.fromkeys(name for each in texts for name in _LOADED.findall(each))
    shown = ", ".join(f'"{name}"' for name in list(loaded)[:_MAX_LOADED])
    # What cannot be loaded alone is no failure of its own: the tests fail by what they say.
    loads = f"for (const name of [{shown}]) {{ try {{ {{}} }} catch {{ /* none */ }} }}\n" if shown else ""
    first = loads.replace("{}", "require(name);", 1) if old else ""
    within = "" if old else loads.replace("{}", "await import(name);", 1).replace("\n", " ")
    test, it = ("Deno.test", "Deno.test") if runner == "deno test" else ("test", "it")
    test = "it" if runner == "mocha" else test
    rows = [
        f'{called}("{_title(name)}", async () => {{ {within}{fail} }});'
        for name, (called, fail) in zip(
            names, [(call, fail) for call in (test, it) for fail in fails], strict=True
        )
    ]
    half = len(fails)
    if it == "it":
        rows = [*rows[:half], f'describe("{_title(names[0]).split()[0]}", () => {{', *rows[half:], "});"]
    return first + _imports(runner, text, old) + "\n".join(rows) + "\n"


def _imports(runner: str, text: str, old: bool) -> str:
    own = {"node --test": "node:test", "vitest": "vitest", "bun test": "bun:test"}.get(
        runner, "@jest/globals" if "@jest/globals" in text else ""
    )
    words = "describe, it, test" + (", expect" if runner in _EXPECTING else "")
    given = [(f"{{ {words} }}", own)] if own else []
    given += [] if runner in _EXPECTING else [("assert", "node:assert")]
    if old:
        return "".join(f'const {what} = require("{module}");\n' for what, module in given)
    return "".join(f'import {what} from "{module}";\n' for what, module in given)


def with_canaries(
    command: str, canaries: Iterable[PlantedFile], folder: str, tests: Mapping[str, str]
) -> str:
    """Return the shell line with the canaries beside the test files that it names one by one.

    `folder` is where it runs; `tests` are the repository's test files, by the folder that they stand in.
    """
    for canary in canaries:
        path = canary.path.removeprefix(f"{folder}/") if folder else canary.path
        for file in (name for name, where in tests.items() if where == dirname(canary.path)):
            mine = file.removeprefix(f"{folder}/") if folder else file
            for word, added in ((mine, path), (_module_name(mine), _module_name(path))):
                named = re.compile(rf"(?<![\w./-])((?:\./)?{re.escape(word)}(?:::[\w:\[\]-]+)?)(?![\w./-])")
                if word and named.search(command) and added not in command:
                    command = named.sub(rf"\1 {added}", command, count=1)
    return command


def _module_name(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".") if path.endswith(".py") else ""


def test_files(language: Language, files: Iterable[str]) -> dict[str, str]:
    shape = _TEST_FILES.get(language)
    return {file: dirname(file) for file in files if shape is not None and shape.search(file)}
