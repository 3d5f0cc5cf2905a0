"""OpenTelemetry's names for work of models. They are not settled yet: where they change, this file does.

Source: opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-agent-spans.
"""

from collections.abc import Mapping

from ledger.model.spend_limits import value_of
from ledger.queries.run_spans import RunSpan
from ledger.rows.runs import RunRow

PROVIDERS = {
    "bedrock": "aws.bedrock",
    "subscription": "anthropic",
    "vertex": "gcp.vertex_ai",
}  # by who is paid; others have the same name there


def span_name(run: RunRow) -> str:
    return f"invoke_agent {run.agent}"


def describe_work(run: RunRow, span: RunSpan) -> Mapping[str, str | int]:
    """Return the attributes of a stretch in which the agent worked."""
    attributes: dict[str, str | int] = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": run.agent,
        "gen_ai.usage.input_tokens": span.input_tokens,
        "gen_ai.usage.output_tokens": span.output_tokens,
    }
    model = value_of(run.settings, "model")
    named = {
        "gen_ai.provider.name": PROVIDERS.get(run.payer, run.payer),
        "gen_ai.request.model": model if isinstance(model, str) else "",
        "gen_ai.agent.version": run.agent_version,
        "gen_ai.conversation.id": run.session_id,
    }
    return attributes | {name: value for name, value in named.items() if value}
