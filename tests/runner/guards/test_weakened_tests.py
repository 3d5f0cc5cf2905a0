"""Every shape of a test that the guards know, in every language: one name or one line for each."""

import pytest

from runner.guards.builtin import tests
from runner.guards.builtin.tests import NEAR_TESTS, NOWHERE, TEST_FILE
from tests.cheats.shop import altered, found

# Names are parted by spaces; lines stand one below the other.
SUFFIXES = """
py js jsx ts tsx cjs mjs cts mts go rb rs java kt kts cs fs php swift scala ex exs c cc cpp sh t lua dart clj
cljc hs jl vue svelte
"""
OF_CLASSES = "java kt kts cs fs php swift scala"
FILES = "test.py a/tests.js cart.bats a/cart.feature __tests__/a/b.tsx tests/a.rs t/a.t"
NEAR = "tests/carts.py a/__tests__/carts.py spec/a.py specs/a.py e2e/a.py a/testing/a.py"
OTHERS = "cart.py contest.py a/latest.js tests.txt tests/cart.json test/README t/a.py src/a.rs"
KINDS = {
    TEST_FILE: [
        *(f"a/{name}.{suffix}" for suffix in SUFFIXES.split() for name in ("test_a", "a-tests", "a.spec")),
        *(f"a/Cart{name}.{suffix}" for suffix in OF_CLASSES.split() for name in ("Test", "Tests")),
        *FILES.split(),
    ],
    NEAR_TESTS: [*(f"test/a/b.{suffix}" for suffix in SUFFIXES.split()), *NEAR.split()],
    NOWHERE: OTHERS.split(),
}
ALIKE = ("a.js b.tsx C.MJS d.vue e.svelte", "a.java b.kt c.kts", "a.c b.cc c.cpp", "a.py b.py", "a.rb")
TESTS = """\
def test_a():
async def test_a():
it("adds", () => {
test('adds', () => {
specify `adds`
scenario("adds", () => {
it.concurrent("adds", () => {
it.each([1, 2])
test.for([1, 2])
it.prop([fc.nat()])
func TestAdds(t *testing.T) {
func FuzzAdds(f *testing.F) {
func ExampleAdds() {
func testAdds() {
func (s *Suite) TestAdds() {
#[test]
#[tokio::test]
#[rstest]
#[case(1)]
@Test
@ParameterizedTest(name = "a")
@RepeatedTest(3)
[Fact]
[Theory]
[Test]
[TestMethod]
[TestCase(1)]
function test_adds() {
public static function testAdds() {
@test "adds" {
test "adds" do
it { is_expected.to eq 3 }
specify { a }
TEST(Cart, Adds) {
TYPED_TEST(Cart, Adds) {
TEST_F(Cart, Adds) {
Scenario: adds
Scenario Outline: adds
"""
ASSERTIONS = """\
assert total([1]) == 1
self.assertEqual(a, 3)
assert_eq!(a, 3);
Assert.Equal(3, a);
expect(a).toBe(3)
expectTypeOf(a)
a.should eq 3
a.must_equal 3
require.NoError(t, err)
t.Error("no")
t.Fatalf("no")
with pytest.raises(KeyError):
with pytest.warns(UserWarning):
Then I pay 3
[ "$status" -eq 0 ]
[[ $a == 3 ]]
verify(basket).add(3);
is_expected.to eq 3
is_expected.not_to eq 3
is_expected.to_not eq 3
EXPECT_EQ(a, 3);
ASSERT_TRUE(a);
"""
REMARKS = """\
# assert a
// it.skip("a", expect(b))
/* it.skip("a", expect(b)) */
* it.skip("a", expect(b))
-- assert(a)
;; assert(a)
"""
IMPORTS = """\
import static org.junit.Assert.assertNull;
from assertpy.a import assert_that
use Webmozart.Assert.Assert;
using NUnit.Framework.Assert.That;
require 'a/assert.rb'
const assert = require("assert");
let assert = require("assert");
var assert = require("assert").strict;
import assert = require("a.assert.b");
"github.com/stretchr/testify/assert.x"
"""
OFF = """\
@unittest.skip("later")
@skipUnless(a, "b")
@xfail
@unittest.expectedFailure
@nottest
pytestmark = [mark.skipif(a)]
pytestmark = [mark.xfail]
pytest.skip("later")
pytest.xfail("later")
a = pytest.importorskip("a")
raise SkipTest
self.skipTest("later")
collect_ignore = ["a"]
__test__ = False
it.skip("a", b)
test.todo("a")
describe.only("a", b)
context.skip("a", b)
suite.skip("a", b)
it.failing("a", b)
test.fails("a", b)
test.fixme("a", b)
it.runIf(a)("b", c)
it.concurrent.skipIf(a)("b", c)
it['skip']("a", b)
test["todo"]("a")
describe[`only`]("a", b)
suite['skip']("a", b)
context['skip']("a", b)
it("a", { todo: true }, b)
test("a", { todo: "later" }, b)
describe('a', { todo: 'later' }, b)
suite('a', { todo: true }, b)
xit("a", b)
fit("a", b)
foo; xit 'a' do
xdescribe("a", b)
fdescribe("a", b)
xtest("a", b)
fcontext("a", b)
xspecify("a", b)
this.skip()
t.Skip("later")
b.Skipf("later")
t.SkipNow()
#[ignore]
#![cfg(any())]
#[cfg(FALSE)]
#[cfg(false)]
@Ignore
@DisabledOnOs(LINUX)
[Ignore("later")]
[Explicit]
[Fact(Skip = "later")]
[TestCase(1, Ignore = "later")]
assumeTrue(a);
assumeFalse(a);
assumeThat(a);
$this->markTestSkipped();
$this->markTestIncomplete();
throw XCTSkip()
skip 'later'
skip("later")
skip
pending
it 'a', :skip do
it 'a', :focus do
@tag :skip
@moduletag :skip
it 'a', skip: true do
it 'a', skip: 'later' do
it 'a', pending: true do
test 'a', pending: 'later' do
RSpec.describe 'a', pending: true do
context 'a', pending: true do
specify 'a', pending: true do
@Test(enabled = false)
GTEST_SKIP();
TEST(A, DISABLED_B) {
TYPED_TEST(A, DISABLED_B) {
TEST_F(A, DISABLED_B) {
@wip
@skip
@ignore
//go:build never
// +build never
if False:
elif False:
while False:
if (false) {
if 0:
os._exit(0)
sys.exit()
process.exit(0)
System.exit(0)
raise SystemExit
raise SystemExit(0)
exit 0
"""
ENVIRONMENTS = """\
if os.environ.get("CI"):
elif os.environ["CI"]:
unless ENV["CI"]
return if ENV['CI']
if os.getenv("CI"):
if (process.env.CI) {
if Env.get("CI") {
"""
HOLLOW = """\
assert True
assert true
assert 1
assert(1)
assert not False
assert not 0
assert!(true, "a");
assert True  # a
assert True; a()
assert 1: a
assert true // a
assert True or a
assert true || a
self.assertTrue(True)
assertTrue(true)
assert_true(1, "a")
assertTrue(True
assertTrue(True or a)
assertTrue(true || a)
self.assertFalse(False)
assert_false(false, "a")
assertFalse(0
assertFalse(False and a)
assertFalse(false && a)
assertEqual(a, a)
assertEquals(a, a)
assert_eq!(3, 3)
assert_same(a, a)
assert a == a
assert 3 == 3, "a"
assert 3 == 3 and a
expect(a).toBe(a)
expect(a).toEqual(a);
expect(a).toStrictEqual(a)
expect(a).to.eq(a)
expect(a).to.equal(a)
expect(a).to eq a
expect(a).to eq a # b
expect(true).toBeTruthy()
expect(1).toBeDefined()
expect(true).to.be.true
assert a == 3 or True
expect(a || true).toBe(b)
"""
RUNNERS = """\
pytest
python3 -m unittest
tox
nox
jest
vitest
mocha
playwright test
cypress run
rspec
ruby minitest
phpunit
ctest
bats a
cargo nextest
go test
cargo test
dotnet test
mix test
swift test
flutter test
npm test
npm t
pnpm check
yarn run lint
bun test
make test
make check
make lint
./mvnw verify
./gradlew build
ruff check
mypy
eslint
tsc
flake8
pylint
rubocop
cargo clippy
"""
FORGIVEN = ["|| true", "||:", "|| exit 0", "|| echo bad", "; true", "; :", "; exit 0", "--exit-zero"]
SCRIPTS = "Makefile CI/RUN.SH a.bash a.zsh a.mk a.yml a.yaml package.json tox.toml tox.ini setup.cfg"
TELLS = """\
if "PYTEST_CURRENT_TEST" in os.environ:
if (process.env.JEST_WORKER_ID) {
if (process.env.VITEST_WORKER_ID) {
if (process.env.VITEST_POOL_ID) {
if "pytest" in sys.modules:
if 'unittest' not in sys.modules:
"""
TRICKS = {
    "switches tests off": ("tests/test_a.py", OFF.splitlines()),
    "tests otherwise in another environment": ("tests/test_a.py", ENVIRONMENTS.splitlines()),
    "asserts what always holds": ("tests/test_a.py", HOLLOW.splitlines()),
    "behaves otherwise while it is tested": ("cart.py", TELLS.splitlines()),
    "lets failing checks pass": (
        "ci/run.sh",
        [*(f"{one} || true" for one in RUNNERS.splitlines()), *(f"pytest {one}" for one in FORGIVEN)],
    ),
}


