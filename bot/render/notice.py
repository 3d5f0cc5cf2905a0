"""What a notice says in full where there is room: a question or a plan, and how to reply, as plain text."""

from bot.render.question import ASKERS
from bot.render.run.reasons import explain_run
from ledger.rows.limit_answers import CHOSEN_ONLY
from ledger.rows.plans import PlanRow
from ledger.rows.questions import QuestionRow
from ledger.rows.runs import RunRow
from rules.intents.outbound import NoticeKind
from rules.text import plain
from runner.text.untrusted import without_invisible

MAX_TEXT, MAX_CHOICE, MAX_SHOWN = 6_000, 500, 50  # characters of each, and choices or steps
HOW = {
    NoticeKind.APPROVAL: "Reply `/cardinal approve`, or `/cardinal redirect` and what should be different.",
    NoticeKind.REVIEW: "Review it on GitHub. A reply can give a command, such as `/cardinal explain`.",
    NoticeKind.FAILURE: "Reply `/cardinal retry` to try again, or any other command.",
}


def describe_question(question: QuestionRow) -> str:
    """Return the question with its choices and how to answer."""
    choices = _numbered(question.choices)
    how = "Reply with your answer; the run continues with it."
    if choices:
        only = "." if question.subject in CHOSEN_ONLY else ", or in your own words."
        how = f"Reply with the number of your choice{only}"
    asker = f"Run {question.run_id} {ASKERS.get(question.asker, 'has a question')}"
    return _joined(asker, _short(question.text), choices, how)


def describe_failed_run(run: RunRow) -> str:
    """Return why the run failed, and what to do."""
    return _joined(plain(explain_run(run, ""), MAX_CHOICE), HOW[NoticeKind.FAILURE])


def describe_plan(plan: PlanRow) -> str:
    """Return the plan with its steps and how to decide."""
    return _joined(_short(plan.summary), _numbered(plan.steps), HOW[NoticeKind.APPROVAL])


def _joined(*parts: str) -> str:
    return "\n\n".join(filter(None, parts))


def _numbered(texts: tuple[str, ...]) -> str:
    return "\n".join(f"{number}. {plain(it, MAX_CHOICE)}" for number, it in enumerate(texts[:MAX_SHOWN], 1))


def _short(text: str) -> str:
    shown = without_invisible(text[:MAX_TEXT]).strip()
    return shown if len(text) <= MAX_TEXT else f"{shown}…"
