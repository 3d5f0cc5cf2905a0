"""Manifests and lock files of the usual ecosystems: a dependency is foreign code."""

from collections.abc import Iterator

from runner.guards.contract import Breach, Change, breach
from runner.guards.tool_files import find_reason
from runner.run.run_spec import Guards

FINDS = "Manifests and lock files of package managers"
ACTION = "ask"
_ADVICE = "take the change of dependencies out; ask people where the work cannot do without"


def find_breaches(change: Change, rules: Guards) -> Iterator[Breach]:
    """Yield every manifest and lock file that changes."""
    for touched in change.touched:
        if what := find_reason(touched.path, "dependencies", is_link=touched.is_link):
            rule = f"dependencies: {rules.action('dependencies')}"
            yield breach(touched, rule, what, _ADVICE)