def test_a_file_of_tests_is_known_by_its_name() -> None:
    wrong = [(path, kind) for kind, paths in KINDS.items() for path in paths if tests.test_kind(path) != kind]
    assert wrong == []


def test_suffixes_of_one_language_are_alike_and_others_differ() -> None:
    families = [{tests.language(path) for path in one.split()} for one in ALIKE]
    assert [len(family) for family in families] == [1] * len(ALIKE)
    assert len(set.union(*families)) == len(ALIKE)


def test_a_test_and_an_assertion_are_counted_in_every_language() -> None:
    assert [line for line in TESTS.splitlines() if tests.tests_in(tests.code_line(line)) != 1] == []
    assert [line for line in ASSERTIONS.splitlines() if tests.assertions_in(tests.code_line(line)) != 1] == []
    assert [line for line in REMARKS.splitlines() if tests.code_line(line)] == []
    assert [line for line in IMPORTS.splitlines() if tests.assertions_in(tests.code_line(line))] == []


@pytest.mark.parametrize("said", TRICKS)
def test_every_way_to_see_less_is_found(said: str) -> None:
    path, lines = TRICKS[said]
    told = [[what for _, what in tests.find_tricks(path, [(1, line)])] for line in lines]
    assert [line for line, one in zip(lines, told, strict=True) if one != [said]] == []


def test_a_script_is_read_by_whatever_name_it_has() -> None:
    line = (1, "pytest || true")
    assert [path for path in SCRIPTS.split() if not list(tests.find_tricks(path, [line]))] == []
    assert list(tests.find_tricks("docs/tests.md", [line])) == []


def test_of_one_file_three_lines_are_told_each_the_first_of_its_kind() -> None:
    lines = ("pytest || true", "assert True", "skip", "skip", 'if os.environ["A"]:')
    told = found("tests", altered("tests/test_a.sh", "", "\n".join(lines)))
    assert [one.partition(" ")[0] for one in told] == [f"tests/test_a.sh:{number}" for number in (1, 2, 3)]
