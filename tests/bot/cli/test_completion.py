"""`cardinal completion`: a shell completes commands and options after it has read what is printed."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.bot.cli.conftest import Cardinal
from tests.house.source import ROOT


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_what_is_printed_is_for_that_shell(cardinal: Cardinal, shell: str) -> None:
    assert f"_CARDINAL_COMPLETE={shell}_complete" in cardinal("completion", shell).stdout


def test_bash_completes_commands_and_their_options(program: Path) -> None:
    asks = """
    eval "$(cardinal completion bash)"
    COMP_WORDS=(cardinal "$1" "$2") COMP_CWORD=$3
    _cardinal_completion cardinal; echo "${COMPREPLY[@]}"
    """
    command = (shutil.which("bash") or "bash", "-c", asks, "bash")
    path = {"PATH": f"{program.parent}:/usr/bin:/bin"}
    for args, expected in ((("do", "", "1"), "doctor"), (("demo", "--au", "2"), "--auto")):
        done = subprocess.run(
            (*command, *args), cwd=ROOT, env=path, capture_output=True, text=True, timeout=60, check=True
        )
        assert done.stdout.split() == [expected], done.stderr
