"""The names of failing tests in the end of a check's output, for people: nothing is decided by them."""

import re

from rules.text import plain

MAX_NAMES, MAX_NAME = 5, 160
# As pytest, unittest, go test, cargo test, jest and TAP write them.
_PATTERNS = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^(?:FAILED|ERROR) (\S+::\S+)",
        r"^(?:FAIL|ERROR): (test\w* \(\S+?\))",
        r"^[ \t]*--- FAIL: (\S+)",
        r"^test (\S+) \.\.\. FAILED$",
        r"^[ \t]*● (.+ › .+)$",
        r"^not ok \d+ (?:- )?(.+)$",
    )
)


def list_failing_tests(output: str) -> tuple[str, ...]:
    """Return the first names of tests that failed; none where the output has another form."""
    found = dict.fromkeys(name for pattern in _PATTERNS for name in pattern.findall(output))
    return tuple(plain(name, MAX_NAME) for name in list(found)[:MAX_NAMES])
