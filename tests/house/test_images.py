"""The agents' image holds exactly the programs that the code was written for, from anywhere and unchanged."""

import importlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from runner import agents
from tests.house.source import ROOT, tracked

FOLDER = ROOT / "docker/agent"
PACKAGES = {"claude": "@anthropic-ai/claude-code", "codex": "@openai/codex", "opencode": "opencode"}
PROCESSORS = ("arm64", "x64")
PLAIN = {"qwen": "@qwen-code/qwen-code"}  # the same for every processor: Node runs it


def read(name: str) -> dict[str, Any]:
    return dict(json.loads((FOLDER / name).read_text(encoding="utf-8")))


def loose(lock: Mapping[str, Any]) -> Iterator[str]:
    """Yield what of a lock has no hash, or an address that it was downloaded from."""
    for place, package in lock["packages"].items():
        if place and not str(package.get("integrity", "")).startswith("sha512-"):
            yield place
        if "resolved" in package:
            yield f"{place} {package['resolved']}"


def programs(agent: str) -> dict[str, str]:
    """Return the package of an agent's program for each processor."""
    return {processor: f"{PACKAGES[agent]}-linux-{processor}" for processor in PROCESSORS}


@pytest.mark.parametrize("agent", PACKAGES)
def test_lock_label_and_code_name_the_same_version_for_every_processor(agent: str) -> None:
    labels = dict(
        re.findall(r'cardinal\.agent\.(\w+)="([^"]+)"', (FOLDER / "Dockerfile").read_text(encoding="utf-8"))
    )
    lock = read("package-lock.json")["packages"]
    said = {
        "the label": labels[agent],
        "the code": importlib.import_module(f"runner.agents.adapters.{agent}").AGENT.version,
    }
    for processor, package in programs(agent).items():
        program = lock[f"node_modules/{package}"]
        said[processor] = program["version"].removesuffix(f"-linux-{processor}")
        assert (program["os"], program["cpu"], program["optional"]) == (["linux"], [processor], True)
    assert set(said.values()) == {said["the code"]}, said


@pytest.mark.parametrize("agent", PLAIN)
def test_a_program_for_node_has_one_version_too_and_brings_nothing_along(agent: str) -> None:
    recipe = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
    program = read("package-lock.json")["packages"][f"node_modules/{PLAIN[agent]}"]
    version = agents.load(agent).version
    assert (program["version"], f'cardinal.agent.{agent}="{version}"' in recipe) == (version, True)
    assert not {"dependencies", "optionalDependencies", "os", "cpu"} & set(program)
    assert f"mv {PLAIN[agent]} " in recipe


def test_the_lock_holds_what_package_json_wishes_and_the_recipe_names_no_processor() -> None:
    lock, wish = read("package-lock.json")["packages"], read("package.json")
    wishes = {name: wish[name] for name in ("dependencies", "optionalDependencies")}
    assert wishes == {name: lock[""][name] for name in wishes}
    digests = [package["integrity"] for place, package in lock.items() if place]
    assert len(set(digests)) == len(digests), "no program has the hash of another one"
    recipe = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
    assert re.findall(r"x64|amd64|x86_64|arm64|aarch64", recipe) == []
    for package in PACKAGES.values():
        assert f" {package}-linux-*/" in recipe


def test_every_agent_that_says_so_is_in_the_image() -> None:
    real = [agent for name in agents.names() if (agent := agents.load(name)).in_image]
    assert {agent.name for agent in real if not agent.image} == {*PACKAGES, *PLAIN}
    wish = read("package.json")
    wished = {*wish["dependencies"], *wish["optionalDependencies"]}
    named = {package for agent in PACKAGES for package in programs(agent).values()}
    itself = {PACKAGES["codex"]}  # its package names its programs
    assert wished - named == itself | set(PLAIN.values())
    assert named - wished == set(programs("codex").values())


def test_the_lock_has_hashes_and_no_addresses() -> None:
    assert list(loose(read("package-lock.json"))) == []
    bad = {
        "packages": {"": {}, "a": {"integrity": "sha1-x"}, "b": {"integrity": "sha512-x", "resolved": "y"}}
    }
    assert list(loose(bad)) == ["a", "b y"]


def test_every_image_begins_with_the_base_that_a_machine_without_a_registry_can_make() -> None:
    files = [path for path in tracked() if path.startswith("docker/") and path.endswith("/Dockerfile")]
    for path in files:
        lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
        on_agents = path in ("docker/browser/Dockerfile", "docker/program/Dockerfile")
        base = "cardinal/agent:latest" if on_agents else "cardinal/base:bookworm"
        assert {line.split()[1] for line in lines if line.startswith("FROM ")} == {base}, path
    assert set(files) == {
        "docker/Dockerfile",
        "docker/agent/Dockerfile",
        "docker/browser/Dockerfile",
        "docker/postgres/Dockerfile",
        "docker/program/Dockerfile",
    }


def test_no_image_comes_from_outside_but_by_its_digest() -> None:
    script = (ROOT / "scripts/images").read_text(encoding="utf-8")
    assert re.findall(r'docker pull -q "(\$\w+)"', script) == ["$debian"]
    registry = (ROOT / "scripts/registry").read_text(encoding="utf-8")
    assert re.findall(r'docker pull -q "(\$\w+)"', registry) == ["$line"]
    assert '@sha256:[0-9a-f]{64}" "$IMAGES_FROM"' in registry, "a line is no name without a digest"
    assert re.search(r"^debian=debian@sha256:[0-9a-f]{64}$", script, re.MULTILINE)
    compose = yaml.safe_load((ROOT / "docker/compose.yml").read_text(encoding="utf-8"))
    assert {one.get("image", "cardinal:latest") for one in compose["services"].values()} == {
        "cardinal:latest",
        "cardinal/postgres:latest",
    }


def test_a_build_sees_neither_the_home_nor_the_history() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"
    allowed = {line[1:].split("/")[0] for line in rules if line.startswith("!")}
    assert not allowed & {".cardinal", ".git", ".venv", "tests"}
