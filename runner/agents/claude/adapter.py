"""Claude Code: spoken to in JSON lines over its stdin and stdout, paid for through the gateway."""

from runner.agents.claude.dialogue import ClaudeDialogue
from runner.agents.claude.settings import command
from runner.agents.contract import Dialogue, Layout, Task

# `default` is what this version asks for by itself, the last three are what it makes of its own short names.
# All have known prices. Source: its requests as tried out, and the package genai-prices.
_MODELS = {
    "default": "claude-opus-5-5",
    "small": "claude-haiku-5-5",
    "opus": "claude-opus-5-5",
    "sonnet": "claude-sonnet-5-5",
    "haiku": "claude-haiku-5-5",
}


class Claude:
    """The agent of Anthropic. Made for one exact version: flags, variables and lines change with it."""

    name = "claude"
    version = "2.1.330"
    secrets: tuple[str, ...] = ("anthropic", "subscription")
    trusted = False
    in_image = True

    def models(self, wanted: str) -> tuple[str, ...]:
        """Return the one model that it and its subagents ask for; a name that is not ours stays as it is."""
        return (_MODELS.get(wanted, wanted),)

    def provider(self, wanted: str) -> str:
        """Return the only one that it asks."""
        return "anthropic"

    def session_files(self, session_id: str) -> tuple[str, ...]:
        """Return its lines and those of its subagents."""
        return (f"claude/projects/*/{session_id}.jsonl", f"claude/projects/*/{session_id}/*/*.jsonl")

    def begin(self, task: Task, layout: Layout) -> Dialogue:
        """Return the protocol with `claude --print` for this task."""
        return ClaudeDialogue(task, layout, command(task, layout, self.models(task.model)[0]))


AGENT = Claude()
