"""Manifests and lock files of the usual ecosystems: a dependency is foreign code."""

import re
from collections.abc import Iterator

from runner.guards.contract import Breach, Change, breach
from runner.guards.path_patterns import fold_case
from runner.run.run_spec import Guards

FINDS = "Manifests and lock files of package managers"
ACTION = "ask"
# By name, wherever it lies: what package managers read to decide what to install, and from where.
_NAMES = re.compile(
    r"""
    package\.json | package-lock\.json | npm-shrinkwrap\.json | yarn\.lock | pnpm-(?:lock|workspace)\.yaml
    | bun\.lockb? | \.npmrc | \.yarnrc(?:\.yml)? | deno\.(?:jsonc?|lock) | bower\.json | jsr\.json
    | .*requirements.*\.(?:txt|in) | constraints.*\.txt | pyproject\.toml | setup\.(?:py|cfg)
    | pipfile(?:\.lock)?
    | (?:poetry|uv|pdm|pixi|conda)[-.]?(?:lock)?(?:\.lock|\.toml|\.ya?ml) | environment\.ya?ml | pip\.conf
    | pylock.*\.toml | cargo\.(?:toml|lock) | go\.(?:mod|sum|work|work\.sum) | gemfile(?:\.lock)?
    | gems\.(?:rb|locked) | .*\.gemspec | composer\.(?:json|lock) | pom\.xml
    | (?:build|settings)\.gradle(?:\.kts)?
    | gradle\.lockfile | libs\.versions\.toml | gradle-wrapper\.(?:properties|jar) | build\.sbt | ivy\.xml
    | mix\.(?:exs|lock) | rebar\.(?:config|lock) | pubspec\.(?:yaml|lock) | package\.(?:swift|resolved)
    | podfile(?:\.lock)? | cartfile(?:\.resolved)? | .*\.(?:cs|fs|vb)proj | packages\.(?:config|lock\.json)
    | directory\.packages\.props | nuget\.config | paket\.(?:dependencies|lock) | .*\.cabal | cabal\.project.*
    | stack\.yaml(?:\.lock)? | deps\.edn | project\.clj | flake\.(?:nix|lock) | conanfile\.(?:py|txt)
    | vcpkg\.json | cpanfile.* | renv\.lock | (?:project|manifest)\.toml | .*\.opam | shard\.(?:yml|lock)
    | module\.bazel(?:\.lock)? | workspace(?:\.bazel)? | \.tool-versions | \.terraform\.lock\.hcl
    """,
    re.VERBOSE | re.DOTALL,
)
_FOLDERS = re.compile(r"(?:^|/)requirements/[^/]*\.(?:txt|in)$")
_ADVICE = "take the change of dependencies out; ask people where the work cannot do without"


def find_breaches(change: Change, rules: Guards) -> Iterator[Breach]:
    """Yield every manifest and lock file that changes."""
    for touched in change.touched:
        plain = fold_case(touched.path)
        if _NAMES.fullmatch(plain.rsplit("/", 1)[-1]) or _FOLDERS.search(plain):
            rule = f"dependencies: {rules.action('dependencies')}"
            yield breach(touched, rule, "says what is installed", _ADVICE)
