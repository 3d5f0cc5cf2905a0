"""Tests and quick checks that projects name in their own files: a row for each.

In the lines, {run} starts a program that the set-up installed; {test} and {script} are scripts of the
package.
"""

from dataclasses import dataclass

from rules.policy.projects.installers import TARGETS, VENV


@dataclass(frozen=True, slots=True)
class ProjectCheck:
    """A check. It counts where all facts hold and none of `unless`; of each `kind` the first that does.

    `package` must be among those that the project installs; pip installs it besides. `prepare` replaces the
    installer's set-up.
    """

    language: str
    kind: str
    when: tuple[str, ...]
    lines: tuple[str, ...]
    package: str = ""
    unless: tuple[str, ...] = ()
    prepare: str = ""


# Where a language's packages are named: lists of specifiers, or tables by name.
DECLARED = {
    "python": (
        *("pyproject.toml#project#dependencies", "pyproject.toml#project#optional-dependencies#*"),
        *("pyproject.toml#dependency-groups#*", "pyproject.toml#tool#poetry#dependencies"),
        *("pyproject.toml#tool#poetry#dev-dependencies", "pyproject.toml#tool#poetry#group#*#dependencies"),
        *("pyproject.toml#tool#pdm#dev-dependencies#*", "pyproject.toml#tool#uv#dev-dependencies"),
        *("Pipfile#packages", "Pipfile#dev-packages"),
    ),
    "node": ("package.json#dependencies", "package.json#devDependencies"),
    "ruby": ("Gemfile", "Gemfile.lock", "*.gemspec"),
    "php": ("composer.json#require", "composer.json#require-dev"),
}
FULL = "test"  # the kind of check that is no quick one
_TOX = f"python3 -m venv {VENV} && {VENV}/bin/pip install -q tox && {VENV}/bin/tox run -e py --notest"
_NOX = f"python3 -m venv {VENV} && {VENV}/bin/pip install -q nox && {VENV}/bin/nox -s {{}} --install-only"

_PYTEST = ("{run}python -m pytest -q",)
# In place of programs that make environments of their own, where a person has installed the packages.
INSTALLED = {"python": ProjectCheck("python", FULL, (), _PYTEST, "pytest")}
_CTEST = (
    "cmake -S . -B ~/build && cmake --build ~/build",
    "ctest --test-dir ~/build --output-on-failure",
)
_ESLINT = ("eslint.config.*", ".eslintrc", ".eslintrc.*", "package.json#eslintConfig")
_PRETTIER = ("prettier.config.*", ".prettierrc", ".prettierrc.*", "package.json#prettier")
_LINT = ("lint", "lint:check", "lint-check")
_TYPES = (
    "typecheck",
    "type-check",
    "check-types",
    "check:types",
    "types:check",
    "type:check",
    "test:types",
    "tsc",
)
_FORMAT = (
    "format:check",
    "format-check",
    "check-format",
    "check:format",
    "fmt:check",
    "fmt-check",
    "check-fmt",
    "prettier:check",
    "check:prettier",
)
_QUICK = (("lint", _LINT), ("types", _TYPES), ("format", _FORMAT))
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")  # in the order in which make looks for them
_TARGETS = (
    *(("make", file, _MAKEFILES[:place]) for place, file in enumerate(_MAKEFILES)),
    *(("just", file, ()) for file in ("[Jj]ustfile", ".justfile")),
    *(("task", f"{file}#tasks", ()) for file in ("[Tt]askfile.y*ml", "[Tt]askfile.dist.y*ml")),
)


def _any(
    language: str, kind: str, facts: tuple[str, ...], line: str, package: str
) -> tuple[ProjectCheck, ...]:
    return tuple(ProjectCheck(language, kind, (fact,), (line,), package) for fact in facts)


def _find_unscripted(kind: str, facts: tuple[str, ...], line: str, package: str) -> tuple[ProjectCheck, ...]:
    """Return checks of Node packages whose scripts do not start that program: those say on which files."""
    program = line.split()[0]
    unless = (f"package.json#scripts#*=*{program}*",)
    whole = f"{{run}}{line}"
    return tuple(
        ProjectCheck(language="node", kind=kind, when=(fact,), lines=(whole,), package=package, unless=unless)
        for fact in facts
    )


