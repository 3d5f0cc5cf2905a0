"""Protected files, which leave only with a person's agreement, however their path is spelled."""

from collections.abc import Iterator

from runner.guards.contract import Breach, Change, breach
from runner.guards.path_patterns import protected
from runner.run.run_spec import Guards

FINDS = "Changes of what `protect` names"
ACTION = "ask"
_ADVICE = "leave the file as the base branch has it"


def look(change: Change, rules: Guards) -> Iterator[Breach]:
    """Yield every path that a pattern protects: both ends of a rename, and links in place of folders."""
    found = dict(protected({one.path for one in change.touched}, rules.protect))
    for one in change.touched:
        if one.path in found:
            yield breach(one, f"protect: {found[one.path]}", "is protected", _ADVICE)
