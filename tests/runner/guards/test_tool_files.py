"""The list of files by which tools decide: whole, with sources, and no wider than it says."""

import re
import time
from collections import defaultdict

import pytest

from runner.guards.builtin import checks, dependencies, machines
from runner.guards.contract import LINK, NOTHING, Change, Guard, Touched
from runner.guards.tool_files import ToolFile, find_reason, list_tool_files
from runner.run.run_spec import Guards
from tests.house.source import ROOT

GUARDS = ("checks", "dependencies", "lines", "machines")
# Names that no guard knew while each had its own patterns.
NEW = """
build.rs .mvn/extensions.xml .mvn/settings.xml mvnw mvnw.cmd gradlew gradlew.bat gradle.properties
gradle/wrapper/gradle-wrapper.sh buildSrc/src/main/kotlin/Tests.kt build-logic/a.kt gradle/test.gradle
.bazelrc .bazelversion BUILD BUILD.bazel tools/defs.bzl tools/bazel CMakeLists.txt cmake/Test.cmake
CMakePresets.json meson.build meson_options.txt build.ninja configure.ac Makefile.am SConstruct wscript
build.zig babel.config.js .babelrc.json .swcrc webpack.config.js rollup.config.mjs gulpfile.js Gruntfile.js
.yarn/releases/yarn-4.1.0.cjs .yarn/plugins/a.cjs .pnp.cjs .pnpmfile.cjs nx.json turbo.json lerna.json
angular.json bunfig.toml .storybook/main.ts cypress/support/e2e.ts cucumber.js features/support/world.js
nightwatch.conf.js codecept.conf.js .testcaferc.json .taprc global-setup.ts jest-preset.js
spec/support/matchers.rb .rspec-local bin/rspec .bundle/config .simplecov lib/tasks/test.rake tests/Pest.php
tests/bootstrap.php vendor/bin/phpunit vendor/autoload.php behat.yml codeception.yml psalm.xml
features/environment.py behave.ini toxfile.py tox.toml nose2.cfg .coveragerc.toml pyvenv.cfg dodo.py
rust-toolchain.toml magefile.go junit-platform.properties META-INF/services/org.junit.platform.launcher.A
mockito-extensions/a SpockConfig.groovy project/Tests.scala build.mill Directory.Build.props
Directory.Build.targets a.runsettings xunit.runner.json testconfig.json global.json a.xctestplan a.xcscheme
dart_test.yaml flutter_test_config.dart .proverc tests/testthat.R tests/testthat/setup.R .Rprofile .busted
.luacov config/test.exs dune-project .hspec mise.toml .mise/tasks/test .devcontainer/devcontainer.json
Earthfile devbox.json setup_suite.bash bitbucket-pipelines.yml .woodpecker.yml .drone.yml .cirrus.yml
buildspec.yml conan.lock .nvmrc .python-version gleam.toml elm.json a.nimble a.rockspec dub.json
subprojects/a.wrap
.vscode/tasks.json .vscode/settings.json .vscode/launch.json .vscode/mcp.json .vscode/extensions.json
.vscode/c_cpp_properties.json web/.vscode/tasks.json shop.code-workspace .idea/runConfigurations/a.xml
.idea/startup.xml .idea/watcherTasks.xml .run/a.run.xml .vs/tasks.vs.json src/Properties/launchSettings.json
.zed/tasks.json .fleet/run.json a.sublime-project .exrc .vimrc .nvim.lua .dir-locals.el .helix/languages.toml
.ycm_extra_conf.py .bsp/sbt.json rust-analyzer.toml .lsp/config.edn .gitpod.yml .gitpod/automations.yaml
devfile.yaml .replit .idx/dev.nix .devcontainer.json .devcontainer/a/devcontainer.json Vagrantfile
docker-compose.override.yml .mcp.json AGENTS.md docs/AGENTS.md AGENTS.override.md CLAUDE.md CLAUDE.local.md
GEMINI.md .claude/settings.json .claude/settings.local.json .claude/hooks/a.sh .claude/commands/a.md
.codex/config.toml .codex/hooks.json .cursor/mcp.json .cursor/rules/a.mdc .cursor/hooks.json .cursorrules
.windsurfrules .windsurf/rules/a.md .clinerules .clinerules/a.md .aider.conf.yml .gemini/settings.json
.opencode/plugin/a.ts opencode.json opencode.jsonc .kiro/hooks/a.kiro.hook .roo/mcp.json .roomodes
.continue/config.yaml .amazonq/mcp.json .github/copilot-instructions.md .github/instructions/a.instructions.md
.github/prompts/a.prompt.md .github/agents/a.agent.md .github/hooks/a.json .junie/guidelines.md .goosehints
.agents/skills/a/SKILL.md .kilocode/mcp.json .envrc .autoenv .autoenv.zsh .direnv/bin/ls .env .env.local
web/.env.production .flaskenv .shadowenv.d/a.lisp bin/activate-hermit .rvmrc .Rprofile .RData .gdbinit
.lldbinit shop-gdb.py .pdbrc .pythonstartup .pythonrc.py jupyter_server_config.py .irbrc .pryrc .iex.exs .ghci
.latexmkrc a.desktop autorun.inf docs/a.lnk docs/a.url .githooks/pre-commit .husky/pre-push lefthook.yml
hk.pkl tests/data/HEAD tests/data/.hg/hgrc Brewfile .tool-versions .prototools
"""
# Work on a product that is nobody's setting.
ORDINARY = """
src/app.py src/config.py src/settings.py src/build.py src/conf.ts app/configure.ts docs/conftest.md
docs/makefile.md src/jest-dom.ts web/karma-utils.ts src/vitest-helpers.ts lib/playwright-pages.ts
docs/jest.config.js.md notes/vite.config.ts.md src/ava-tar.ts src/cypress-grove.ts web/wdio.html
src/avaconf.ts src/jest.ts src/mochajs.ts src/babel.ts src/webpack.ts src/rollup.rs src/build/mod.rs build/x
build/app/index.html src/gradle/parser.py src/maven.py src/mvnw.py tests/test_cart.py
tests/fixtures/carts.py tests/support/carts.py test/support/carts.rb test/cart_test.rb spec/cart_spec.rb
spec/helpers/cart_helper_spec.rb tests/CartTest.php src/test/java/CartTest.java cart_test.go
insurance/coverage.py src/pytest_like.py tools/pytest.py src/nox/orbit.py action.yml project.yml
package.yaml default.nix render.yaml netlify.toml init.d/app Dockerfile app.yml .gitignore README.md LICENSE
config/app.exs config/database.yml vendor/lib/a.php vendor/a/b.go db/project.sql src/services/checkout.ts
migrations/0001_initial.py locale/de.po public/index.html styles/site.css requirements.py
src/requirements.md environment.ts src/package.ts src/cargo.rs
.env.example .env.sample .env.template src/env.ts docs/env.md src/agents.py docs/using-agents.md src/claude.ts
docs/cursor.md src/codex/shelf.py src/vscode/theme.ts tasks.json launch.json src/settings.json mcp.json
src/run/start.py docs/head.md src/head.py include/head.h src/hooks/use-cart.ts hooks/index.ts lib/desktop.rb
src/idea/model.kt src/zed.rs src/fleet/van.py docs/project.md tests/autorun.py src/rules.py docs/copilot.md
docker-compose.yml compose.yaml .github/ISSUE_TEMPLATE/bug.md .github/dependabot.yml .github/FUNDING.yml
"""


