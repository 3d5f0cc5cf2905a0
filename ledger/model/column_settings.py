"""Single values out of a column's policy, which a run carries as JSON of any version."""

import json


def value_of(settings: str, name: str) -> object:
    """Return the value of that name; None where the text has none."""
    try:
        policy = json.loads(settings)
    except (ValueError, RecursionError):
        return None
    return policy.get(name) if isinstance(policy, dict) else None
