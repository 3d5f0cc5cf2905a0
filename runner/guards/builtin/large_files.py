"""Large files: git keeps them for ever, even when a later commit removes them."""

from collections.abc import Iterator

from runner.guards.contract import Breach, Change, breach
from runner.run.run_spec import Guards

FINDS = "Files of more than `max_file_kb`"
ACTION = "ask"
_BYTES_PER_KB = 1_000
_ADVICE = "take the large file out of every commit"


def find_breaches(change: Change, rules: Guards) -> Iterator[Breach]:
    """Yield files over the limit; one that is too large to be read is asked about whatever the limit is."""
    for touched in change.touched:
        large = bool(rules.max_file_kb) and touched.size_bytes > rules.max_file_kb * _BYTES_PER_KB
        if large:
            what = f"has {touched.size_bytes / _BYTES_PER_KB:,.0f} KB"
            yield breach(touched, f"max_file_kb: {rules.max_file_kb}", what, _ADVICE)
