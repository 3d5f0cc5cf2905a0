"""The operator's settings and the policy that the tests of the core run under."""

SETTINGS = {
    "CARDINAL_WEBHOOK_SECRET": "s",
    "CARDINAL_DEBOUNCE_S": "0",
    "CARDINAL_PROGRESS_EVERY_S": "0",
    "CARDINAL_RUN_WORKERS": "4",
    "CARDINAL_WORKSPACE": "local",
    "CARDINAL_LEASE_S": "600",  # the tests' clock jumps
}
POLICY = """\
version: 1
board:
  home: acme/board
  unknown_mover: allow
  move: [write, "github-project-automation[bot]"]
  columns:
    Tasks: {archetype: inbox}
    Planning: {archetype: planning, agent: scripted, model: test}
    In Progress: {archetype: execution, agent: scripted, model: test, plan_approval: "off", concurrency: 3}
    Review: {archetype: review}
    QA: {archetype: review, on_entry: [{action: ready}]}
    Done: {archetype: terminal, on_entry: [{action: merge, method: squash}, {action: delete_branch}]}
  limits: {runs: 4, runs_per_repository: 3}
"""


def with_column(**changes: str) -> str:
    """Return the policy with other settings of the column In Progress."""
    settings = {"agent": "scripted", "model": "test", "plan_approval": '"off"', "concurrency": "3", **changes}
    inner = ", ".join(f"{name}: {value}" for name, value in settings.items())
    line = f"    In Progress: {{archetype: execution, {inner}}}"
    lines = [line if one.startswith("    In Progress:") else one for one in POLICY.splitlines()]
    return "\n".join([*lines, ""])