CHECKS = (
    *(
        ProjectCheck(TARGETS, kind, (f"{file}#{name}",), (f"{program} {name}",), unless=unless)
        for program, file, unless in _TARGETS
        for kind, names in ((FULL, ("test", "check", "tests")), *_QUICK)
        for name in names
    ),
    *(
        ProjectCheck("python", FULL, (fact,), _PYTEST, "pytest")
        for fact in (
            *("pytest.ini", ".pytest.ini", "pyproject.toml#tool#pytest", "setup.cfg#tool:pytest"),
            *("tox.ini#pytest", "conftest.py", "tests/conftest.py"),
        )
    ),
    ProjectCheck(
        "python",
        FULL,
        ("pyproject.toml#tool#hatch#envs#default#scripts#test",),
        ("hatch run test",),
        prepare="hatch env create",
    ),
    *(
        ProjectCheck("python", FULL, (fact,), (f"{VENV}/bin/tox run -e py --skip-pkg-install",), prepare=_TOX)
        for fact in ("tox.ini#testenv", "tox.toml#env_run_base", "pyproject.toml#tool#tox")
    ),
    *(
        ProjectCheck(
            "python",
            FULL,
            (f"noxfile.py#{name}",),
            (f"{VENV}/bin/nox -R -s {name}",),
            prepare=_NOX.format(name),
        )
        for name in ("tests", "test")
    ),
    *_any(
        "python", "lint", ("pyproject.toml#tool#ruff", "ruff.toml", ".ruff.toml"), "{run}ruff check .", "ruff"
    ),
    *_any("python", "lint", (".flake8", "setup.cfg#flake8", "tox.ini#flake8"), "{run}flake8", "flake8"),
    *_any("python", "format", ("pyproject.toml#tool#ruff#format",), "{run}ruff format --check .", "ruff"),
    *_any("python", "format", ("pyproject.toml#tool#black",), "{run}black --check .", "black"),
    *_any(
        "python",
        "types",
        (
            "pyproject.toml#tool#mypy#files",
            "pyproject.toml#tool#mypy#packages",
            "setup.cfg#mypy#files",
            "mypy.ini#mypy#files",
            ".mypy.ini#mypy#files",
        ),
        "{run}mypy",
        "mypy",
    ),
    ProjectCheck("node", FULL, ("package.json#scripts#test",), ("{test}",)),
    *(
        ProjectCheck("node", kind, (f"package.json#scripts#{name}",), ("{script}",))
        for kind, names in _QUICK
        for name in names
    ),
    *_find_unscripted("lint", _ESLINT, "eslint .", "eslint"),
    *_find_unscripted("lint", ("biome.json*",), "biome check .", "@biomejs/biome"),
    *_find_unscripted("format", _PRETTIER, "prettier --check .", "prettier"),
    *_find_unscripted("types", ("tsconfig.json",), "tsc --noEmit", "typescript"),
    ProjectCheck("deno", FULL, ("deno.json*#tasks#test",), ("deno task test",)),
    ProjectCheck("deno", FULL, ("*[._]test.[tj]s*",), ("deno test",)),
    ProjectCheck("deno", "lint", ("deno.json*#lint",), ("deno lint",)),
    ProjectCheck("deno", "format", ("deno.json*#fmt",), ("deno fmt --check",)),
    ProjectCheck("go", FULL, (), ("go test ./...",)),
    *_any("go", "lint", (".golangci.y*ml", ".golangci.toml", ".golangci.json"), "golangci-lint run", ""),
    ProjectCheck("rust", FULL, ("Cargo.toml#workspace",), ("cargo test --workspace",)),
    ProjectCheck("rust", FULL, (), ("cargo test",)),
    *_any("rust", "format", ("rustfmt.toml", ".rustfmt.toml"), "cargo fmt --check", ""),
    *_any("ruby", FULL, (".rspec", "spec/*_spec.rb"), "{run}rspec", ""),
    ProjectCheck("ruby", FULL, ("test/*_test.rb", "bin/rails"), ("bin/rails test",)),
    ProjectCheck("ruby", FULL, ("Rakefile#testtask", "test/*.rb"), ("{run}rake test",)),
    ProjectCheck("ruby", FULL, ("Rakefile#test", "test/*.rb"), ("{run}rake test",)),
    *_any("ruby", "lint", (".rubocop.yml",), "{run}rubocop", "rubocop"),
    *_any("ruby", "lint", (".standard.yml",), "{run}standardrb", "standard"),
    ProjectCheck("php", FULL, ("composer.json#scripts#test",), ("composer run-script test",)),
    ProjectCheck("php", FULL, ("tests/Pest.php",), ("{run}pest",)),
    *_any("php", FULL, ("phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"), "{run}phpunit", ""),
    *_any(
        "php",
        "lint",
        ("phpcs.xml", "phpcs.xml.dist", ".phpcs.xml.dist"),
        "{run}phpcs",
        "squizlabs/php_codesniffer",
    ),
    *_any(
        "php",
        "format",
        (".php-cs-fixer.php", ".php-cs-fixer.dist.php"),
        "{run}php-cs-fixer fix --dry-run",
        "friendsofphp/php-cs-fixer",
    ),
    *_any(
        "php",
        "types",
        ("phpstan.neon", "phpstan.neon.dist", "phpstan.dist.neon"),
        "{run}phpstan analyse",
        "phpstan/phpstan",
    ),
    ProjectCheck("maven", FULL, ("pom.xml",), ("{run}test",)),
    *(
        ProjectCheck("gradle", FULL, (f"{name}.gradle{end}",), ("{run}test",))
        for name in ("build", "settings")
        for end in ("", ".kts")
    ),
    *_any("gradle", "format", ("build.gradle*#spotless",), "{run}spotlessCheck", ""),
    ProjectCheck("elixir", FULL, (), ("mix test",)),
    ProjectCheck("elixir", "format", (".formatter.exs",), ("mix format --check-formatted",)),
    ProjectCheck("perl", FULL, ("Makefile.PL", "t/*.t", "*.xs"), ("perl Makefile.PL && {run}make test",)),
    *(
        ProjectCheck("perl", FULL, (file, "t/*.t"), ("{run}prove -lr t",))
        for file in ("Makefile.PL", "Build.PL", "cpanfile", "dist.ini")
    ),
    *(
        ProjectCheck("cmake", FULL, (f"CMakeLists.txt#{word}",), _CTEST)
        for word in ("enable_testing", "ctest")
    ),
)
