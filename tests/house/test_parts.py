"""A part really is one file: each kind gets one in a copy of the packages, where it is used at once."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from docs._make.parts import KINDS, file_of
from ledger.parts import IncompletePartError, Registry, UnknownPartError
from tests.house.new_parts import edges, lower
from tests.house.source import ROOT, sources

FLOORS = ("bot", "rules", "runner", "ledger")
SAMPLES = lower.SAMPLES | edges.SAMPLES


# Plays the programs one after the other and prints what each printed: a process for each would take a minute.
PLAY = """
import contextlib, io, json, sys, traceback
printed = {}
for kind, program in json.load(sys.stdin).items():
    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            exec(program, {})
        except SystemExit:
            pass
        except Exception:
            traceback.print_exc(file=sys.stdout)
    printed[kind] = out.getvalue()
json.dump(printed, sys.stdout)
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return what each program printed, in a copy of the packages with the new parts and no other change."""
    tree, programs = tmp_path_factory.mktemp("tree"), {}
    for floor in FLOORS:
        shutil.copytree(ROOT / floor, tree / floor)
    for kind, sample in SAMPLES.items():
        file, home = tree / sample.file, tree / "homes" / kind.replace(" ", "_")
        home.mkdir(parents=True)
        file.write_text(dedent(sample.text), encoding="utf-8")
        programs[kind] = dedent(sample.use).replace("{home}", str(home))
    env = {
        "PATH": os.environ["PATH"],
        "HOME": os.environ["HOME"],  # has the compiled rules of the scan for secrets
        "PYTHONPATH": f"{tree}{os.pathsep}{ROOT}",
        "CARDINAL_HOME": str(tree / "homes" / "nobody"),
        "CARDINAL_GITHUB_URL": "http://127.0.0.1:9",
        "CARDINAL_WORKSPACE": "local",
    }
    command = [sys.executable, "-c", PLAY]
    told = json.dumps(programs)
    done = subprocess.run(command, cwd=tree, env=env, input=told, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    answers: dict[str, str] = json.loads(done.stdout)
    return answers


@pytest.mark.parametrize("kind", SAMPLES)
def test_one_new_file_is_a_part_that_works(printed: dict[str, str], kind: str) -> None:
    assert SAMPLES[kind].prints in printed[kind]


def test_every_kind_of_part_is_proven() -> None:
    assert {kind.kind for kind in KINDS} | {"event family"} == set(SAMPLES)
    for kind in KINDS:
        folder, _, name = file_of(kind).partition("<name>")
        file = SAMPLES[kind.kind].file
        assert file.startswith(folder)
        assert file.endswith(name)


def test_every_registry_has_its_row_in_the_table_of_parts() -> None:
    made = [
        source.path
        for source in sources(*FLOORS)
        for _ in re.finditer(r"= (Registry\[|AgentRegistry\()", source.text)
    ]
    assert len(made) == len(KINDS), made


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_every_part_has_the_members_of_its_kind(kind: Registry[object]) -> None:
    for _, part in kind.all():
        assert set(kind.members()) <= set(dir(part))


def test_a_part_without_a_member_is_refused_with_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "halves"
    folder.mkdir()
    (folder / "__init__.py").write_text("", encoding="utf-8")
    (folder / "half.py").write_text('"""Half a guard."""\nFINDS = "nothing"\n', encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    (guards,) = (kind for kind in KINDS if kind.kind == "guard")
    halves = Registry[object]("guard", "halves", guards.contract)
    with pytest.raises(IncompletePartError, match=r"halves/half\.py lacks `ACTION`, which every guard has"):
        halves.load("half")
    with pytest.raises(UnknownPartError, match="there is no guard called 'os' here, only half"):
        halves.load("os")
