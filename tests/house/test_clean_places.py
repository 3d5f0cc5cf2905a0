"""Only code in a clean place gets more rights than an agent's, and only one module makes such places."""

import ast

from runner.workspaces.contract import CleanWorkspace, Workspace
from tests.house.source import sources, with_words

MAKES = "runner/checks/places.py"
RIGHTS = {"serve": "runner/session/tool_servers.py", "keep_setup": "runner/checks/set_up.py"}


def _calls(method: str) -> set[str]:
    """Return the runner's modules that call a method of that name on anything."""
    return {
        source.path
        for source in with_words(sources("runner"), [rf"\b{method}\("])
        for node in source.nodes()
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == method
        and "sockets" not in {word.arg for word in node.keywords}  # a web server's own
    }


def test_clean_places_are_made_in_one_module() -> None:
    assert _calls("open_clean") == {MAKES}


def test_more_rights_are_a_clean_places_alone() -> None:
    for method, module in RIGHTS.items():
        assert hasattr(CleanWorkspace, method)
        assert not hasattr(Workspace, method)
        assert _calls(method) == {module}
