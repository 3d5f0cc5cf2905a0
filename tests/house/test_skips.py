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


TWO_TESTS = "def test_one(): pass\ndef test_two(): pass\n"
SAMPLES = {"test": SKIPPED_TEST, "module": SKIPPED_MODULE, "expected": EXPECTED_FAILURE}


def outcome(folder: Path, *names: str, ci: bool, within_s: str = "inf") -> str:
    """Return what pytest prints about these samples; it must fail in CI."""
    for name in names:
        (folder / f"test_{name}.py").write_text({**SAMPLES, "two": TWO_TESTS}[name], encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "CARDINAL_TEST_BEGIN_WITHIN_S": within_s} | (
        {"CI": "true"} if ci else {}
    )
    plugins = ("-p", "xdist.plugin", "-p", "tests.handing_out", "-p", "no:cacheprovider")
    words = (*plugins, "--continue-on-collection-errors", str(folder))
    command = [sys.executable, "-m", "pytest", *words]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode != 0) == ci, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("names", "counts"),
    [(("test", "module"), "1 failed, 1 error"), (("expected",), "1 failed")],  # its exit code is its own
)
def test_what_is_skipped_in_ci_fails(tmp_path: Path, names: tuple[str, ...], counts: str) -> None:
    printed = outcome(tmp_path, *names, ci=True)
    assert counts in printed
    assert printed.count("skipped in CI: ") >= len(names)


def test_elsewhere_a_test_may_be_skipped(tmp_path: Path) -> None:
    assert "2 skipped, 1 xfailed" in outcome(tmp_path, *SAMPLES, ci=False)


def test_no_test_begins_once_the_time_for_an_answer_is_over_but_the_first_does(tmp_path: Path) -> None:
    assert "1 passed, 1 skipped" in outcome(tmp_path, "two", ci=False, within_s="0")
