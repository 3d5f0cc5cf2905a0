"""What surrounds the project works by machine: workflows, forms, hooks, the devcontainer, the decisions."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.house.source import ROOT, tracked

WORKFLOWS = sorted(path for path in tracked() if path.startswith(".github/workflows/"))
PINNED = re.compile(r"[\w./-]+@[0-9a-f]{40}")
PARTS = ("**Context.**", "**Decision.**", "**Consequences.**", "**Think again when**")
DIGEST = re.compile(r"debian@sha256:[0-9a-f]{64}")


def read(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def steps(workflow: dict[Any, Any]) -> Iterator[dict[str, Any]]:
    for job in workflow["jobs"].values():
        yield from job["steps"]


def gone(commands: str) -> Iterator[str]:
    """Yield the scripts in a command that are not there."""
    for path in re.findall(r"(?<![\w./-])((?:scripts|\.ci)/[\w-]+)", commands):
        if not (ROOT / path).exists():
            yield path


@pytest.mark.parametrize("path", WORKFLOWS)
def test_a_workflow_has_few_rights_a_limit_pinned_actions_and_scripts_that_exist(path: str) -> None:
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert all(job["timeout-minutes"] <= 120 for job in workflow["jobs"].values())
    for step in steps(workflow):
        assert PINNED.fullmatch(step.get("uses", "a@" + "0" * 40))
        assert list(gone(step.get("run", ""))) == []


def test_every_pull_request_runs_what_ci_runs_and_the_night_runs_the_soak() -> None:
    runs = {path: [step.get("run", "") for step in steps(read(path))] for path in WORKFLOWS}
    assert "sudo --preserve-env=CI .ci/run" in runs[".github/workflows/ci.yml"]
    assert "pull_request" in read(".github/workflows/ci.yml")[True]  # YAML's `on`
    assert "sudo --preserve-env=CI scripts/soak" in runs[".github/workflows/nightly.yml"]


def test_updates_look_where_packages_are_pinned() -> None:
    updates = read(".github/dependabot.yml")["updates"]
    folders = {folder for one in updates for folder in one.get("directories", [one.get("directory")])}
    locks = {f"/{path.rpartition('/')[0]}" for path in tracked() if path.endswith("package-lock.json")}
    assert folders == {"/requirements", "/", *locks}


def test_a_form_asks_for_what_is_needed() -> None:
    for path in (path for path in tracked() if path.startswith(".github/ISSUE_TEMPLATE/")):
        form = read(path)
        fields = [one for one in form.get("body", ()) if one.get("validations", {}).get("required")]
        assert fields or path.endswith("config.yml"), path


def test_hooks_and_the_devcontainer_call_scripts_that_exist() -> None:
    hooks = [hook for repo in read(".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]]
    assert [hook["entry"] for hook in hooks] == ["scripts/fix", "scripts/check"]
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf-8"))
    assert list(gone(container["postCreateCommand"])) == []


def test_wherever_debian_is_named_it_is_the_same_image() -> None:
    places = (".devcontainer/Dockerfile", ".github/workflows/ci.yml", "scripts/images")
    named = [DIGEST.findall((ROOT / path).read_text(encoding="utf-8")) for path in places]
    assert [len(one) for one in named] == [1, 1, 1]
    assert named.count(named[0]) == 3


def test_every_decision_is_in_the_index_and_short() -> None:
    folder = ROOT / "docs/decisions"
    index = (folder / "README.md").read_text(encoding="utf-8")
    for page in sorted(set(folder.glob("*.md")) - {folder / "README.md"}):
        text = page.read_text(encoding="utf-8")
        title = text.splitlines()[0].removeprefix("# ")
        assert f"[{title}]({page.name})" in index
        assert [part for part in PARTS if text.count(part) != 1] == []
        assert len(text.split()) <= 200
    assert index.count(".md)") == len(list(folder.glob("*.md"))) - 1
