"""The tree of rooms: packages and their folders, in the order of the flow, with their own words."""

import ast
from pathlib import Path

# In the order in which a delivery goes through them; what serves all of them comes last.
FLOW = {
    "bot": (
        *("web", "ingest", "sync", "reactor", "outbox", "frontends", "github", "scheduler", "daemon"),
        *("runspec", "repo_config", "render", "state", "traces", "system", "admin", "cli"),
    ),
    "rules": (
        *("handlers", "card", "runs", "chatops", "intents", "policy"),
        *("columns", "actions", "commands", "profiles"),
    ),
    "runner": (
        *("phases", "session", "prompts", "agents", "checks", "guards", "git", "branch", "workspaces"),
        *("artifacts", "exec", "text", "gateway", "run"),
    ),
    "ledger": ("log", "events", "rows", "views", "queries", "queue", "model", "lifecycle", "db"),
}


def charter(folder: Path) -> str:
    """Return the first sentence of what a package says of itself."""
    file = folder / "__init__.py"
    if not file.exists():
        raise SystemExit(f"{file} is missing: create it, with a docstring that says what the folder is for")
    said = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return " ".join(said.split("\n\n")[0].split()).split(". ")[0].rstrip(".")


def tree(root: Path = Path(__file__).parents[2]) -> str:
    """Return the block: packages and their rooms, a line each."""
    lines = ["```text"]
    for package, rooms in FLOW.items():
        lines.append(f"{package + '/':<15}{charter(root / package)}")
        lines += [f"  {room + '/':<13}{charter(root / package / room)}" for room in rooms]
    return "\n".join([*lines, "```"])
