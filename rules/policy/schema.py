"""The policy file's shape as JSON Schema, for editors; Cardinal itself reads the file more strictly."""

import json
import re
from typing import Any

from rules.policy.model import RepositoryFile
from rules.policy.settings import plain_meaning
from rules.registry import ARCHETYPES

DIALECT = "https://json-schema.org/draft/2020-12/schema"
FILE = "cardinal.schema.json"  # beside the policy
ADDRESS = "/policy.schema.json"  # on Cardinal's pages
# Source: github.com/redhat-developer/yaml-language-server#using-inlined-schema.
LINE = "# yaml-language-server: $schema="
_LINE = re.compile(r"(?:^|[\r\n\ufeff])#\s*yaml-language-server\s*:\s*\$schema=")


def policy_schema() -> dict[str, Any]:
    """Return the schema of a policy file, `board:` optional. A file that it refuses, Cardinal refuses."""
    schema = RepositoryFile.model_json_schema(mode="validation")
    archetype = schema["$defs"]["ColumnPolicy"]["properties"]["archetype"]
    archetype["enum"] = sorted(ARCHETYPES.names())
    _describe_plainly(schema)
    title = {"title": "A policy of Cardinal", "description": "Columns, limits and checks of a board."}
    return {"$schema": DIALECT, **schema, **title}


def schema_text() -> str:
    """Return the schema as it stands in a file."""
    return f"{json.dumps(policy_schema(), indent=2)}\n"


def name_schema(text: str, where: str) -> str:
    """Return the policy file with a first line that tells editors where its schema is, unless it has one."""
    if _LINE.search(text):
        return text
    start = 1 if text.startswith("\ufeff") else 0
    first = re.search(r"\r\n?|\n", text)
    return f"{text[:start]}{LINE}{where}{first[0] if first else chr(10)}{text[start:]}"


def _describe_plainly(part: object) -> None:
    """Take Markdown out of the descriptions: editors show them as they are."""
    if isinstance(part, dict):
        if isinstance(part.get("description"), str):
            part["description"] = plain_meaning(part["description"])
        part = list(part.values())
    if isinstance(part, list):
        for each in part:
            _describe_plainly(each)
