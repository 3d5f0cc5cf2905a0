"""`cardinal agents`: Cardinal's own and the operator's, and what is wrong with one."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bot.cli import _forge, main
from tests.runner.agents.test_program_file import OWN, write


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CARDINAL_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def run(*words: str) -> Result:
    return CliRunner().invoke(main, ["agents", *words])


def test_the_operators_agents_are_listed_with_cardinals_own(home: Path) -> None:
    write(home / "agents", OWN + "metering: agent\nimage: acme/mine:1\n")
    login = OWN.replace("provider: compatible", 'provider: ""')
    write(home / "agents", login + "metering: agent\n", "vendor")
    listed = run("--json")
    assert listed.exit_code == 0, listed.output
    rows = {row["agent"]: row for row in json.loads(listed.output)["agents"]}
    assert {"claude", "qwen", "goose", "scripted", "mine"} <= set(rows)
    assert rows["mine"] == {
        "agent": "mine", "version": "1.2.3", "protocol": "ACP", "keys": "compatible", "metering": "agent",
        "image": "acme/mine:1", "problem": "",
    }  # fmt: skip
    assert [(rows[name]["keys"], rows[name]["metering"]) for name in ("vendor", "scripted")] == [
        ("", "agent"), ("", ""),
    ]  # fmt: skip


def test_a_file_that_is_wrong_is_a_line_of_the_list_and_the_exit_code(home: Path) -> None:
    write(home / "agents", "version: 1.0")
    listed = run()
    assert listed.exit_code == 1
    assert "version: must be text: write it in quotes" in " ".join(listed.output.split())


def test_a_file_that_is_not_read_is_a_line_of_the_list_and_the_exit_code(home: Path) -> None:
    (write(home / "agents", OWN) / "other.yaml").write_text(OWN)
    listed = run()
    assert listed.exit_code == 1
    (line,) = (it for it in listed.output.splitlines() if it.startswith("other.yaml"))
    assert "is not read: name it NAME.yml" in line


def test_images_that_cannot_be_looked_at_are_not_taken_for_good_ones(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{home}/nobody.sock")
    listed = run("--check")
    assert listed.exit_code == 2
    assert "does not answer" in f"{listed.output}{listed.exception}"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--build", "qwen"), "run `cardinal images agent`"),
        (("--build", "scripted"), "comes with Cardinal and needs no image"),
        (("--build", "mine"), "names no `package`"),
        (("--build", "bare"), "names no `image` to build, such as cardinal/agent-bare:latest"),
        (("--build", "thief"), "is Cardinal's own: write another `image`"),
        (("--build", "heir"), "is Cardinal's own: write another `image`"),
        (("--try", "mine"), "no key pays for mine: set CARDINAL_COMPATIBLE_KEY"),
        (("--try", "nobody"), "there is no agent called 'nobody' here, only"),
    ],
)
def test_what_cannot_be_built_or_tried_says_what_to_do(home: Path, words: tuple[str, ...], said: str) -> None:
    images = {
        "mine": "acme/mine:1",
        "bare": '""',
        "thief": "cardinal/agent-gemini:latest",
        "heir": "cardinal/agent",
    }
    for name, image in images.items():
        write(home / "agents", f"{OWN}image: {image}\n", name)
    refused = run(*words)
    assert refused.exit_code == 2
    assert said in f"{refused.output}{refused.exception}"


def test_a_board_starts_once_the_images_of_its_agents_are_built() -> None:
    line = _forge.in_engine(["scripted", "gemini", "mine", "gemini"])
    commands = ["images agent", "agents --build gemini"]
    assert line == "".join(f'"$0" -P -m bot.cli {it} && ' for it in commands) + 'exec "$0" "$@"'