def example(file: ToolFile, stands: str) -> tuple[str, ...]:
    """Return a path that the pattern is about, in its parts."""
    return tuple(file.pattern.strip("/").replace("/**", "/*").replace("*", stands).split("/"))


def ending(file: ToolFile) -> str:
    """Return what follows the last dot of a pattern, where that has no star."""
    last = file.names[-1].rpartition(".")[2]
    return "" if "*" in last else last


def test_every_pattern_has_a_guard_a_reason_and_a_page_that_documents_it() -> None:
    files = list_tool_files()
    assert {file.guard for file in files} == set(GUARDS)
    for file in files:
        assert re.match(r"[a-z]", file.why), file
        assert file.source.startswith("https://") or (ROOT / file.source).is_file(), file
        assert file.pattern == file.pattern.lower(), file
        assert "**" not in file.pattern.removesuffix("/**"), file
        assert not set(file.pattern) & set("{}?[]"), file


def test_every_pattern_finds_what_it_is_about() -> None:
    lost = [file for file in list_tool_files() if not find_reason("/".join(example(file, "x")), file.guard)]
    assert lost == []


@pytest.mark.parametrize("guard", GUARDS)
def test_no_pattern_stands_twice_or_under_a_wider_one(guard: str) -> None:
    files = [file for file in list_tool_files() if file.guard == guard]
    assert len({file.pattern for file in files}) == len(files)
    wide = [file for file in files if "*" in file.pattern or "/" not in file.pattern]
    names = {file.pattern for file in wide if "*" not in file.pattern}
    starred = defaultdict[str, list[ToolFile]](list)
    for file in wide:
        if "*" in file.pattern:
            starred[ending(file)].append(file)
    for file in files:
        last = example(file, "x")[-1]
        assert file.pattern == last or last not in names, file
        alike = (
            tool_file for end in {"", ending(file)} for tool_file in starred[end] if tool_file is not file
        )
        above = () if file.pattern.startswith("/") else ("above",)
        paths = [(*above, *example(file, stands)) for stands in ("x", "zz9")]
        assert [tool_file.pattern for tool_file in alike if all(map(tool_file.fits, paths))] == [], file


