"""What test runners, linters and compilers print when something fails, as they print it."""

PYTEST = """\
============================= test session starts ==============================
platform linux -- Python 3.12.4, pytest-8.2.2, pluggy-1.5.0
Using --randomly-seed=1736258
rootdir: /tmp/tmpx81hd0/repo
collected 41 items

tests/test_cart.py .F...F                                                [ 14%]
tests/test_prices.py ...................................                 [100%]

=================================== FAILURES ===================================
______________________________ test_total[three pens] __________________________

cart = <shop.cart.Cart object at 0x7f3c1c0d5e10>

    def test_total(cart):
>       assert cart.total_cents() == 357
E       AssertionError: assert 300 == 357
E        +  where 300 = total_cents()

tests/test_cart.py:12: AssertionError
_________________________________ test_receipt _________________________________

    def test_receipt():
>       assert receipt(Cart()) == "Total: 0.00 EUR"
E       TypeError: receipt() missing 1 required positional argument: 'name'

tests/test_cart.py:31: TypeError
=========================== short test summary info ============================
FAILED tests/test_cart.py::test_total[three pens] - AssertionError: assert 300 == 357
FAILED tests/test_cart.py::test_receipt - TypeError: receipt() missing 1 required positional argument: 'name'
========================= 2 failed, 39 passed in 0.43s =========================
"""
PYTEST_COLLECTING = """\
==================================== ERRORS ====================================
______________________ ERROR collecting tests/test_cart.py ______________________
ImportError while importing test module '/home/dev/repo/tests/test_cart.py'.
E   ModuleNotFoundError: No module named 'shop.carts'
=========================== short test summary info ============================
ERROR tests/test_cart.py
!!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!
=============================== 1 error in 0.11s ===============================
"""
UNITTEST = """\
..F.E
======================================================================
ERROR: test_receipt (tests.test_cart.Carts.test_receipt)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/home/dev/repo/tests/test_cart.py", line 19, in test_receipt
    receipt(cart)
TypeError: receipt() missing 1 required positional argument: 'name'

======================================================================
FAIL: test_the_total_counts_every_piece (tests.test_cart.Carts.test_the_total_counts_every_piece)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/home/dev/repo/tests/test_cart.py", line 11, in test_the_total_counts_every_piece
    self.assertEqual(cart.total_cents(), 357)
AssertionError: 300 != 357

----------------------------------------------------------------------
Ran 5 tests in 0.002s

FAILED (failures=1, errors=1)
"""
JEST = """\
\x1b[0m\x1b[7m\x1b[1m\x1b[31m FAIL \x1b[39m\x1b[22m\x1b[27m\x1b[0m src/cart.test.js
  Cart
    \x1b[32m✓\x1b[39m is empty (2 ms)
    \x1b[31m✕\x1b[39m adds the tax (5 ms)

\x1b[1m\x1b[31m  ● Cart › adds the tax\x1b[39m\x1b[22m

    expect(received).toBe(expected) // Object.is equality

    Expected: 357
    Received: 300

      10 |     cart.add("pen", 100, 3);
    > 11 |     expect(cart.total()).toBe(357);
         |                          ^
      at Object.toBe (src/cart.test.js:11:26)

Test Suites: 1 failed, 3 passed, 4 total
Tests:       1 failed, 17 passed, 18 total
Time:        1.205 s
"""
VITEST = """\
 ❯ src/cart.test.ts (2 tests | 1 failed) 6ms
   ✓ Cart > is empty 1ms
   × Cart > adds the tax 4ms
     → expected 300 to be 357 // Object.is equality

⎯⎯⎯⎯⎯⎯⎯ Failed Tests 1 ⎯⎯⎯⎯⎯⎯⎯

 FAIL  src/cart.test.ts > Cart > adds the tax
AssertionError: expected 300 to be 357 // Object.is equality

- Expected
+ Received

 ❯ src/cart.test.ts:11:26

 Test Files  1 failed (1)
      Tests  1 failed | 1 passed (2)
   Duration  312ms (transform 23ms, setup 0ms)
"""
GO = """\
=== RUN   TestTotal
=== RUN   TestTotal/three_pens
    cart_test.go:14: total = 300, want 357
--- FAIL: TestTotal (0.00s)
    --- FAIL: TestTotal/three_pens (0.00s)
=== RUN   TestEmpty
--- PASS: TestEmpty (0.00s)
FAIL
FAIL\tgithub.com/acme/shop/cart\t0.004s
FAIL\tgithub.com/acme/shop/tax [build failed]
FAIL
"""
CARGO = """\
   Compiling shop v0.1.0 (/home/dev/repo)
    Finished `test` profile [unoptimized + debuginfo] target(s) in 1.31s
     Running unittests src/lib.rs (target/debug/deps/shop-0d2e8ec4f8a7ab0c)

running 2 tests
test cart::tests::is_empty ... ok
test cart::tests::adds_the_tax ... FAILED

failures:

---- cart::tests::adds_the_tax stdout ----
thread 'cart::tests::adds_the_tax' panicked at src/cart.rs:31:9:
assertion `left == right` failed
  left: 300
 right: 357
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace

failures:
    cart::tests::adds_the_tax

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

error: test failed, to rerun pass `--lib`
"""
RUSTC = """\
   Compiling shop v0.1.0 (/home/dev/repo)
error[E0308]: mismatched types
 --> src/cart.rs:12:5
  |
12 |     "three"
  |     ^^^^^^^ expected `u32`, found `&str`

error: could not compile `shop` (lib) due to 1 previous error
"""
RSPEC = """\
Randomized with seed 48213
.F

Failures:

  1) Cart adds the tax
     Failure/Error: expect(cart.total).to eq(357)

       expected: 357
            got: 300
     # ./spec/cart_spec.rb:12:in `block (2 levels) in <top (required)>'

Finished in 0.01253 seconds (files took 0.09712 seconds to load)
2 examples, 1 failure

Failed examples:

rspec ./spec/cart_spec.rb:10 # Cart adds the tax
"""
TSC = """\
src/cart.ts(12,5): error TS2322: Type 'string' is not assignable to type 'number'.
src/receipt.ts(3,10): error TS2305: Module '"./cart"' has no exported member 'Line'.
"""
TSC_PRETTY = """\
\x1b[96msrc/cart.ts\x1b[0m:\x1b[93m12\x1b[0m:\x1b[93m5\x1b[0m - \x1b[91merror\x1b[0m\
\x1b[90m TS2322: \x1b[0mType 'string' is not assignable to type 'number'.

\x1b[7m12\x1b[0m     return "three"
"""
ESLINT = """\

/home/dev/repo/src/cart.js
   3:7   error    'total' is assigned a value but never used  no-unused-vars
  14:1   warning  Unexpected console statement                no-console

/home/dev/repo/src/receipt.js
  9:3  error  'cart' is not defined  no-undef

✖ 3 problems (2 errors, 1 warning)
"""
RUFF = """\
shop/cart.py:3:8: F401 [*] `os` imported but unused
shop/cart.py:14:111: E501 Line too long (121 > 110)
Found 2 errors.
[*] 1 fixable with the `--fix` option.
"""
MYPY = """\
shop/cart.py:14: error: Incompatible return value type (got "str", expected "int")  [return-value]
shop/cart.py:14: note: See the documentation
Found 1 error in 1 file (checked 12 source files)
"""
GCC = """\
src/cart.c: In function 'total':
src/cart.c:12:5: error: expected ';' before 'return'
src/cart.c:20:9: warning: unused variable 'n' [-Wunused-variable]
make: *** [Makefile:4: cart.o] Error 1
"""
TAP = """\
TAP version 13
ok 1 - is empty
not ok 2 - adds the tax
  ---
  duration_ms: 3.1
  ...
not ok 3 - rounds # TODO not yet
1..3
"""
UNKNOWN = """\
[2026-03-01T12:00:01.120Z] building (pid 4711)
[2026-03-01T12:00:03.907Z] cannot write /tmp/build-8s1k/out/bundle.js: no space left on device
gave up after 2.9 s
"""
MINITEST = """\
  1) Failure:
CartTest#test_tax [test/cart_test.rb:12]:
Expected: 3
  Actual: 4

  2) Error:
Shop::CartTest#test_empty:
NoMethodError: undefined method `total' for nil

5 runs, 9 assertions, 1 failures, 1 errors, 0 skips
"""
TEST_UNIT = """\
.F
===============================================================================
Failure: test_cycle(TSortTest): <TSort::Cyclic> exception was expected but none was thrown.
/repo/test/test_tsort.rb:33:in `test_cycle'
===============================================================================
8 tests, 16 assertions, 1 failures, 0 errors, 0 pendings, 0 omissions, 0 notifications
"""
PHPUNIT = """\
There was 1 failure:

1) CartTest::testTax with data set "dear" (3)
Failed asserting that 4 matches expected 3.

/repo/test/CartTest.php:12

FAILURES!
Tests: 68, Assertions: 74, Failures: 1.
"""
PROVE = """\
#   Failed test 'list'
#   at t/basic.t line 73.
Test Summary Report
-------------------
t/basic.t                    (Wstat: 256 (exited 1) Tests: 25 Failed: 1)
  Failed test:  10
Files=11, Tests=104,  2 wallclock secs ( 0.03 usr  0.03 sys)
Result: FAIL
"""
CTEST = """\
CMake Deprecation Warning at CMakeLists.txt:2 (cmake_minimum_required):
  Compatibility with CMake < 3.5 will be removed.

95% tests passed, 2 tests failed out of 22

The following tests FAILED:
\t  3 - parse_number (Failed)
\t 14 - misc_tests (SEGFAULT)
Errors while running CTest
"""
CMAKE_WARNING = """\
CMake Deprecation Warning at CMakeLists.txt:2 (cmake_minimum_required):
  Compatibility with CMake < 3.5 will be removed.
"""
