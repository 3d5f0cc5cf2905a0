"""Templates of `ai_task` prompts: fields of the card written as %{name}."""

import re
from collections.abc import Mapping

FIELDS = ("title", "description", "conversation", "labels")
_FIELD = re.compile(r"%\{([^}\n]{0,40})\}")


def unknown_fields(template: str) -> tuple[str, ...]:
    """Return the fields that a template names and nobody knows, as written."""
    return tuple(f"%{{{name}}}" for name in _FIELD.findall(template) if name not in FIELDS)


def fill(template: str, values: Mapping[str, str]) -> str:
    """Return the template with its fields filled in; a value is never read as a template."""
    return _FIELD.sub(lambda match: values.get(match[1], match[0]), template)
