"""Every guard finds what it is for, says which rule and what to do, and lets ordinary work pass."""

from collections.abc import Mapping

import pytest

from ledger.parts import UnknownPartError
from rules.policy.repository import Guardrails
from runner.guards import builtin
from runner.guards.contract import EXECUTABLE, LINK, NOTHING, SUBMODULE, Change, Message, Touched
from runner.run.run_spec import Guards

PLAIN = "100644"
RULES = Guards(
    {name: "deny" for name in builtin.names()},
    protect=("infra/**",),
    allow=("src/**", "infra/**", "tools/**", "package.json"),
    max_file_kb=10,
    checks=("sh tools/check.sh --all|tee log", "cd web && ./run", "python3 -m tools.verify"),
)
KEY = "gh" + "p_" + "a1B2" * 9  # in two parts: no scanner is to find it here


def put(path: str, mode: str = PLAIN, before: str = NOTHING, **more: object) -> Touched:
    return Touched(path, before, mode, "0" * 40, "1" * 40, **more)  # type: ignore[arg-type]


IGNORED = "src/local.ini"
# What each guard must find, one by one; each alone is a whole change.
AGAINST: Mapping[str, tuple[Touched, ...]] = {
    "protected": (put("infra/a.tf"), put("INFRA/a.tf"), put("infra", LINK, target="x"), put("іnfra/a.tf")),
    "outside": (put("README.md"), put("SRC/a.py"), put("ѕrc/a.py"), put("src2/a.py")),
    "dependencies": (put("package.json"), put("src/Cargo.lock"), put("src/requirements/dev.txt"),
                     put("src/requirements-dev.txt"), put("src/App.csproj"), put("src/PyProject.toml"),
                     put("package.json", NOTHING, PLAIN)),
    "tests": (put("tests/test_a.py", PLAIN, PLAIN, gone=("def test_a():",)),
              put("tests/test_a.py", NOTHING, PLAIN, gone=("    assert a",)),
              put("src/a.spec.ts", PLAIN, PLAIN, lines=((4, "  it.skip('adds', () => {"),)),
              put("TESTS/test_a.py", PLAIN, PLAIN, unread=True),
              put("tools/check.sh", PLAIN, PLAIN, lines=((2, "pytest -q || true"),)),
              put("src/a.py", lines=((1, "if os.environ.get('PYTEST_CURRENT_TEST'):"),))),
    "checks": (put("Makefile"), put("src/conftest.py"), put("MAKEFILE"), put("tools/check.sh"),
               put("web/run", NOTHING, PLAIN), put("tools/verify.py"), put(".github/CODEOWNERS"),
               put(".github/cardinal.yml"), put("pytest.py"), put("src/sitecustomize.py"),
               put("web/node_modules/.bin/jest"), put("src/.gitattributes"), put("package.json"),
               put("package.json", whole=("{}", '{"scripts": {"test": "true"}}')),
               put("package.json", whole=("{}", "{")),
               put("pyproject.toml", whole=("[tool.pytest.ini_options]\naddopts = '-q'", "")),
               put("setup.cfg", whole=("[tool:pytest]\na = 1", "[tool:pytest]\na = 2")),
               put("pom.xml", lines=((1, "<skipTests>true</skipTests>"),)), put("pom.xml", unread=True)),
    "modes": (put("src/a.sh", EXECUTABLE), put("src/a.sh", EXECUTABLE, PLAIN), put("src/a", "100664"),
              put("src/a", PLAIN, LINK)),
    "symlinks": (put("src/a", LINK, target="/etc/passwd"), put("src/a", LINK, target="../../x"),
                 put("src/a", LINK, target="../.GIT/config"), put("src/a", LINK, target="../infra/key"),
                 put("src/a", LINK, PLAIN, target="b"), put("src/a", LINK, target="C:\\x"),
                 put("src/a", LINK, target="..\\..\\x"), put("src/a", LINK, target="x/../../..")),
    "submodules": (put("src/lib", SUBMODULE), put("src/lib", NOTHING, SUBMODULE), put(".gitmodules"),
                   put(".GitModules"), put(".git\u200cmodules")),
    "binaries": (put("src/a.png", binary=True),),
    "large_files": (put("src/a.json", size_bytes=10_001),),
    "secrets": (put("src/a.py", lines=((7, f"token = '{KEY}'"),)), put("src/a", unread=True),
                put("src/b", lines=((1, "x" * 5_000 + KEY + "y" * 5_000),))),
    "generated": (put("src/node_modules/a/b.js"), put("src/__pycache__/a.pyc"), put("src/a.min.js"),
                  put("src/.DS_Store"), put("dist/app.js"), put("src/a.py.swp"), put("src/x.egg-info/PKG")),
    "machines": (put(".vscode/tasks.json"), put("web/.MCP.json"), put("AGENTS.md", PLAIN, PLAIN),
                 put(".claude/settings.local.json"), put(".cursor", LINK, target="x"), put("src/.env"),
                 put("docs/fixtures/HEAD"), put(".github/copilot-instructions.md")),
    "ignored": (put(IGNORED), put(IGNORED, LINK, target="x")),
}  # fmt: skip
ORDINARY = (
    put("src/a.py", lines=((1, "def a() -> None:"), (2, "    password = input()"))),
    put("src/b.py", PLAIN, PLAIN, lines=((3, 'key = os.environ["API_KEY"]'),)),
    put("src/c.sh", EXECUTABLE, EXECUTABLE),
    put("src/d", LINK, target="../src/a.py"),
    put("src/gone.py", NOTHING, PLAIN),
    put("src/distance.py"),
    put("src/requirements.py"),
    put("src/kept.pyc", PLAIN, PLAIN),
    put("src/small.json", size_bytes=10_000),
)


