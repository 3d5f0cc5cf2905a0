"""The table of cheats, from the catalogue beside their tests."""

import tomllib
from pathlib import Path

from docs._make import wording

CATALOGUE = Path(__file__).parents[2] / "tests/cheats/catalogue.toml"


def table() -> str:
    """Return each family of cheats with what stops them and the tests that try them."""
    cheats = tomllib.loads(CATALOGUE.read_text(encoding="utf-8"))["cheat"]
    families = dict.fromkeys(cheat["family"] for cheat in cheats)
    return "\n\n".join(
        f"## {family}\n\n" + wording.table(("cheat", "what stops it", "the test"), _rows(family, cheats))
        for family in families
    )


def _rows(family: str, cheats: list[dict[str, str | list[str]]]) -> list[tuple[str, ...]]:
    return [
        (
            wording.cell(str(cheat["what"])),
            wording.cell(str(cheat["stopped_by"])),
            ", ".join(_link(test) for test in cheat["tests"]),
        )
        for cheat in cheats
        if cheat["family"] == family
    ]


def _link(test: str) -> str:
    path, _, name = test.partition("::")
    return f"[{name}](../../{path})"
