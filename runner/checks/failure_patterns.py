"""What the lines of test runners, linters and compilers look like when something failed. Pure.

Each shape takes one line without colours, of at most 500 characters, and takes time in proportion to it.
"""

import re

_PATH = r"[^\s:()][^:()]{0,200}\.\w{1,8}"

# A line that names a failing test. Of a row the first shape that finds one counts: they say it twice.
TESTS: tuple[tuple[re.Pattern[str], ...], ...] = (
    # pytest: FAILED tests/test_cart.py::test_total - AssertionError: assert 3 == 4
    (re.compile(r"^(?:FAILED|ERROR) (?P<name>[^\s:]+\.py(?:::.+?)?)(?: - .*)?$"),),
    # unittest: FAIL: test_total (tests.test_cart.Carts.test_total)
    (re.compile(r"^(?:FAIL|ERROR): (?P<name>\S+ \(\S+\).*)$"),),
    (
        re.compile(r"^\s{0,4}● (?!Console$)(?P<name>\S.*)$"),  # jest:   ● Cart › adds the tax
        re.compile(r"^\s*FAIL\s+(?P<name>\S+ > .+)$"),  # vitest:  FAIL  src/cart.test.ts > Cart > adds
        re.compile(
            r"^\s*[✕×✗✖]\s+(?P<name>(?!\d+ problems?\b)\S.*?)(?:\s\(?[\d.]+\s?m?s\)?)?$"
        ),  # node, jest --verbose
    ),
    # go:     --- FAIL: TestCart/empty (0.00s)
    (re.compile(r"^\s*--- FAIL: (?P<name>\S+)"),),
    (re.compile(r"^FAIL\s+(?P<name>\S+ \[(?:build|setup) failed\])$"),),
    # cargo: test cart::adds ... FAILED
    (re.compile(r"^test (?P<name>\S.*) \.\.\. FAILED$"),),
    # rspec ./spec/cart_spec.rb:12 # Cart adds the tax
    (re.compile(r"^rspec (?P<name>\./\S+(?: # .*)?)$"),),
    # TAP: not ok 3 - adds the tax
    (re.compile(r"^\s*not ok \d+(?: -)? (?P<name>(?!.*# (?:TODO|SKIP))\S.*)$"),),
)

# A line that says what is wrong at a place of a file.
PROBLEMS = re.compile(
    "|".join(
        (
            rf"^{_PATH}\(\d+,\d+\): error \S",  # tsc
            rf"^{_PATH}:\d+(?::\d+)?:? (?!.*\b(?:warning|note)\b:?).*\S",  # ruff, mypy, gcc, go vet
            r"^\s+\d+:\d+\s+error\s+\S",  # eslint, under its file's name
            r"^error(?:\[\w+\])?: (?!could not compile|test failed|aborting|process didn't)",  # rustc
            r"^[A-Z]{1,4}\d{3,5} (?:\[\*\] )?\S",  # ruff, with a picture of the place below
        )
    )
)
FILE = re.compile(r"^(?:/|\./)?[\w.@-]+(?:/[\w.@-]+)*\.\w{1,8}$")  # eslint: what the lines below are about

# A line that says what kind of error it was.
ERRORS = re.compile(
    r"^E\s+\S|\b(?:[A-Z]\w*(?:Error|Exception|Failure)|[a-z]\w+Error)\b|^panic: |\bpanicked at\b"
)

# Where the details of one failure begin, and where they surely end.
BEGINS = re.compile(
    r"^_{3,} .+ _{3,}$|^(?:FAIL|ERROR): |^\s{0,4}● |^\s*--- FAIL: |^---- .+ stdout ----$|^error(?:\[\w+\])?: "
    r"|^\s{1,4}\d+\) \S|^\s*FAIL\s+\S+ > |^\s+\w+_test\.go:\d+: |^panic: "
    r"|^Traceback \(most recent call last\)|^\s*not ok \d+"
)
ENDS = re.compile(r"^={5,}|^Ran \d+ tests? in |^failures:$|^Failed examples:$|^Tests:\s")
