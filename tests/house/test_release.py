"""A release is published by a workflow with few rights, in steps that a machine without GitHub can try."""

import json
import os
import re
import subprocess
from importlib import metadata, resources
from pathlib import Path

import jsonschema
import pytest
import yaml
from click.testing import CliRunner

from bot.cli import main
from tests.house.source import ROOT, tracked
from tests.house.test_demo import DOCKER

SCHEMAS = resources.files("check_jsonschema") / "builtin_schemas/vendor"
PUBLISHED = {
    ".github/workflows/": "github-workflows",
    ".github/ISSUE_TEMPLATE/config": "github-issue-config",
    ".github/ISSUE_TEMPLATE/": "github-issue-forms",
    ".github/dependabot": "dependabot",
    "docker/compose": "compose-spec",
}
WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))
RIGHTS = {
    "wheel": None,
    "images": {"contents": "read", "packages": "write"},
    "index": {"attestations": "write", "contents": "read", "id-token": "write", "packages": "write"},
    "pypi": {"id-token": "write"},
    "page": {"attestations": "write", "contents": "write", "id-token": "write"},
}
VERSION = re.findall(
    r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE
)[0]
DIGEST = "sha256:" + "5" * 64
NOTED = f"""buildx*|pull*|tag*) echo "$@" >>"$NOTES"; case "$*" in *inspect*) echo {DIGEST} ;; esac ;;
  build*)"""


def schema_of(path: str) -> str | None:
    return next((schema for start, schema in PUBLISHED.items() if path.startswith(start)), None)


@pytest.mark.parametrize("path", [path for path in tracked() if schema_of(path)])
def test_what_others_read_is_as_they_publish_it(path: str) -> None:
    schema = json.loads((SCHEMAS / f"{schema_of(path)}.json").read_text(encoding="utf-8"))
    # YAML 1.1 reads the key `on` as true.
    text = re.sub(r"^on:", '"on":', (ROOT / path).read_text(encoding="utf-8"), flags=re.MULTILINE)
    jsonschema.validate(yaml.safe_load(text), schema)


def test_each_platform_is_built_on_a_machine_of_its_own_kind() -> None:
    images = WORKFLOW["jobs"]["images"]
    assert images["runs-on"] == "${{ matrix.machine }}"
    assert images["strategy"]["matrix"]["machine"] == ["ubuntu-24.04", "ubuntu-24.04-arm"]


def test_each_job_of_a_release_has_the_rights_that_it_uses() -> None:
    assert {name: job.get("permissions") for name, job in WORKFLOW["jobs"].items()} == RIGHTS
    assert WORKFLOW[True] == {"push": {"tags": ["v*"]}}
    assert WORKFLOW["jobs"]["pypi"]["environment"] == "pypi"


@pytest.mark.parametrize("path", [path for path in tracked() if path.startswith(".github/workflows/")])
def test_no_command_of_a_workflow_is_made_of_what_somebody_wrote_and_no_secret_is_kept(path: str) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    steps = [step for job in yaml.safe_load(text)["jobs"].values() for step in job["steps"]]
    assert [step for step in steps if "${{" in step.get("run", "")] == []
    assert "secrets." not in text


