"""Settings that name files: their paths made absolute, the texts of credentials read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

PREFIX = "CARDINAL_"


def resolve_paths(values: dict[str, Any], bases: Mapping[str, tuple[Path, ...]]) -> list[str]:
    """Make paths absolute and read credentials' files; return the mistakes.

    Paths of the env file start in the home; those of the environment, in the current folder first.
    """
    for name in ("scenarios", "skills", "signing_key"):
        if values.get(name):
            values[name] = bases.get(name, (Path(),))[0] / values[name]
    if values.get("store") and not values["store"].startswith("s3:"):
        values["store"] = str(bases.get("store", (Path(),))[0] / values["store"])
    return [
        *_read_file(values, bases, "private_key", "-----BEGIN", "PEM"),
        *_read_file(values, bases, "vertex_credentials", "{", "JSON"),
    ]


def _read_file(
    values: dict[str, Any], bases: Mapping[str, tuple[Path, ...]], name: str, begins: str, kind: str
) -> list[str]:
    """Put the text of a file in place of its path, unless it is the text already; return the mistakes."""
    given = values.get(name, "")
    if not given or given.lstrip().startswith(begins):
        return []
    try:
        places = [folder / given for folder in bases[name]]
        path = next((place for place in places if place.exists()), places[0])
        values[name] = path.read_text(encoding="ascii")
    except (OSError, ValueError) as error:
        values[name] = ""
        problem = f"{PREFIX}{name.upper()} is neither {kind} text nor a readable {kind} file"
        return [f"{problem}: {type(error).__name__}"]
    return []
