"""Package managers that projects name in their own files, and how each sets them up: a row for each.

A fact is a file (`uv.lock`, a pattern), keys in one (`package.json#scripts#test`), or a text there
(`package.json#packageManager=pnpm@*`).
"""

from dataclasses import dataclass

TARGETS = "targets"  # no language: what Makefiles and the like offer
VENV = "~/venv"  # outside of the work tree, so that nobody commits it
# Groups and extras with what tests and quick checks need, by the names that most projects give them.
GROUPS = ("test", "tests", "testing", "dev", "lint", "linting", "typing", "types", "typecheck", "format")


@dataclass(frozen=True, slots=True)
class Installer:
    """A package manager, for folders where all facts of `here` hold.

    Of a language, the first counts of which a fact in `named` holds; else the first with a lock file, or with
    a fact of `hints`; else the last. `frozen` sets up where a lock file is, `loose` elsewhere, if a fact of
    `wants` holds. A fact of `workspace` says that this sets up the folders below, too. {groups} are options
    that choose packages beside the usual ones, by their keys in pyproject.toml. `needs` are programs that no
    line names.
    """

    language: str
    source: str
    here: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    locks: tuple[str, ...] = ()
    frozen: str = ""
    loose: str = ""
    wants: tuple[str, ...] = ()
    workspace: tuple[str, ...] = ()
    run: str = ""
    script: str = ""
    test: str = ""
    group: str = ""
    groups_at: tuple[str, ...] = ()
    extra: str = ""
    needs: tuple[str, ...] = ()


