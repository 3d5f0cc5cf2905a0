"""What is read out of a failing check's output: what failed, whether it is the same again, what helps."""

import re

import pytest

from runner.checks import failure
from runner.checks.failure import normal, output_line
from tests.runner.checks import outputs

RECEIPT = "test_receipt (tests.test_cart.Carts.test_receipt)"
PIECE = "test_the_total_counts_every_piece"
NAMED = {
    "PYTEST": ("tests/test_cart.py::test_total[three pens]", "tests/test_cart.py::test_receipt"),
    "PYTEST_COLLECTING": ("tests/test_cart.py",),
    "UNITTEST": (RECEIPT, f"{PIECE} (tests.test_cart.Carts.{PIECE})"),
    "JEST": ("Cart › adds the tax",),
    "VITEST": ("src/cart.test.ts > Cart > adds the tax",),
    "GO": ("TestTotal/three_pens", "github.com/acme/shop/tax [build failed]"),
    "CARGO": ("cart::tests::adds_the_tax",),
    "RUSTC": ("error[E0308]: mismatched types",),
    "RSPEC": ("./spec/cart_spec.rb:10 # Cart adds the tax",),
    "MINITEST": ("CartTest#test_tax", "Shop::CartTest#test_empty"),
    "TEST_UNIT": ("test_cycle(TSortTest)",),
    "PHPUNIT": ('CartTest::testTax with data set "dear" (3)',),
    "PROVE": ("t/basic.t",),
    "CTEST": ("parse_number", "misc_tests"),
    "CMAKE_WARNING": (),
    "TSC": (
        "src/cart.ts(12,5): error TS2322: Type 'string' is not assignable to type 'number'.",
        "src/receipt.ts(3,10): error TS2305: Module '\"./cart\"' has no exported member 'Line'.",
    ),
    "TSC_PRETTY": ("src/cart.ts:12:5 - error TS2322: Type 'string' is not assignable to type 'number'.",),
    "ESLINT": (
        "/home/dev/repo/src/cart.js: 3:7 error 'total' is assigned a value but never used no-unused-vars",
        "/home/dev/repo/src/receipt.js: 9:3 error 'cart' is not defined no-undef",
    ),
    "RUFF": (
        "shop/cart.py:3:8: F401 [*] `os` imported but unused",
        "shop/cart.py:14:111: E501 Line too long (121 > 110)",
    ),
    "MYPY": (
        'shop/cart.py:14: error: Incompatible return value type (got "str", expected "int") [return-value]',
    ),
    "GCC": ("src/cart.c:12:5: error: expected ';' before 'return'",),
    "TAP": ("adds the tax",),
    "UNKNOWN": (),
}  # fmt: skip
# What the same failure prints at another time, at another place, in another order.
NOISE: dict[str, tuple[tuple[str, str], ...]] = {
    "PYTEST": (
        ("0.43s", "12.9s"), ("1736258", "99"), ("0x7f3c1c0d5e10", "0x55aa"), ("tmpx81hd0", "tmpq_3aa1"),
        ("test_cart.py:12", "test_cart.py:15"), ("39 passed", "40 passed"), (" 14%", " 15%"),
    ),
    "UNITTEST": (("0.002s", "1.100s"), ("line 11", "line 14"), ("Ran 5", "Ran 6"), ("..F.E", "F.E...")),
    "JEST": (("(5 ms)", "(31 ms)"), ("1.205 s", "0.9 s"), ("11:26", "12:26"), ("17 passed", "18 passed")),
    "GO": (("(0.00s)", "(0.31s)"), ("0.004s", "2.104s"), ("go:14", "go:19")),
    "CARGO": (("0d2e8ec4f8a7ab0c", "1f77bc4f8a7ab0c2"), ("1.31s", "9.02s"), ("rs:31:9", "rs:33:9")),
    "RSPEC": (("48213", "7"), ("0.01253 seconds", "1.2 seconds"), ("spec.rb:1", "spec.rb:2")),
    "ESLINT": (("3:7 ", "4:7 "), ("9:3", "11:3")),
    "TSC": (("(12,5)", "(14,5)"),),
    "UNKNOWN": (
        ("2026-03-01T12:00:01.120Z", "2026-11-22T09:13:55.001Z"), ("4711", "4712"), ("2.9 s", "3 s"),
        ("/tmp/build-8s1k/out", "/tmp/build-77aa/out"), ("2026-03-01T12:00:03.907Z", "2026-11-22T09:13:58Z"),
    ),
}  # fmt: skip
# Another failure by the same program.
OTHER = {
    "PYTEST": ("test_receipt", "test_refund"),
    "UNITTEST": ("TypeError", "ValueError"),
    "JEST": ("adds the tax", "adds a discount"),
    "GO": ("three_pens", "no_pens"),
    "CARGO": ("adds_the_tax", "adds_a_discount"),
    "RSPEC": ("adds the tax", "adds a discount"),
    "TSC": ("TS2322", "TS2345"),
    "UNKNOWN": ("no space left on device", "permission denied"),
}