@pytest.fixture
def stand_in(tmp_path: Path) -> dict[str, str]:
    """Return an environment with a Docker that notes what it pushes and fetches."""
    program = tmp_path / "docker"
    program.write_text(DOCKER.replace("build*)", NOTED))
    program.chmod(0o755)
    own = {"NOTES": str(tmp_path / "notes"), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    own |= {"IMAGES_LOCK": str(program)}  # real images are built beside these tests
    return {name: text for name, text in os.environ.items() if not name.startswith("DOCKER_")} | own


def run(*command: str | Path, environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def test_images_are_pushed_with_their_packages_and_origin_and_listed_by_digest(
    stand_in: dict[str, str], tmp_path: Path
) -> None:
    tag, registry = f"v{VERSION}", "ghcr.io/Acme/Cardinal"
    pushed = run("scripts/release", "images", tag, registry, environment=stand_in)
    assert pushed.returncode == 0, pushed.stderr
    lines = (tmp_path / "notes").read_text().splitlines()[1:]
    names = [re.findall(r"--tag (\S+)", line)[0] for line in lines]
    machine, all_names = os.uname().machine, WORKFLOW["jobs"]["index"]["strategy"]["matrix"]["image"]
    assert sorted(names) == [f"ghcr.io/acme/cardinal/{name}:{VERSION}-{machine}" for name in all_names]
    assert all("--push --sbom=true --provenance=mode=max" in line for line in lines)
    assert all(re.search(r"base:bookworm=docker-image://\S+@sha256:[0-9a-f]{64} ", line) for line in lines)
    for image in all_names:
        listed = run("scripts/release", "index", tag, registry, image, environment=stand_in)
        assert listed.stdout == f"ghcr.io/acme/cardinal/{image}@{DIGEST}\n", listed.stderr
        name = f"ghcr.io/acme/cardinal/{image}:{VERSION}"
        assert f" {name} {name}-x86_64 {name}-aarch64\n" in (tmp_path / "notes").read_text()


def test_a_tag_that_is_not_the_version_publishes_nothing(stand_in: dict[str, str], tmp_path: Path) -> None:
    for words in (("wheel", "v9.9.9"), ("images", "v9.9.9", "ghcr.io/acme/cardinal")):
        refused = run("scripts/release", *words, environment=stand_in)
        assert refused.returncode == 1
        assert "make them agree" in refused.stderr
    assert run("scripts/release", "wheels", "v9.9.9", environment=stand_in).returncode == 2
    assert not (tmp_path / "notes").exists()


def test_the_version_is_the_same_in_the_project_the_package_and_the_changelog() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert re.fullmatch(rf"\[{re.escape(VERSION)}\] - \d{{4}}-\d\d-\d\d", headings[1])
    assert metadata.version("cardinal-board") == VERSION


def test_the_notes_of_a_release_are_its_section_of_the_changelog(
    stand_in: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/release").write_bytes((ROOT / "scripts/release").read_bytes())
    (tmp_path / "pyproject.toml").write_text('version = "1.2.0"\n')
    changelog, command = tmp_path / "CHANGELOG.md", ("bash", tmp_path / "scripts/release", "notes", "v1.2.0")
    old = "## [1.1.0] - 2025-01-31\n\n* old\n"
    changelog.write_text(f"## Unreleased\n\n* new\n\n## [1.2.0] - 2026-01-31\n\n* this\n\n{old}")
    assert run(*command, environment=stand_in).stdout.strip() == "* this"
    for text in (
        "## [1.2.0]\n\n* undated\n",
        "## [1.2.0] - 2026-01-31\n\n## [1.1.0] - 2025-01-31\n\n* old\n",
    ):
        changelog.write_text(text)
        refused = run(*command, environment=stand_in)
        assert (refused.returncode, "no dated section for 1.2.0" in refused.stderr) == (1, True)


def test_images_of_a_release_are_fetched_by_their_digests_alone(
    stand_in: dict[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    listed = tmp_path / "images.txt"
    line = f"ghcr.io/acme/cardinal/agent@{DIGEST}"
    listed.write_text(f"{line}\nghcr.io/acme/cardinal/postgres:latest\n")
    command = ["images", "--from", str(listed)]
    fetched = run(ROOT / ".venv/bin/cardinal", *command, "agent", environment=stand_in)
    assert fetched.returncode == 0, fetched.stderr
    assert (tmp_path / "notes").read_text() == f"pull -q {line}\ntag {line} cardinal/agent:latest\n"
    for name in ("postgres", "browser"):
        refused = CliRunner().invoke(main, [*command, name], env=stand_in | {"DOCKER_HOST": None})
        assert refused.exit_code == 1
        assert f"lists no image {name} with its digest" in capfd.readouterr().err
