"""The table of cheats, from the catalogue beside their tests."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

from docs._make import wording

_CATALOGUE = Path(__file__).parents[2] / "tests/cheats/catalogue.toml"
Cheat = Mapping[str, str | list[str]]  # `what`, `stopped_by`, and `tests`, each as FILE::FUNCTION


def catalogue() -> Mapping[str, list[Cheat]]:
    """Return the cheats by family."""
    return tomllib.loads(_CATALOGUE.read_text(encoding="utf-8"))


def table() -> str:
    """Return each family of cheats with what stops them and the tests that try them."""
    heads = ("cheat", "what stops it", "the test")
    return "\n\n".join(
        f"## {family}\n\n{wording.table(heads, map(_row, cheats))}" for family, cheats in catalogue().items()
    )


def _row(cheat: Cheat) -> tuple[str, ...]:
    tests = (test.partition("::") for test in cheat["tests"])
    links = (f"[{name}](../../{path})" for path, _, name in tests)
    return wording.cell(str(cheat["what"])), wording.cell(str(cheat["stopped_by"])), ", ".join(links)
