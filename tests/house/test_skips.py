"""In CI a test that did not run is a failure, for tests and for whole modules."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.source import ROOT

SKIPPED_TEST = "import pytest\ndef test_it():\n    pytest.skip('no server')\n"
SKIPPED_MODULE = "import pytest\npytest.skip('no library', allow_module_level=True)\n"
EXPECTED_FAILURE = "import pytest\n@pytest.mark.xfail\ndef test_it():\n    assert False\n"


def outcome(folder: Path, text: str, *, ci: bool) -> subprocess.CompletedProcess[str]:
    (folder / "test_sample.py").write_text(text, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "CI"} | (
        {"CI": "true"} if ci else {}
    )
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", str(folder)]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("text", [SKIPPED_TEST, SKIPPED_MODULE, EXPECTED_FAILURE])
def test_what_is_skipped_in_ci_fails(tmp_path: Path, text: str) -> None:
    result = outcome(tmp_path, text, ci=True)
    assert result.returncode != 0
    assert "skipped in CI" in result.stdout


def test_elsewhere_a_test_may_be_skipped(tmp_path: Path) -> None:
    assert outcome(tmp_path, SKIPPED_TEST, ci=False).returncode == 0
