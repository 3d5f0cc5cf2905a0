"""What is fetched is exactly what is pinned, and a machine without it says what to do."""

import base64
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.house.source import ROOT
from tests.published.fetching import Pin, pins


def packed(text: bytes) -> bytes:
    """Return an archive as npm makes them, with one file."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        entry = tarfile.TarInfo("package/a.json")
        entry.size = len(text)
        archive.addfile(entry, io.BytesIO(text))
    return out.getvalue()


def npm(folder: Path, archive: bytes | None) -> str:
    """Return a PATH on which `npm pack` gives that archive, or fails."""
    (folder / "a.tgz").write_bytes(archive or b"")
    line = f"cp {folder}/a.tgz x.tgz" if archive else "echo E404 not found >&2; exit 1"
    (folder / "npm").write_text(f"#!/bin/sh\n{line}\n")
    (folder / "npm").chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def fetched(folder: Path, integrity: str, path: str) -> subprocess.CompletedProcess[str]:
    """Fetch one package in a process of its own, with a cache of its own."""
    code = (
        "from tests.published import fetching; from tests.published.fetching import Pin\n"
        f"pin = Pin('a@1.0.0', {integrity!r}, 'package/a.json', 'a.json')\n"
        "fetching.fetch(pin); print(pin.path.read_text())"
    )
    return ran(code, folder, path)


def ran(code: str, cache: Path, path: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own, with the npm of that path."""
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PATH": path, "XDG_CACHE_HOME": str(cache)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_pinned_package_is_kept(tmp_path: Path) -> None:
    archive = packed(b"{}")
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(archive).digest()).decode()
    result = fetched(tmp_path, integrity, npm(tmp_path, archive))
    assert (result.returncode, result.stdout.strip()) == (0, "{}"), result.stderr


def test_another_package_of_that_name_and_version_is_refused(tmp_path: Path) -> None:
    result = fetched(tmp_path, "sha512-AAAA", npm(tmp_path, packed(b"{}")))
    assert "a@1.0.0 is not what pins.json pins" in result.stderr
    assert not (tmp_path / "cardinal").exists()


@pytest.mark.parametrize(("ci", "status"), [("", 0), ("true", 1)])
def test_without_the_packages_only_ci_fails_and_says_why(tmp_path: Path, ci: str, status: int) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "tests.published.fetching"],
        cwd=ROOT,
        env={**os.environ, "PATH": npm(tmp_path, None), "XDG_CACHE_HOME": str(tmp_path), "CI": ci},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == status
    assert "npm could not fetch @octokit/openapi@23.0.2: E404 not found" in result.stderr


def test_every_package_is_pinned_to_one_version_and_one_archive() -> None:
    for pin in pins():
        name, _, version = pin.package.rpartition("@")
        assert name
        assert all(part.isdigit() for part in version.split("."))
        assert pin.integrity.startswith("sha512-")
        assert len(base64.b64decode(pin.integrity.removeprefix("sha512-"))) == 64
    assert isinstance(pins()[0], Pin)


def test_the_newest_versions_are_pinned_and_told(tmp_path: Path) -> None:
    archive = packed(b"{}")
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(archive).digest()).decode()
    path = npm(tmp_path, archive)
    view = json.dumps({"version": "2.0.0", "dist.integrity": integrity})
    program = tmp_path / "npm"
    program.write_text(
        f"#!/bin/sh\nif [ $1 = view ]; then echo '{view}'; else cp {tmp_path}/a.tgz x.tgz; fi\n"
    )
    pinned = tmp_path / "pins.json"
    old = {"@a/b@1.0.0": {"integrity": "sha512-x", "file": "package/a.json", "kept": "a.json"}}
    pinned.write_text(json.dumps(old))
    code = (
        "from pathlib import Path; from tests.published import fetching, newest\n"
        f"fetching.PINS = Path({str(pinned)!r}); print(newest.renew(fetching.PINS))"
    )
    told = ran(code, tmp_path, path)
    assert told.stdout.strip() == "['@a/b@1.0.0 -> @a/b@2.0.0']", told.stderr
    assert json.loads(pinned.read_text()) == {"@a/b@2.0.0": {**old["@a/b@1.0.0"], "integrity": integrity}}
    program.write_text("#!/bin/sh\nexit 1\n")
    failed = ran(code, tmp_path, path)
    assert "npm does not tell the newest @a/b" in failed.stderr
