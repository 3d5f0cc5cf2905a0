"""Words for the reasons for which a run ended."""

from collections.abc import Mapping

REASONS: Mapping[str, str] = {
    "agent_error": "the agent stopped with an error",
    "guardrail": "a guardrail stopped it",
    "validation": "the checks did not pass",
    "stalled": "the agent stopped responding",
    "spawn_failed": "the agent could not be started",
    "gave_up": "it stopped without a report",
    "stopped": "a person stopped it",
    "superseded": "its card was dragged away before it started",
    "no_changes": "nothing was changed",
    "no_validation": "there was nothing to check its work with",
    "repository": "the repository could not be used",
    "provider": "its model provider did not respond",
    "hung": "it hung its worker",
    "internal": "Cardinal itself failed",
}