def change(*touched: Touched, said: str = "Say hello") -> Change:
    ignored = frozenset({IGNORED})
    return Change("b" * 40, "c" * 40, touched, (Message("c" * 40, said),), ignored=ignored)


def test_every_guard_is_tried_here_and_has_its_key_in_the_policy() -> None:
    assert set(builtin.names()) == set(AGAINST)
    for name in builtin.names():
        guard = builtin.load(name)
        assert guard.ACTION in ("ask", "deny"), name
        assert guard.FINDS


@pytest.mark.parametrize("name", builtin.names())
def test_a_guard_finds_each_breach_with_its_rule_and_what_to_do(name: str) -> None:
    for touched in AGAINST[name]:
        breaches = tuple(builtin.load(name).find_breaches(change(touched), RULES))
        assert breaches, touched
        for breach in breaches:
            assert breach.path == touched.path
            assert breach.rule.split(":")[0] in {*Guardrails.model_fields, *builtin.names()}, breach
            assert breach.what
            assert breach.advice
            assert KEY not in repr(breach)


@pytest.mark.parametrize("name", builtin.names())
def test_ordinary_work_passes_and_nothing_at_all_does(name: str) -> None:
    assert tuple(builtin.load(name).find_breaches(change(*ORDINARY), RULES)) == ()
    assert tuple(builtin.load(name).find_breaches(change(said=""), RULES)) == ()


@pytest.mark.parametrize("name", builtin.names())
def test_no_name_and_no_text_makes_a_guard_fail(name: str) -> None:
    odd = (
        "",
        "/",
        "..",
        "a" * 5_000,
        "\n",
        "a\\xff",
        "(" * 99,
        "\u202eabc",
        "a/../b",
        ".",
        "*" * 200,
        "[z-a]",
    )
    for path in odd:
        for mode in (PLAIN, LINK, SUBMODULE, NOTHING):
            touched = put(path, mode, target=path, lines=((1, path),), size_bytes=1)
            tuple(builtin.load(name).find_breaches(change(touched, said=path), RULES))


def test_leave_for_one_content_is_none_for_another_in_its_place() -> None:
    touched, other = put("infra/a"), Touched("infra/a", NOTHING, PLAIN, "0" * 40, "2" * 40)
    marks = {breach.mark for breach in builtin.load("protected").find_breaches(change(touched, other), RULES)}
    assert len(marks) == 2


def test_a_secret_in_a_commit_message_is_one_too_and_is_not_repeated() -> None:
    (breach,) = builtin.load("secrets").find_breaches(change(said=f"Use {KEY}\n\nand {KEY}"), RULES)
    assert breach.commit == "c" * 40
    assert KEY not in repr(breach)


def test_what_is_as_often_an_example_is_doubtful_and_a_word_is_no_password() -> None:
    def doubtful(line: str) -> list[bool]:
        breaches = builtin.load("secrets").find_breaches(change(put("src/a", lines=((1, line),))), RULES)
        return [breach.doubtful for breach in breaches]

    assert doubtful('DB_PASSWORD = "Xk29!sdfQQz81"') == [True]
    assert doubtful("postgresql://user:hunter2@db/shop") == [True]
    assert doubtful('password = "hunter2"') == []
    assert doubtful("-----BEGIN RSA PRIVATE KEY-----") == [False]
    assert doubtful("AKIA" + "Q3EGTIB4YU5ZNKWD") == [False]


def test_without_a_list_of_allowed_paths_all_are_allowed() -> None:
    assert (
        tuple(builtin.load("outside").find_breaches(change(put("anything")), Guards({"outside": "deny"})))
        == ()
    )


def test_a_guard_that_is_not_there_is_named() -> None:
    with pytest.raises(UnknownPartError, match="no guard called 'os'"):
        builtin.load("os")
