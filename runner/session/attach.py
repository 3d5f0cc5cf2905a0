"""Keeps what an agent attached to its run: a text, put into the store like a log."""

from collections.abc import Mapping

from ledger.events.artifact import FILE, PAGE, ArtifactDropped
from ledger.events.run import RunEvent
from runner.artifacts.keep import keep
from runner.run.context import RunContext
from runner.session.tool_effects import Effect

# What a browser would run or draw if it were a page: people get it as a download.
_PAGES = (".html", ".htm", ".xhtml", ".xht", ".svg", ".xml", ".mht", ".mhtml")


def attached(run: RunContext, effect: Effect) -> tuple[tuple[RunEvent, ...], Mapping[str, object]]:
    """Put the text of a call into the store, if it has one; return its event and what the agent is told."""
    wanted = effect.attaches
    if wanted is None:
        return (), effect.reply
    kind = PAGE if wanted.name.lower().endswith(_PAGES) else FILE
    events = keep(run, wanted.name, kind, run.secrecy.redact_private_skills(wanted.content))
    if any(isinstance(event, ArtifactDropped) for event in events):
        return events, {"ok": False, "error": "it is not kept: this run has left as much as it may"}
    return events, effect.reply
