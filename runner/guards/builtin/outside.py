"""Files outside of the paths that the agent may change: those that no pattern of `allow` matches."""

from collections.abc import Iterator

from runner.guards.contract import Breach, Change, breach
from runner.guards.path_patterns import outside
from runner.run.run_spec import Guards

FINDS = "Changes beyond what `allow` names"
ACTION = "ask"
_ADVICE = "leave the file as the default branch has it, and keep the work within the allowed paths"


def find_breaches(change: Change, rules: Guards) -> Iterator[Breach]:
    """Yield every path outside; without patterns every path is inside."""
    if not rules.allow:
        return
    paths_outside = set(outside({touched.path for touched in change.touched}, rules.allow))
    said = f"allow: {', '.join(rules.allow)}"
    for touched in change.touched:
        if touched.path in paths_outside:
            yield breach(touched, said, "is outside the allowed paths", _ADVICE)
