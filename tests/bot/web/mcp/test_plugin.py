"""The plugin for people's own agents, and the entry for the MCP registry, say what is there."""

import json
import re

from bot.system import release
from bot.web.api.operation import OPERATIONS
from bot.web.mcp.tools import JOB_TOOLS
from rules.policy.markdown.skill import parse
from tests.house.source import ROOT

PLUGIN = ROOT / "bot/web/mcp/plugin"
SKILLS = sorted(PLUGIN.glob("skills/*/SKILL.md"))
FIELDS = {"why", "offers", "generation", "done", "changed", "check", "open_questions", "metadata", "cardinal"}


def test_every_tool_that_a_skill_names_is_there() -> None:
    known = {*OPERATIONS.names(), *JOB_TOOLS, *FIELDS, *(path.parent.name for path in SKILLS)}
    for path in SKILLS:
        skill = parse(path.parent.name, path.read_bytes())
        named = set(re.findall(r"`([a-z_-]+)`", skill.text))
        assert named <= known, path
        assert named & {*OPERATIONS.names(), *JOB_TOOLS}, path
    assert len(SKILLS) == 3


def test_plugin_and_registry_name_this_release() -> None:
    plugin = json.loads((PLUGIN / ".claude-plugin/plugin.json").read_text())
    market = json.loads((ROOT / ".claude-plugin/marketplace.json").read_text())
    entry = json.loads((ROOT / "server.json").read_text())
    (package,) = entry["packages"]
    assert {plugin["version"], entry["version"], package["version"]} == {release.version()}
    assert (ROOT / market["plugins"][0]["source"]).samefile(PLUGIN)
    # How the registry finds out that the package is ours. Source: its page on package types.
    assert f"mcp-name: {entry['name']}" in (ROOT / "README.md").read_text()
    scripts = (ROOT / "pyproject.toml").read_text().partition("[project.scripts]")[2]
    assert package["identifier"] in re.findall(r"^([a-z-]+) = ", scripts, re.MULTILINE)
