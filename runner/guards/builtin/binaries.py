"""Binary files: a review cannot read them."""

from collections.abc import Iterator

from runner.guards.contract import Breach, Change, breach
from runner.run.run_spec import Guards

FINDS = "Binary files"
ACTION = "ask"
_ADVICE = "take the binary file out, or make it when it is needed"


def find_breaches(change: Change, rules: Guards) -> Iterator[Breach]:
    for touched in change.touched:
        if touched.binary:
            yield breach(touched, f"binaries: {rules.action('binaries')}", "is a binary file", _ADVICE)