def test_names_that_no_guard_knew_are_found() -> None:
    names = NEW.split()
    assert len(names) >= 60
    assert [path for path in names if not any(find_reason(path, guard) for guard in GUARDS)] == []
    assert [path for path in names if not any(find_reason(path.upper(), guard) for guard in GUARDS)] == []


def test_a_file_of_peoples_machines_that_another_guard_finds_is_listed_once() -> None:
    theirs = [file for file in list_tool_files() if file.guard == "machines"]
    paths = ["/".join(example(file, "x")) for file in theirs]
    assert [path for path in paths for guard in ("checks", "dependencies") if find_reason(path, guard)] == []


def test_ordinary_files_of_a_product_are_not_on_the_list() -> None:
    paths = ORDINARY.split()
    assert len(paths) >= 40
    found = [(path, guard) for path in paths for guard in GUARDS if find_reason(path, guard)]
    assert found == []


def touched(path: str, mode: str) -> Change:
    return Change("b" * 40, "c" * 40, (Touched(path, NOTHING, mode, "0" * 40, "1" * 40, target="x"),), ())


@pytest.mark.parametrize(
    ("guard", "path"),
    [
        *((checks, one) for one in (".mvn", "web/.mvn", ".yarn", ".yarn/releases", ".husky", "spec")),
        *((checks, "vendor/bin"), (machines, ".vscode"), (machines, "web/.claude"), (machines, ".cursor")),
    ],
)
def test_a_link_in_the_place_of_a_listed_folder_is_found(guard: Guard, path: str) -> None:
    assert list(guard.find_breaches(touched(path, LINK), Guards({})))
    assert not list(guard.find_breaches(touched(f"{path}-old", LINK), Guards({})))


def test_a_link_in_the_place_of_a_folder_of_requirements_is_found() -> None:
    assert list(dependencies.find_breaches(touched("requirements", LINK), Guards({})))
    assert not list(dependencies.find_breaches(touched("requirements", "100644"), Guards({})))


def test_a_file_in_the_place_of_a_listed_folder_is_found_and_one_above_it_is_not() -> None:
    assert find_reason(".mvn", "checks")
    assert find_reason("web/.yarn/releases", "checks")
    assert not find_reason("spec", "checks")
    assert not find_reason("docs/.github/cardinal.yml", "checks")


@pytest.mark.parametrize(
    ("shape", "names", "others"),
    [
        ("a*b*c", ("abc", "axbxc", "abbcc"), ("ac", "acb", "abca", "xabc")),
        ("*aa*aa", ("aaaa", "xaaxaa"), ("aaa", "aaaax")),
        ("*", ("", "a"), ()),
        ("a**b", ("ab", "axb"), ("a", "b")),
        ("ab*ba", ("abba", "abxba"), ("aba",)),
    ],
)
def test_a_name_is_compared_exactly_with_any_number_of_stars(
    shape: str, names: tuple[str, ...], others: tuple[str, ...]
) -> None:
    file = ToolFile("a", "https://a", shape, "checks", "decides", (shape,))
    assert [name for name in names if not file.fits((name,))] == []
    assert [name for name in others if file.fits((name,))] == []


def test_the_longest_of_paths_is_compared_in_no_time() -> None:
    paths = ("jest." * 800 + "js", "requirements" * 300 + ".md", ".yarn/" * 600 + "a", "a/" * 2_000 + ".js")
    start = time.process_time()
    assert [find_reason(path, guard) for path in paths for guard in GUARDS].count("") == 16
    assert time.process_time() - start < 1
