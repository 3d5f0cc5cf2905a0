"""What `show_card` answers: the card as its run knows it, in a size that one answer can have."""

import json

from runner.run.history import History
from runner.run.run_spec import RunSpec
from runner.text.invisible import without_invisible
from runner.text.redact import redact
from runner.text.truncate import cut
from runner.text.visible import strip_hidden

SHOWN_BYTES = 40_000  # an answer travels in one datagram
_BRIEFING_BYTES = 8_000
_TEXT_BYTES = 600
_ITEMS = 20


def card_shown(order: RunSpec, history: History) -> dict[str, object]:
    """Return the card as facts for JSON, of at most SHOWN_BYTES; what is long or old is left out."""
    for share in (1, 2, 4):
        facts = _facts(order, history, share)
        if len(json.dumps(facts)) <= SHOWN_BYTES:
            return facts
    return _facts(order, history, 16)


def _facts(order: RunSpec, history: History, share: int) -> dict[str, object]:
    text_bytes, items = _TEXT_BYTES // share, _ITEMS // share
    answers = [asked for asked in history.questions if asked.answer is not None]
    return {
        "number": order.number,
        "issue": order.reference,
        "title": cut(without_invisible(order.title), _TEXT_BYTES),
        "repository": order.repository,
        "branch": order.branch,
        "base_branch": order.base_branch,
        "attempt": order.attempt,
        "kind": order.kind,
        "mode": order.mode,
        "plan": _plan(history, text_bytes),
        "threads": [
            {
                "thread_id": thread.thread_id,
                "path": cut(thread.path, text_bytes),
                "line": thread.line,
                "text": cut(strip_hidden(thread.text), text_bytes),
                "answered": thread.thread_id in history.threads,
            }
            for thread in order.threads[:items]
        ],
        "notes": [cut(strip_hidden(note, tags=False), text_bytes) for note in history.notes[-items:]],
        "answers": [
            {
                "question": cut(strip_hidden(asked.event.text, tags=False), text_bytes),
                "answer": cut(redact(strip_hidden(asked.answer or "")), text_bytes),
            }
            for asked in answers[-items:]
        ],
        "briefing": cut(order.briefing, _BRIEFING_BYTES // share),
    }


def _plan(history: History, text_bytes: int) -> dict[str, object] | None:
    plan = history.plan
    if plan is None:
        return None
    return {
        "state": plan.state,
        "summary": cut(strip_hidden(plan.summary, tags=False), 3 * text_bytes),
        "steps": [
            {"step": cut(strip_hidden(step, tags=False), text_bytes // 2), "done": number <= plan.done}
            for number, step in enumerate(plan.steps, start=1)
        ],
    }
