"""The policy file's shape as JSON Schema, for editors; Cardinal itself reads the file more strictly."""

from typing import Any

from rules.policy.model import RepositoryFile
from rules.registry import ARCHETYPES

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def policy_schema() -> dict[str, Any]:
    """Return the schema of a policy file, `board:` optional. A file that it refuses, Cardinal refuses."""
    schema = RepositoryFile.model_json_schema(mode="validation")
    archetype = schema["$defs"]["ColumnPolicy"]["properties"]["archetype"]
    archetype["enum"] = sorted(ARCHETYPES.names())
    title = {"title": "A policy of Cardinal", "description": "Columns, limits and checks of a board."}
    return {"$schema": DIALECT, **schema, **title}
