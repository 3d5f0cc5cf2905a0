"""Manifests of strangers are read in a time that grows with their length alone."""

import time

import pytest

from rules.policy.projects.files import MAX_CHARS, Project
from rules.policy.projects.proposal import propose


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("deno.json", "/*" * 45_000),
        ("deno.json", '"\\' * 45_000),
        ("deno.json", "[" * 90_000),
        ("Makefile", " " * 90_000),
        ("Makefile", f"a{' ' * 90_000}"),
        ("Makefile", "a " * 45_000),
        ("deno.json", f"[1,{chr(32) * 90_000}"),
        ("deno.json", "," * 90_000),
        ("justfile", f"test {'a' * 90_000}:\n"),
        ("justfile", f"test {'a=' * 45_000}:\n"),
        ("Gemfile", "\n" * 90_000),
        ("CMakeLists.txt", "enable_" * 12_000),
        ("Taskfile.yml", f"tasks:\n{' ' * 90_000}"),
        ("pyproject.toml", f"[{'a.' * 20_000}b]\n[[["),
        ("setup.cfg", "a" * 90_000),
        ("noxfile.py", "def a(" * 15_000),
    ],
)
def test_a_long_manifest_is_read_at_once(name: str, text: str) -> None:
    began = time.process_time()
    propose({name: text}.keys(), {name: text})
    assert time.process_time() - began < 5


def test_a_manifest_beyond_the_bound_is_not_looked_into() -> None:
    fact, text = "package.json#scripts#test", '{"scripts": {"test": "x"}}'
    fits = text + " " * (MAX_CHARS - len(text))
    assert Project(("package.json",), {"package.json": fits}).has(fact)
    assert not Project(("package.json",), {"package.json": f"{fits} "}).has(fact)
