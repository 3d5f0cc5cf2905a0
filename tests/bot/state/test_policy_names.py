"""The names that a policy can hold: an operator's own agents among them, whatever is wrong with a file."""

from pathlib import Path

import pytest

from bot.state.policy_names import list_installed
from rules.policy.model import parse
from tests.runner.agents.test_program_file import OWN, write

POLICY = """
version: 1
board: {{columns: {{In Progress: {{archetype: execution, agent: {agent}, effort: low}}}}}}
"""


@pytest.mark.parametrize("name", ["mine", "claude"])  # the second is Cardinal's own, which is a mistake
def test_a_wrong_file_of_one_agent_makes_no_policy_wrong(tmp_path: Path, name: str) -> None:
    own = write(write(tmp_path / "agents", OWN, "fine"), "version: 1.0", name)
    installed = list_installed(own)
    assert {"fine", name, "qwen"} <= set(installed.agents or ())
    for agent in ("claude", name):
        parse(POLICY.format(agent=agent), home="acme/shop", installed=installed, profiles=())
