"""Three tiers of tests: what runs before a push, what CI adds, and what is marked for the soak."""

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests import handing_out
from tests.house.source import ROOT, sources

SUITES = sorted(path.parent.name for path in ROOT.glob("tests/*/__init__.py"))
REST = {
    "hosts",
    "browser",
    "peer",
    "chaos",
    "conformance",
    "containers",
    "contracts",
    "escape",
    "faults",
    "hostile",
    "install",
    "load",
    "secrets",
    "story",
}
SAMPLE = """\
import pytest
@pytest.mark.parametrize("size", [1, pytest.param(1000, marks=pytest.mark.soak)])
def test_it(size: int) -> None:
    print(f"size {size} was tried")
"""


def tree(folder: Path, *, failing: str) -> dict[str, str]:
    """Copy the scripts that choose tests beside a Python that notes its words; return the environment."""
    for name in ("scripts/test", "scripts/soak", ".ci/run"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    for name in SUITES:
        (folder / "tests" / name).mkdir(parents=True)
        (folder / "tests" / name / "__init__.py").touch()
    fails = f'*{failing}*) echo "FAILED {failing}"; exit 1 ;;'
    python = f'#!/bin/sh\necho "$*" >>{folder}/said\ncase "$*" in {fails} esac\n'
    with_engine = f'#!/bin/sh\necho "engine: $*" >>{folder}/said\nexec "$@"\n'
    toolchains = f'[ -z "$CARDINAL_TEST_TOOLCHAINS" ] || echo toolchains >>{folder}/said\n'
    stubs = {
        ".venv/bin/python": python,
        "scripts/engine": with_engine,
        "scripts/services": f'#!/bin/sh\n{toolchains}exec "$@"\n',
        **dict.fromkeys(("setup", "published", "peer", "check", "images", "bench"), "#!/bin/sh\n"),
    }
    for name, text in stubs.items():
        path = folder / (name if "/" in name else f"scripts/{name}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    return {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}


def said(folder: Path, *command: str, failing: str = "nothing") -> tuple[int, list[str]]:
    """Run a script in such a tree; return its status and what was asked of pytest and of the engine."""
    environment = tree(folder, failing=failing)
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    asked = (folder / "said").read_text().splitlines()
    return done.returncode, asked


def suites_in(lines: list[str]) -> list[str]:
    run = [line for line in lines if "--collect-only" not in line]
    return sorted(name for line in run for name in re.findall(r"tests/(\w+)", line))


def test_a_contributor_needs_no_engine_and_ci_runs_every_suite_once(tmp_path: Path) -> None:
    status, plain = said(tmp_path / "plain", "scripts/test")
    assert status == 0
    assert suites_in(plain) == sorted(set(SUITES) - REST)
    assert [line for line in plain if "engine" in line or "-m soak" in line] == []
    status, whole = said(tmp_path / "whole", ".ci/run")
    assert status == 0
    assert suites_in(whole) == SUITES


def test_one_process_compiles_the_modules_of_a_new_clone(tmp_path: Path) -> None:
    lines = said(tmp_path, "scripts/test")[1]
    compiled, tested = lines[0], next(line for line in lines if "-n 4" in line)
    assert "--collect-only" in compiled
    assert {*re.findall(r"tests/(\w+)", compiled)} == {*suites_in([tested]), "rules"}
    (tmp_path / "tests" / "__pycache__").mkdir()
    (tmp_path / "said").unlink()
    subprocess.run("scripts/test", cwd=tmp_path, capture_output=True, timeout=300, check=True)
    assert "--collect-only" not in (tmp_path / "said").read_text()


def test_how_much_of_the_rules_their_tests_reach_is_printed_and_may_not_fall(tmp_path: Path) -> None:
    status, plain = said(tmp_path / "plain", "scripts/test")
    assert status == 0
    assert [line for line in plain if "coverage" in line and "published" not in line] == [
        "-m coverage run -m pytest -n 0 tests/rules",
        "-m coverage report",
    ]
    assert said(tmp_path / "fallen", "scripts/test", failing="coverage report")[0] == 1


def test_a_change_meets_the_browser_and_the_other_github_before_the_push(tmp_path: Path) -> None:
    status, asked = said(tmp_path, "scripts/test", "--changed")
    assert status == 0
    [chosen] = [line.split() for line in asked if "tests.changed" in line]
    assert sorted(chosen[2:]) == sorted({*SUITES} - REST | {"browser", "peer"})


def test_every_suite_is_run_whatever_becomes_of_one(tmp_path: Path) -> None:
    status, asked = said(tmp_path, ".ci/run", failing="tests/bot")
    assert status == 1
    assert suites_in(asked) == SUITES


def test_the_last_lines_of_ci_say_what_failed(tmp_path: Path) -> None:
    environment = tree(tmp_path, failing="tests/bot")
    done = subprocess.run(
        ".ci/run", cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    named = ["FAILED tests/bot", ".ci/run: failed, see above: scripts/test"]
    assert [line for line in done.stderr.splitlines() if line in named] == named
    assert done.stdout.count("FAILED tests/bot") == 1  # where it happened


def test_the_soak_runs_the_marked_tests_of_every_suite_and_of_one(tmp_path: Path) -> None:
    status, whole = said(tmp_path / "whole", "scripts/soak")
    assert status == 0
    assert suites_in(whole) == SUITES
    assert all("-m soak" in line for line in whole if " tests/" in line)
    one = said(tmp_path / "one", "scripts/soak", "rules")[1]
    assert suites_in(one) == ["rules"]
    assert ("toolchains" in whole, "toolchains" in one) == (True, False)


def test_ci_calls_what_the_readme_names_and_the_night_calls_the_soak() -> None:
    called = (ROOT / ".ci/run").read_text(encoding="utf-8")
    assert re.search(r"^play scripts/test$", called, re.MULTILINE)
    nightly = yaml.safe_load((ROOT / ".github/workflows/nightly.yml").read_text(encoding="utf-8"))
    assert any("scripts/soak" in step.get("run", "") for step in nightly["jobs"]["soak"]["steps"])


@pytest.mark.parametrize(("words", "tried"), [((), ["1"]), (("-m", "soak"), ["1000"])])
def test_what_is_marked_runs_in_the_soak_alone(
    tmp_path: Path, words: tuple[str, ...], tried: list[str]
) -> None:
    (tmp_path / "test_sample.py").write_text(SAMPLE)
    command = (
        *(sys.executable, "-m", "pytest", "-p", "pytest_timeout", "-s", "-c", "pyproject.toml"),
        *words,
        str(tmp_path),
    )
    environment = {**os.environ, "CI": "true", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout
    assert re.findall(r"size (\d+) was tried", done.stdout) == tried


def test_tests_that_share_what_they_start_are_one_workers_and_others_are_anybodys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handing_out, "WHOLE_FILES", {"story"})
    monkeypatch.setattr(handing_out, "WHOLE_SUITES", {"peer"})
    groups = {
        "tests/story/test_a.py": "tests/story/test_a.py",
        "tests/peer/test_a.py": "peer",
        "tests/bot/test_shared.py": "tests/bot/test_shared.py",
        "tests/bot/test_scene.py": "tests/bot/test_scene.py",
        "tests/bot/test_free.py": "tests/bot/test_free.py::test_it",
    }
    for name in groups:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        text = {"shared": '@pytest.fixture(scope="module")', "scene": "@pytest.mark.after(scene=delivered)"}
        (tmp_path / name).write_text(text.get(Path(name).stem.removeprefix("test_"), ""))
    assert {name: handing_out.group_of(tmp_path, f"{name}::test_it") for name in groups} == groups


def test_a_group_is_one_workers_and_the_rest_is_mixed_always_alike(tmp_path: Path) -> None:
    noted = (
        "open(os.environ['BY'], 'a').write(os.environ['PYTEST_XDIST_WORKER'] + ' ' + __file__[-4] + '{n}\\n')"
    )
    for name in ("peer/test_a", "peer/test_b", "rules/test_c", "rules/test_d"):
        file = tmp_path / f"tests/{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        tests = (f"def test_{n}():\n    {noted.format(n=n)}\n" for n in range(6))
        file.write_text("import os\n" + "".join(tests))
    plugins = ("-p", "xdist.plugin", "-p", "tests.handing_out")
    command = (sys.executable, "-m", "pytest", *plugins, "--import-mode=importlib", "--rootdir", tmp_path)
    wanted = {"CARDINAL_TEST_WHOLE_SUITES": "peer", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        (*command, "-n2", tmp_path),
        cwd=tmp_path,
        env={**os.environ, **wanted, "PYTHONPATH": str(ROOT), "BY": str(tmp_path / "by")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    played = [line.split() for line in (tmp_path / "by").read_text().splitlines()]
    together = [(worker, test) for worker, test in played if test[0] in "ab"]
    assert [test for _, test in together] == [f"{file}{n}" for file in "ab" for n in range(6)]
    assert len({worker for worker, _ in together}) == 1
    # Two processes that mixed the tests otherwise would not have begun: xdist compares their lists.
    others = ["".join(test) for worker, test in played if test[0] in "cd" and worker != together[0][0]]
    assert others != sorted(others)


def test_a_test_for_the_soak_whose_fixture_is_not_there_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "test_late.py").write_text(
        "import pytest\n@pytest.mark.soak\ndef test_it(nowhere): pass\ndef test_now(): pass\n"
    )
    command = (sys.executable, "-m", "pytest", "-p", "tests.handing_out", "-c", ROOT / "pyproject.toml")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        (*command, "-p", "pytest_timeout", tmp_path),
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "no fixture nowhere" in done.stdout + done.stderr
    assert done.returncode not in (0, 5)


def marks() -> Iterator[tuple[str, ast.AST]]:
    """Yield where each mark of a whole test stands, and what holds it; rows have theirs behind `marks=`."""
    for source in sources("tests"):
        if "mark.soak" not in source.text:
            continue
        above = {child: node for node in ast.walk(source.tree) for child in ast.iter_child_nodes(node)}
        for node, parent in above.items():
            if isinstance(node, ast.Attribute) and ast.unparse(node) == "pytest.mark.soak":
                around = parent
                while around in above and not (isinstance(around, ast.keyword) and around.arg == "marks"):
                    around = above[around]
                if around not in above:
                    yield f"{source.path}:{node.lineno}", parent


def test_a_whole_test_that_is_marked_names_the_test_that_proves_its_point_before() -> None:
    wrong = []
    for place, parent in marks():
        instead = [
            str(word.value.value)
            for word in getattr(parent, "keywords", [])
            if word.arg == "instead" and isinstance(word.value, ast.Constant)
        ]
        wrong += [] if instead and all(map(stands, instead)) else [place]
    assert wrong == []


def stands(named: str) -> bool:
    """Tell whether there is a test file of that path, and the function named behind the colons."""
    path, _, function = named.partition("::")
    text = (ROOT / path).read_text(encoding="utf-8") if (ROOT / path).is_file() else ""
    return f"def {function}(" in text if function else bool(text)
