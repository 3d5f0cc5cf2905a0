"""Keeps what a run leaves for people: briefing, logs of checks, patch and report, each once."""

from ledger.events.artifact import ArtifactDropped, ArtifactKept
from ledger.events.run import RunEvent
from runner.artifacts.store import Store, Stored
from runner.run.context import RunContext
from runner.text.truncate import one_line

SHARE = "share"


def keep(run: RunContext, name: str, kind: str, text: str) -> tuple[RunEvent, ...]:
    """Put a text into the store and return the event that tells it; nothing where the run has it already."""
    return artifact_events(run, name, kind, Store(run.order.places.artifacts).keep(text))


def artifact_events(run: RunContext, name: str, kind: str, stored: Stored) -> tuple[RunEvent, ...]:
    """Return the event about a file that was just put into the store."""
    run_id, known = run.order.run_id, run.history.artifacts
    name = one_line(name, 200)
    if known.get((name, stored.digest)) is not None:
        return ()
    again = any(digest == stored.digest for _, digest in known)  # it is there once, under whatever name
    held = {digest: size for (_, digest), size in known.items()}
    if not again and sum(held.values()) + stored.size_bytes > run.order.limits.kept_bytes:
        return (ArtifactDropped(run_id, name, stored.digest, SHARE, kind, stored.size_bytes),)
    return (ArtifactKept(run_id, name, kind, stored.digest, stored.size_bytes),)


def patch(run: RunContext, base: str, head: str) -> tuple[RunEvent, ...]:
    """Keep what the branch changes against its base, as git shows it. Raises RepositoryError."""
    return keep(run, f"{run.order.branch}.patch", "patch", run.mirror.patch(base, head))


def report(run: RunContext) -> tuple[RunEvent, ...]:
    """Keep the final report, as the agent gave it."""
    said = run.history.finish or {}
    lists = (("What changed", "changed"), ("What to check", "check"), ("Open questions", "open_questions"))
    parts = [f"# Report of {run.order.run_id}", str(said.get("done") or "Nothing was reported.")]
    for title, key in lists:
        rows = [f"* {item}" for item in said.get(key) or ()]
        parts += [f"## {title}", "\n".join(rows)] if rows else []
    return keep(run, "report.md", "report", "\n\n".join(parts) + "\n")