_NODE_WANTS = (
    *("package.json#dependencies", "package.json#devDependencies", "package.json#peerDependencies"),
    *("package.json#optionalDependencies", "package.json#workspaces", "pnpm-workspace.yaml"),
)
_WORKSPACES = ("package.json#workspaces",)
_BUNDLE = "bundle config set --global path ~/bundle && bundle install"
_MIX = "mix local.hex --force && mix local.rebar --force && mix deps.get"
INSTALLERS = (
    Installer(
        "python",
        "docs.astral.sh/uv/concepts/projects/sync",
        here=("pyproject.toml",),
        hints=("pyproject.toml#tool#uv",),
        locks=("uv.lock",),
        frozen="uv sync --locked{groups}",
        loose="uv sync{groups}",
        workspace=("pyproject.toml#tool#uv#workspace",),
        run="uv run --no-sync ",
        group=" --group {}",
        groups_at=("dependency-groups",),
        extra=" --extra {}",
    ),
    Installer(
        "python",
        "python-poetry.org/docs/cli/#install",
        here=("pyproject.toml",),
        hints=("pyproject.toml#tool#poetry#dependencies", "pyproject.toml#tool#poetry#group"),
        locks=("poetry.lock",),
        frozen="poetry install{groups}",
        loose="poetry install{groups}",
        run="poetry run ",
        group=" --with {}",
        groups_at=("tool", "poetry", "group"),
        extra=" --extras {}",
    ),
    Installer(
        "python",
        "pdm-project.org/latest/reference/cli/#sync",
        here=("pyproject.toml",),
        hints=("pyproject.toml#tool#pdm#dev-dependencies", "pyproject.toml#tool#pdm#scripts"),
        locks=("pdm.lock",),
        frozen="pdm sync{groups}",
        loose="pdm install{groups}",
        run="pdm run ",
        extra=" -G {}",
    ),
    Installer(
        "python",
        "pipenv.pypa.io/en/latest/commands.html",
        here=("Pipfile",),
        hints=("Pipfile",),
        locks=("Pipfile.lock",),
        frozen="pipenv sync --dev",
        loose="pipenv install --dev",
        run="pipenv run ",
    ),
    Installer(
        "python", "docs.python.org/3/library/venv.html", run=f"{VENV}/bin/", groups_at=("dependency-groups",)
    ),
    Installer(
        "node",
        "pnpm.io/cli/install",
        here=("package.json",),
        locks=("pnpm-lock.yaml",),
        named=(
            "package.json#packageManager=pnpm@*",
            "package.json#devEngines#packageManager#name=pnpm",
        ),
        hints=("pnpm-workspace.yaml",),
        workspace=("pnpm-workspace.yaml",),
        frozen="pnpm install --frozen-lockfile",
        loose="pnpm install",
        wants=_NODE_WANTS,
        run="pnpm exec ",
        script="pnpm run {}",
        test="pnpm test",
    ),
    Installer(
        "node",
        "yarnpkg.com/cli/install",
        here=("package.json", ".yarnrc.yml"),
        locks=("yarn.lock",),
        named=(
            "package.json#packageManager=yarn@[2-9]*",
            "package.json#packageManager=yarn@berry*",
        ),
        workspace=_WORKSPACES,
        frozen="yarn install --immutable",
        loose="yarn install",
        wants=_NODE_WANTS,
        run="yarn run ",
        script="yarn run {}",
        test="yarn test",
    ),
    Installer(
        "node",
        "classic.yarnpkg.com/en/docs/cli/install",
        here=("package.json",),
        locks=("yarn.lock",),
        named=(
            "package.json#packageManager=yarn@*",
            "package.json#devEngines#packageManager#name=yarn",
        ),
        workspace=_WORKSPACES,
        frozen="yarn install --frozen-lockfile",
        loose="yarn install",
        wants=_NODE_WANTS,
        run="yarn run --silent ",
        script="yarn run {}",
        test="yarn test",
    ),
    Installer(
        "node",
        "bun.com/docs/pm/cli/install",
        here=("package.json",),
        locks=("bun.lock", "bun.lockb"),
        named=(
            "package.json#packageManager=bun@*",
            "package.json#devEngines#packageManager#name=bun",
        ),
        workspace=_WORKSPACES,
        frozen="bun install --frozen-lockfile",
        loose="bun install",
        wants=_NODE_WANTS,
        run="bun run ",
        script="bun run {}",
        test="bun run test",
    ),
    Installer(
        "node",
        "docs.npmjs.com/cli/commands/npm-ci",
        here=("package.json",),
        locks=("package-lock.json", "npm-shrinkwrap.json"),
        named=(
            "package.json#packageManager=npm@*",
            "package.json#devEngines#packageManager#name=npm",
        ),
        workspace=_WORKSPACES,
        frozen="npm ci",
        loose="npm install",
        wants=_NODE_WANTS,
        run="npx ",
        script="npm run {}",
        test="npm test",
    ),
    Installer(
        "deno",
        "docs.deno.com/runtime/reference/cli/install",
        here=("deno.json*",),
        loose="deno install",
        wants=("deno.json*#imports", "deno.lock"),
    ),
    Installer(
        "go",
        "go.dev/ref/mod#go-mod-download",
        here=("go.mod",),
        locks=("vendor/modules.txt",),
    ),
    Installer(
        "go", "go.dev/ref/mod#go-mod-download", here=("go.mod",), loose="go mod download", wants=("go.sum",)
    ),
    Installer(
        "rust",
        "doc.rust-lang.org/cargo/commands/cargo-vendor.html",
        here=("Cargo.toml",),
        locks=("vendor/*/.cargo-checksum.json",),
    ),
    Installer(
        "rust",
        "doc.rust-lang.org/cargo/commands/cargo-fetch.html",
        here=("Cargo.toml",),
        locks=("Cargo.lock",),
        frozen="cargo fetch --locked",
        loose="cargo fetch",
        wants=("Cargo.toml#dependencies", "Cargo.toml#dev-dependencies", "Cargo.toml#workspace"),
    ),
    Installer(
        "ruby",
        "bundler.io/man/bundle-install.1.html",
        here=("Gemfile",),
        loose=_BUNDLE,
        wants=("Gemfile",),
        run="bundle exec ",
    ),
    Installer(
        "php",
        "getcomposer.org/doc/03-cli.md",
        here=("composer.json",),
        loose="composer install",
        wants=("composer.json",),
        run="vendor/bin/",
        needs=("php",),
        script="composer run-script {}",
    ),
    Installer(
        "maven",
        "maven.apache.org/wrapper",
        here=("pom.xml",),
        locks=("mvnw",),
        frozen="./mvnw -B -q dependency:go-offline",
        run="./mvnw -B -q ",
        needs=("java",),
    ),
    Installer(
        "maven",
        "maven.apache.org/plugins/maven-dependency-plugin/go-offline-mojo.html",
        here=("pom.xml",),
        loose="mvn -B -q dependency:go-offline",
        wants=("pom.xml",),
        run="mvn -B -q ",
    ),
    Installer(
        "gradle",
        "docs.gradle.org/current/userguide/gradle_wrapper.html",
        locks=("gradlew",),
        frozen="./gradlew -q testClasses",
        run="./gradlew ",
        needs=("java",),
    ),
    Installer(
        "gradle",
        "docs.gradle.org/current/userguide/java_testing.html",
        loose="gradle -q testClasses",
        wants=("*.gradle", "*.gradle.kts"),
        run="gradle ",
    ),
    Installer(
        "elixir",
        "hexdocs.pm/mix/Mix.Tasks.Deps.Get.html",
        here=("mix.exs",),
        loose=_MIX,
        wants=("mix.exs",),
    ),
    Installer(
        "perl",
        "metacpan.org/dist/App-cpanminus/view/bin/cpanm",
        hints=("cpanfile",),
        loose="cpanm -q -l ~/perl5 --installdeps .",
        wants=("cpanfile",),
        run="PERL5LIB=~/perl5/lib/perl5 ",
    ),
    Installer("perl", "perldoc.perl.org/prove"),
    Installer("cmake", "cmake.org/cmake/help/latest/manual/ctest.1.html", needs=("c++",)),
    Installer(TARGETS, "gnu.org/software/make/manual, just.systems/man, taskfile.dev"),
)
LANGUAGES = tuple(
    dict.fromkeys(installer.language for installer in INSTALLERS if installer.language != TARGETS)
)