@pytest.mark.parametrize("program", NAMED)
def test_what_failed_is_found(program: str) -> None:
    read = failure.read("make test", getattr(outputs, program))
    assert read.names == NAMED[program]
    assert read.failing == len(NAMED[program])


@pytest.mark.parametrize("program", NOISE)
def test_the_same_failure_looks_the_same_whenever_and_wherever_it_happens(program: str) -> None:
    before = after = getattr(outputs, program)
    for was, becomes in NOISE[program]:
        assert was in after, was
        after = after.replace(was, becomes)
    assert failure.read("make", before).signature == failure.read("make", after).signature


@pytest.mark.parametrize("program", OTHER)
def test_another_failure_looks_different(program: str) -> None:
    before = getattr(outputs, program)
    after = before.replace(*OTHER[program])
    assert after != before
    assert failure.read("make", before).signature != failure.read("make", after).signature
    assert failure.read("make", before).signature != failure.read("make lint", before).signature


def test_the_order_of_tests_counts_for_nothing() -> None:
    lines = ["FAILED tests/a.py::one - KeyError: 'x'", "FAILED tests/b.py::two - OSError: gone"]
    there, back = failure.read("t", "\n".join(lines)), failure.read("t", "\n".join(reversed(lines)))
    assert there.signature == back.signature


@pytest.mark.parametrize("program", ["PYTEST", "UNITTEST", "JEST", "VITEST", "GO", "CARGO", "RSPEC"])
def test_failing_tests_come_first_then_why_they_fail(program: str) -> None:
    noise = "".join(f"tests/other_{number}: fine\n" for number in range(2_000))
    read = failure.read("make test", noise + getattr(outputs, program) + noise)
    assert read.useful.startswith(f"Failing ({read.failing}):\n- {read.names[0]}\n")
    assert re.search("357|want", read.useful), read.useful
    assert len(read.useful.encode()) <= failure.USEFUL_BYTES


def test_output_that_is_not_recognised_goes_back_by_its_end() -> None:
    read = failure.read("make", "".join(f"step {number}\n" for number in range(5_000)) + outputs.UNKNOWN)
    assert read.useful.endswith("gave up after 2.9 s")
    assert (read.failing, read.names) == (0, ())
    assert len(read.useful.encode()) <= failure.USEFUL_BYTES


@pytest.mark.parametrize(
    "output",
    [
        "FAILED a.py::t - " + "x" * 3_000_000,
        "\n".join(f"FAILED tests/a.py::test_{number} - KeyError" for number in range(50_000)),
        "(" * 500_000,
        "\x1b[" * 100_000,
        ("a.b:" * 100 + "\n") * 10_000,
        ("_" * 200 + " x\n") * 10_000,
        "E   " + "é" * 200_000,
        "\x00\udcff\n" * 10,
        "",
    ],
)
def test_no_output_is_too_large_or_too_odd(output: str) -> None:
    read = failure.read("make", output)
    assert len(read.useful.encode("utf-8", "replace")) <= failure.USEFUL_BYTES
    assert len(read.names) <= failure.MAX_NAMES
    assert len(read.signature) == 64


@pytest.mark.parametrize(
    ("line", "stays"),
    [
        ("error TS2322 in test_2_of_v1", "error TS2322 in test_2_of_v1"),
        ("took 3 ms, 12 of 40 at 12:01:09", "took <time>, # of # at <time>"),
        ("read /var/folders/x1/T/abc/report.txt", "read <temp>/report.txt"),
        ("commit 0d2e8ec4f8a7ab0c by defaced", "commit <id> by defaced"),
        ("job 8d7a2f10-1c2d-4e5f-8a9b-0123456789ab", "job <id>"),
        ("=========== x ===========", "= x ="),
    ],
)
def test_a_line_is_rid_of_what_differs_each_time(line: str, stays: str) -> None:
    assert normal(line) == stays


def test_colours_and_what_was_drawn_over_are_gone() -> None:
    assert output_line("\x1b[31m 10%\r\x1b[32m 100%\x1b[0m done") == " 100% done"
    assert output_line("\x1b]0;title\x07text\r") == "text"
