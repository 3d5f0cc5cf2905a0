"""Files that the repository ignores: people said that they belong to one machine, not in its history."""

from collections.abc import Iterator

from runner.guards.contract import NOTHING, Breach, Change, breach
from runner.run.run_spec import Guards

FINDS = "New files that a `.gitignore` of the default branch ignores"
ACTION = "ask"
_ADVICE = "remove it with `git rm --cached`; a line of .gitignore is people's to change"


def find_breaches(change: Change, rules: Guards) -> Iterator[Breach]:
    """Yield every new path that the rules of the base ignore, whatever those of the change say."""
    rule = f"ignored: {rules.action('ignored')}"
    for touched in change.touched:
        if touched.path in change.ignored and touched.mode != NOTHING:
            yield breach(touched, rule, "is ignored by the default branch's .gitignore", _ADVICE)
