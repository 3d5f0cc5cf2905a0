"""Codex CLI: spoken to by the JSON-RPC of its app server, paid for through the gateway."""

from runner.agents.codex.dialogue import CodexDialogue
from runner.agents.contract import Dialogue, Layout, Task

# Both are in the list of models that this version brings along (another name makes it warn and fall back) and
# have known prices. Source: its own models.json, and the package genai-prices.
_MODELS = {"default": "gpt-5.5", "small": "gpt-5.6-luna"}


class Codex:
    """The agent of OpenAI. Made for one exact version: its app server is marked experimental."""

    name = "codex"
    version = "0.169.0"
    secrets: tuple[str, ...] = ("openai",)
    trusted = False
    in_image = True

    def models(self, wanted: str) -> tuple[str, ...]:
        """Return the one model that it asks for; a name that is not ours stays as it is."""
        return (_MODELS.get(wanted, wanted),)

    def provider(self, wanted: str) -> str:
        """Return the only one that it asks."""
        return "openai"

    def session_files(self, session_id: str) -> tuple[str, ...]:
        """Return its rollout."""
        return (f".codex/sessions/*/*/*/rollout-*-{session_id}.jsonl",)

    def begin(self, task: Task, layout: Layout) -> Dialogue:
        """Return the protocol with `codex app-server` for this task."""
        return CodexDialogue(task, layout, model=self.models(task.model)[0], version=self.version)


AGENT = Codex()
